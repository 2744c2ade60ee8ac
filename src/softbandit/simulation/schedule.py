"""The order of work: rounds in chunks that fit in memory, trials in blocks that fit in caches.

| unit | why |
|---|---|
| stage | the policy's settings may change between stages |
| chunk of rounds | random numbers and columns of a chunk are held in memory at once |
| block of trials | on a CPU a block's arrays stay in a core's cache; compiled blocks run side by side |
"""

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from softbandit.backend import WORDS_PER_BLOCK, Words
from softbandit.policies import Policy, Stage, StepPolicy, Steps
from softbandit.simulation.engine_choice import entries, make_engine, runs_on_host
from softbandit.simulation.rounds import AnyProblem, Chunk, Engine, Options, Played

BLOCK_TRIALS, BLOCK_BYTES = 64, 2**22  # at most, so that a core's caches hold them; the first for JAX only
SPLIT_BYTES = 2**16  # at least: less is not worth a core of its own


class Limits(NamedTuple):
    """The size of a chunk, at most; one round may need more."""

    words: int  # random words held at a time
    entries: int  # trials x arms x rank x rounds
    rounds: int


CPU, ACCELERATOR = Limits(2**22, 2**27, 2**10), Limits(2**27, 2**36, 2**12)
FEW = 64  # rounds, however long they take: each chunk has a fixed cost


def play_all(
    engine: str, policy: Policy, problem: AnyProblem, blocks: list[Words], rounds: int, options: Options
) -> Iterator[Played]:
    """Play all rounds of all blocks.

    The result of a compiled chunk is fetched once the next chunk has been started, so that both overlap.
    """
    states: list[Any] = [None] * len(blocks)
    player, playing, longest = None, None, 0
    waiting: deque[tuple[slice, Engine, list[Any]]] = deque()
    with _one_thread_per_core(engine, len(blocks)) as run:
        for stage, chunk in _chunks(policy, problem, sum(map(len, blocks)), rounds, engine, options.draws):
            if chunk.first == stage.first:
                length = int(min(stage.last, rounds)) - chunk.first
                if player is None or stage.policy is not playing or length > longest:
                    player = make_engine(engine, stage.policy, problem, length, options)
                    playing, longest = stage.policy, length
                states = [player.start(stage, len(block), state) for block, state in zip(blocks, states, strict=True)]
            assert player is not None
            results = run(partial(player.play, chunk=chunk), states, blocks)
            states = [state for state, _ in results]
            played = slice(chunk.first, chunk.first + chunk.rounds)
            waiting.append((played, player, [result for _, result in results]))
            if engine == "numpy" or len(waiting) > 1:
                yield _fetch(*waiting.popleft())
        yield from (_fetch(*results) for results in waiting)


def _fetch(rounds: slice, engine: Engine, results: list[Any]) -> Played:
    blocks = [engine.fetch(result) for result in results]
    return Played(rounds, blocks, slice(0, sum(len(columns["arms"]) for columns in blocks)))


def blocks_of_trials(engine: str, step: Steps, numbers: Sequence[int]) -> list[Words]:
    """Return the trials in blocks of one size; the last may be shorter or, compiled, padded with copies of a trial.

    An accelerator takes all trials at once.
    """
    trials = np.fromiter(numbers, dtype=np.uint64, count=len(numbers))
    if not step.batched or not runs_on_host(engine):
        return [trials]
    size, count = _trial_bytes(step), len(trials)
    blocks = math.ceil(count / max(1, BLOCK_BYTES // size))
    if engine == "jax":  # at least one per core: compiled blocks run side by side
        blocks = max(blocks, math.ceil(count / BLOCK_TRIALS), min(cores(), count, count * size // SPLIT_BYTES))
    per_block = math.ceil(count / blocks)
    padded = np.pad(trials, (0, -count % per_block), mode="edge") if engine == "jax" else trials
    return [padded[i : i + per_block] for i in range(0, count, per_block)]


def _trial_bytes(step: Steps) -> int:
    """Return what one trial's posteriors take at most: a root r x r, a mean per output and a variance over n arms."""
    assert isinstance(step, StepPolicy)
    shapes = ((*group.factor.shape, len(group.outputs)) for group in step.model.groups)
    return sum(8 * (r * r + (k + 1) * n) for r, n, k in shapes)


def _chunks(
    policy: Policy, problem: AnyProblem, trials: int, rounds: int, engine: str, draws: str
) -> Iterator[tuple[Stage, Chunk]]:
    """Iterate over the stage in force and a chunk of its rounds."""
    first = 0
    while first < rounds:
        stage = policy.stage(first)
        last = int(min(rounds, stage.last))
        length = _chunk_length(stage.policy, problem, trials, engine, draws)
        on_host = runs_on_host(engine)
        if not on_host:  # a program is compiled for each length: prefer one that divides the rounds
            most = min(length, last - first)
            length = next((size for size in range(most, most // 2, -1) if (last - first) % size == 0), most)
        for start in range(first, last, length):
            count = min(length, last - start)
            yield stage, Chunk(start, count, room=length if on_host else count)
        first = last


def _chunk_length(step: Steps, problem: AnyProblem, trials: int, engine: str, draws: str) -> int:
    """Return a number of rounds that fits in memory."""
    limits = CPU if runs_on_host(engine) else ACCELERATOR
    words_per_round = 1 + WORDS_PER_BLOCK * (step.draws().blocks + problem.draws().blocks)  # one for the columns
    by_words = (limits if draws == "device" else CPU).words // (trials * words_per_round)
    by_entries = FEW if not step.batched else limits.entries // (trials * entries(step))
    return max(1, min(by_words, max(FEW, by_entries), limits.rounds))


@contextmanager
def _one_thread_per_core(engine: str, blocks: int) -> Iterator[Callable[..., list[Any]]]:
    """Yield a function that calls work(*arguments) for each block, on a thread that is always the same for a block.

    On a CPU, JAX runs in order what one thread submits, and side by side what several do. A
    single block needs no thread, and NumPy's calls are too short for several.
    """
    several = engine == "jax" and blocks > 1
    threads = [ThreadPoolExecutor(1) for _ in range(min(blocks, cores()) if several else 0)]

    def run(work: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        calls = enumerate(zip(*arguments, strict=True))
        if not threads:
            return [work(*block) for _, block in calls]
        futures = [threads[i % len(threads)].submit(work, *block) for i, block in calls]
        return [future.result() for future in futures]

    try:
        yield run
    finally:
        for thread in threads:
            thread.shutdown(cancel_futures=True)


def cores() -> int:
    """Return the number of processors that this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
