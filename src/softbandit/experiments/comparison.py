"""Several policies on one problem, with the same noise."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from softbandit.policies.base import Policy
from softbandit.problems.problem import Problem
from softbandit.simulation.scores import Scores, score
from softbandit.simulation.simulator import simulate
from softbandit.simulation.trace import Trace


class Result(NamedTuple):
    policy: str
    trace: Trace
    scores: Scores


def compare(
    policies: Mapping[str, Policy],
    problem: Problem,
    trials: int,
    seed: int,
    progress: Callable[[str, int], None],
) -> list[Result]:
    """Simulate each policy; `progress` gets its name and the rounds done since the last call."""
    results = []
    for name, policy in policies.items():
        trace = simulate(policy, problem, trials, seed, progress=partial(progress, name))
        results.append(Result(name, trace, score(trace, problem)))
    return results
