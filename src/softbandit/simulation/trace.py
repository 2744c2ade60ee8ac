"""The record of a simulation."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softbandit import validation
from softbandit.backend import drop_single
from softbandit.policies import Policy
from softbandit.simulation.rounds import COLUMNS, AnyProblem, Played

Column: TypeAlias = Any  # Numbers, or None


@dataclass(frozen=True, eq=False)
class Trace:
    """A record of all rounds: arrays (trials, rounds), with a last axis of m if there are several constraints.

    A column that was not kept is None.
    """

    arms: NDArray[Any]  # int64; on a continuous domain the points themselves, float64 with a last axis of d
    rewards: Column  # as observed
    costs: Column
    dual: Column  # before the round's update
    reward_estimates: Column  # f_t and g_t at the arm, truncated if the policy truncates
    cost_estimates: Column
    trials: Sequence[int]
    seed: int
    draws: str  # where the random numbers were generated: "host" or "device"


class ComplaintWarning(UserWarning):
    """Observations in some trials refute a policy's settings."""


class Record:
    """A trace as it grows."""

    def __init__(self, trials: int, rounds: int, keep: Sequence[str], policy: Policy, problem: AnyProblem) -> None:
        m = policy.constraints
        numbers = 1 + len(keep) + max(m, problem.constraints, 1)
        validation.affordable("trials x rounds x columns", trials, rounds, numbers)
        last_axes = {"costs": (problem.constraints,), "dual": (m,), "cost_estimates": (m,)}
        self._columns = {name: np.empty((trials, rounds, *last_axes.get(name, ()))) for name in keep}
        point_shape, dtype = ((policy.arms.dimension,), np.float64) if policy.continuous else ((), np.int64)
        self._arms: NDArray[Any] = np.empty((trials, rounds, *point_shape), dtype)
        self._refuted = np.zeros(trials, dtype=bool)

    def write(self, played: Played) -> None:
        """Write what happened in some rounds; copies that pad the last block of trials are left out."""
        first = played.trials.start
        for columns in played.blocks:
            trials = slice(first, first + len(columns["arms"]))
            arms = self._arms[trials, played.rounds]
            arms[:] = columns["arms"][: len(arms)]
            for name, column in self._columns.items():
                column[trials, played.rounds] = columns[name][: len(arms)]
            if "refuted" in columns:
                self._refuted[trials] |= columns["refuted"][: len(arms)].any(axis=1)
            first = trials.stop

    def warn(self, policy: Policy, numbers: Sequence[int]) -> None:
        """Say once in which trials observations refuted the policy's settings."""
        trials = [numbers[int(i)] for i in np.flatnonzero(self._refuted)]
        if trials:
            which = ", ".join(map(str, trials[:8])) + (", ..." if len(trials) > 8 else "")
            message = f"In {len(trials)} of {len(numbers)} trials ({which}): {policy.stage(0).policy.objection()}"
            warnings.warn(message, ComplaintWarning, stacklevel=3)

    def trace(self, trials: Sequence[int], seed: int, draws: str) -> Trace:
        kept = {name: drop_single(column) if column.ndim == 3 else column for name, column in self._columns.items()}
        return Trace(self._arms, **dict.fromkeys(COLUMNS) | kept, trials=trials, seed=seed, draws=draws)
