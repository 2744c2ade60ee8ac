"""The record of a simulation."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softbandit import validation
from softbandit.backend import drop_single
from softbandit.backend.display import brief, html_table
from softbandit.policies import Policy
from softbandit.simulation.frames import frame, split_columns, trials_in_words
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

    def __repr__(self) -> str:
        means = ", ".join(f"mean {name} {value}" for name, value in self._means())
        return f"Trace({trials_in_words(self.arms)}, seed {self.seed}{means and ', ' + means})"

    def _repr_html_(self) -> str:
        return html_table(f"{trials_in_words(self.arms)}, seed {self.seed}: means", self._means())

    def _means(self) -> list[tuple[str, str]]:
        """Return the mean reward and costs of all rounds, as far as they are kept."""
        kept = {"reward": self.rewards, "cost": self.costs}
        return [(name, brief(column.mean(axis=(0, 1)))) for name, column in kept.items() if column is not None]

    def frame(self, library: str = "pandas") -> Any:
        """Return a data frame of pandas or of polars, one row per trial and round.

        >>> import softbandit as sb
        >>> problem = sb.problems.rkhs(seed=3)
        >>> trace = sb.simulate(sb.CKB(**problem.settings(), horizon=20), problem, trials=4)
        >>> trace.frame().groupby("trial").reward.mean().shape
        (4,)
        """
        columns = {name.removesuffix("s"): getattr(self, name) for name in ("arms", *COLUMNS)}
        return frame(self.trials, columns, library)


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

    def totals(self, played: Played, before: Mapping[str, float]) -> dict[str, float]:
        """Return the totals of the reward and of each cost, as far as they are kept, with those of some more rounds."""
        kept = self._kept()
        part = {
            name.removesuffix("s"): kept[name][played.trials, played.rounds]
            for name in ("rewards", "costs")
            if name in kept
        }
        return {name: before.get(name, 0.0) + float(column.sum()) for name, column in split_columns(part).items()}

    def warn(self, policy: Policy, numbers: Sequence[int]) -> None:
        """Say once in which trials observations refuted the policy's settings."""
        trials = [numbers[int(i)] for i in np.flatnonzero(self._refuted)]
        if trials:
            which = ", ".join(map(str, trials[:8])) + (", ..." if len(trials) > 8 else "")
            message = f"In {len(trials)} of {len(numbers)} trials ({which}): {policy.stage(0).policy.objection()}"
            warnings.warn(message, ComplaintWarning, stacklevel=3)

    def trace(self, trials: Sequence[int], seed: int, draws: str) -> Trace:
        return Trace(self._arms, **dict.fromkeys(COLUMNS) | self._kept(), trials=trials, seed=seed, draws=draws)

    def _kept(self) -> dict[str, Column]:
        return {name: drop_single(column) if column.ndim == 3 else column for name, column in self._columns.items()}
