"""Which engine runs a simulation, and in blocks of how many trials."""

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any, Self

import numpy as np

from softbandit import validation
from softbandit.backend.shapes import Words
from softbandit.errors import ArgumentError
from softbandit.policies.base import StepPolicy
from softbandit.problems.problem import Problem
from softbandit.problems.space_problem import SpaceProblem
from softbandit.simulation.jax_engine import JaxEngine, on_cpu
from softbandit.simulation.rounds import COLUMNS, Engine, NumpyEngine, Options

COMPILATION = 2.0  # seconds that JAX must save before "auto" takes it
CALLS, ENTRY = 60e-6, 5e-10  # seconds that it saves a round, and besides for each of trials x arms x rank

BLOCK_TRIALS, BLOCK_BYTES = 64, 2**22  # at most: what a core's caches serve well; the first compiled alone
SPLIT_BYTES = 2**16  # at least: less is not worth a core of its own


def check(engine: str, options: Options) -> None:
    """Refuse what there is not, and what does not go together."""
    validation.named("engine", engine, dict.fromkeys(["numpy", "jax", "auto"]))
    validation.named("draws", options.draws, dict.fromkeys(["host", "device"]))
    validation.named("precision", options.precision, dict.fromkeys(["float64", "float32"]))
    for column in options.keep:
        validation.named("keep", column, dict.fromkeys(COLUMNS))
    for name, value, usual in (("draws", options.draws, "host"), ("precision", options.precision, "float64")):
        if engine != "jax" and value != usual:
            raise ArgumentError.of(name, f"{usual!r} with engine={engine!r}", value, "Run it with engine='jax'.")


def choose(engine: str, step: StepPolicy, trials: int, rounds: int) -> str:
    """ "numpy" or "jax"."""
    if engine != "auto":
        return engine
    return "jax" if find_spec("jax") is not None and seconds_saved(step, trials, rounds) > COMPILATION else "numpy"


def seconds_saved(step: StepPolicy, trials: int, rounds: int) -> float:
    """What JAX on a CPU is expected to save of NumPy's time, compilation apart: `benchmarks/engines.py auto`."""
    return float(rounds * (CALLS + ENTRY * trials * entries(step)))


def entries(step: StepPolicy) -> int:
    """Entries of the features that a round goes through, or one where there are none."""
    return int(max(1, sum(group.features.basis.size for group in step.surrogate.groups)))


def on_host(engine: str) -> bool:
    """Whether rounds are played by this machine's processor."""
    return engine != "jax" or on_cpu()


def make(
    engine: str, step: StepPolicy, problem: Problem | SpaceProblem, rounds: int, trials: int, options: Options
) -> Engine:
    """The engine for that many rounds of one policy, in so many trials at a time."""
    if engine == "jax":
        assert isinstance(problem, Problem)
        return JaxEngine(step, problem, rounds, trials, options)
    return NumpyEngine(step, problem, rounds, options)


def blocks(engine: str, step: StepPolicy, numbers: Sequence[int]) -> list[Trials]:
    """The trials in blocks of one size; a last one may be shorter or, compiled, filled up with copies of a trial.

    On a CPU a block stays in a core's caches. An accelerator takes all trials at once.
    """
    trials = np.fromiter(numbers, dtype=np.uint64, count=len(numbers))
    if step.continuous or not on_host(engine):
        return [trials]
    state, many = trial_bytes(step), len(trials)
    least = math.ceil(many / max(1, BLOCK_BYTES // state))
    if engine == "jax":  # at least one a core: compiled blocks run side by side
        least = max(least, math.ceil(many / BLOCK_TRIALS), min(cores(), many, many * state // SPLIT_BYTES))
    size = math.ceil(many / least)
    filled = np.pad(trials, (0, -many % size), mode="edge") if engine == "jax" else trials
    return [filled[i : i + size] for i in range(0, many, size)]


class Crew:
    """A thread for each core, and for each block of trials always the same one.

    JAX plays on a CPU what one thread sends off in order, and what several send off side by
    side. A single block needs no thread, and NumPy's calls are too short for several.
    """

    def __init__(self, engine: str, blocks: int) -> None:
        several = engine == "jax" and blocks > 1
        self._threads = [ThreadPoolExecutor(1) for _ in range(min(blocks, cores()) if several else 0)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.shutdown(cancel_futures=True)

    def each(self, work: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """work() of each block's arguments."""
        calls = enumerate(zip(*arguments, strict=True))
        if not self._threads:
            return [work(*own) for _, own in calls]
        sent = [self._threads[i % len(self._threads)].submit(work, *own) for i, own in calls]
        return [each.result() for each in sent]


def cores() -> int:
    """The processors that this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def trial_bytes(step: StepPolicy) -> int:
    """What one trial's posteriors take at most: a root of r x r, a mean for each output and a variance over n arms."""
    each = ((*group.features.basis.shape, len(group.outputs)) for group in step.surrogate.groups)
    return sum(8 * (r * r + (k + 1) * n) for r, n, k in each)
