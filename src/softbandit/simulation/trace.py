"""What a simulation leaves behind."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softbandit.backend.namespace import drop_single
from softbandit.policies.base import Policy
from softbandit.simulation.rounds import COLUMNS, Columns

Column: TypeAlias = Any
"""Numbers, or None."""


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened: arrays (trials, rounds), with a last axis of m where there are several constraints.

    A column that was not to be kept is None.
    """

    arms: NDArray[Any]  # int64; on a continuous domain the points themselves, float64 with a last axis of d
    rewards: Column  # as observed
    costs: Column
    dual: Column  # before the round's update
    reward_estimates: Column  # f_t and g_t at the arm, truncated where the policy truncates
    cost_estimates: Column
    trials: Sequence[int]
    seed: int
    draws: str  # where the random numbers were made: "host" or "device"


class ComplaintWarning(UserWarning):
    """What was seen in some trials refutes what a policy was told."""


class Record:
    """A trace as it grows."""

    def __init__(
        self, trials: int, rounds: int, keep: Sequence[str], constraints: int, costs: int, dimension: int | None = None
    ) -> None:
        last = {"costs": (costs,), "dual": (constraints,), "cost_estimates": (constraints,)}
        place = (trials, rounds)
        self._arms: NDArray[Any] = np.empty(place, np.int64) if dimension is None else np.empty((*place, dimension))
        self._columns = {name: np.empty((trials, rounds, *last.get(name, ()))) for name in keep}
        self._refuted = np.zeros(trials, dtype=bool)

    def write(self, trials: slice, rounds: slice, seen: Columns) -> None:
        """What these trials saw in these rounds; `seen` may have others after them, to be left out."""
        arms = self._arms[trials, rounds]
        arms[:] = seen["arms"][: len(arms)]
        for name, column in self._columns.items():
            column[trials, rounds] = seen[name][: len(arms)]
        if "refuted" in seen:
            self._refuted[trials] |= seen["refuted"][: len(arms)].any(axis=1)

    def warn(self, policy: Policy, numbers: Sequence[int]) -> None:
        """Say once in which trials what was seen refuted the policy."""
        trials = [numbers[int(i)] for i in np.flatnonzero(self._refuted)]
        if trials:
            which = ", ".join(map(str, trials[:8])) + (", ..." if len(trials) > 8 else "")
            said = f"In {len(trials)} of {len(numbers)} trials ({which}): {policy.stage(0).policy.objection()}"
            warnings.warn(said, ComplaintWarning, stacklevel=3)

    def trace(self, trials: Sequence[int], seed: int, draws: str) -> Trace:
        kept = {name: drop_single(column) if column.ndim == 3 else column for name, column in self._columns.items()}
        return Trace(self._arms, **dict.fromkeys(COLUMNS) | kept, trials=trials, seed=seed, draws=draws)
