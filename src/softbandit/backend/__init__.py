"""One array vocabulary for NumPy and JAX, and randomness as a function of (seed, trial, round)."""

from softbandit.backend.blas_threads import one_thread
from softbandit.backend.engine_operations import operations
from softbandit.backend.random import POLICY, PROBLEM, WORDS_PER_BLOCK, DrawCount, Draws, draw
from softbandit.backend.shapes import (
    ArmIndex,
    ArmMask,
    Bools,
    Floats,
    Ints,
    OutputsPerArm,
    PerArm,
    PerCost,
    PerOutput,
    PerTrial,
    Words,
)
from softbandit.backend.ties import best_arm, pick
from softbandit.backend.traced_fields import Form, HostOnly, Traced, join, split
from softbandit.backend.vocabulary import at_arm, drop_single, namespace, restrict, weighted_sum
