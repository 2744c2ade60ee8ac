"""The best arm of each trial, and what happens when several are equally good."""

import math
from collections.abc import Callable

import numpy as np

from softbandit.backend.engine_operations import operations
from softbandit.backend.shapes import ArmIndex, ArmMask, PerArm, PerTrial
from softbandit.backend.vocabulary import at_arm, namespace

TIE = 1e-12  # values this close to the maximum, relative to the terms they are sums of, tie with it


def best_arm(z: PerArm, uniform: PerTrial | None, scale: Callable[[ArmIndex], PerTrial] | None = None) -> ArmIndex:
    """Return an arm that maximises each row of z, up to rounding.

    Rounding is relative to scale(arm) (b,), the sum of the magnitudes of the terms in z at an
    arm; |z| by default. Ties are broken by uniform numbers in (0, 1), or for the first arm if None.
    """
    ops = operations(z)
    argmax = ops.first_max(z)
    highest = at_arm(z, argmax)
    size = namespace(z).abs(highest) if scale is None else scale(argmax)
    candidates = ~(z < (highest - TIE * size)[:, None])  # a trial of NaN has all arms, not none
    return ops.resolve_ties(candidates, argmax, lambda: pick(candidates, uniform))


def pick(candidates: ArmMask, uniform: PerTrial | None) -> ArmIndex:
    """Return one candidate per trial: number floor(uniform x count) of them, or the first if `uniform` is None.

    Candidates are counted per row of a square, then within one row: a cumulative sum over all
    arms is slow on every engine.
    """
    if uniform is None:
        first: ArmIndex = candidates.argmax(axis=1)
        return first
    xp, ops = namespace(candidates), operations(candidates)
    trials, n = candidates.shape
    side = math.isqrt(n - 1) + 1
    padding = xp.zeros((trials, side * side - n), dtype=bool)
    square = xp.concat([candidates, padding], axis=1).reshape(trials, side, side)
    per_row = xp.sum(square, axis=2, dtype=np.int32)
    up_to_row = ops.running_sum(per_row)
    number = xp.floor(uniform * up_to_row[:, -1])  # of the candidate to pick, from 0
    passed = up_to_row <= number[:, None]
    row = xp.sum(passed, axis=1).clip(max=side - 1)  # the last row if there is no candidate
    left = number - (per_row * passed).sum(axis=1)
    within = ops.running_sum(square[np.arange(trials), row].astype(per_row.dtype))
    column = xp.sum(within <= left[:, None], axis=1)
    return (row * side + column).clip(max=n - 1)
