"""Trials of a policy that searches a space, or learns as it goes, in processes: one task per trial, on all cores.

Such a policy computes one trial after another, and a trial is the same wherever it runs.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec

import numpy as np

from softbandit.policies import Policy
from softbandit.simulation.rounds import AnyProblem, Columns, Options, Played
from softbandit.simulation.schedule import cores, play_all
from softbandit.simulation.worker_pool import inside_task, run_all

LEAST_ROUNDS = 1000  # over all trials: at 3 ms or more each, they take longer than starting processes


def pay(policy: Policy, problem: AnyProblem, trials: int, rounds: int) -> bool:
    """Return whether processes are expected to save time, and can be used."""
    if policy.stage(0).policy.batched or trials < 2 or trials * rounds < LEAST_ROUNDS or cores() < 2:
        return False
    return not inside_task() and find_spec("joblib") is not None and _can_be_sent(policy, problem)


def _can_be_sent(policy: Policy, problem: AnyProblem) -> bool:
    """Return whether other processes can be given the policy and the problem."""
    from joblib.externals.loky.backend.reduction import dumps

    try:
        dumps((policy, problem))
    except Exception:  # a user's function may hold anything
        return False
    return True


def play_trials(
    policy: Policy, problem: AnyProblem, numbers: Sequence[int], rounds: int, options: Options
) -> Iterator[Played]:
    """Play all rounds of all trials, and yield trial after trial as each is finished."""
    task = partial(_play_trial, policy=policy, problem=problem, rounds=rounds, options=options)
    for index, columns in run_all(task, numbers, jobs=min(cores(), len(numbers))):
        yield Played(slice(0, rounds), [columns], slice(index, index + 1))


def _play_trial(trial: int, policy: Policy, problem: AnyProblem, rounds: int, options: Options) -> Columns:
    """Play all rounds of one trial."""
    blocks = [np.array([trial], dtype=np.uint64)]
    chunks = [played.blocks[0] for played in play_all("numpy", policy, problem, blocks, rounds, options)]
    return {name: np.concatenate([columns[name] for columns in chunks], axis=1) for name in chunks[0]}
