"""The trials of a study in Optuna as rounds of Autopilot."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from softbandit.backend import Floats
from softbandit.domains import Categorical, Float, Integer, LogFloat, Space
from softbandit.errors import needs_extra
from softbandit.integrations.autopilot_rounds import Round

with needs_extra("optuna", "optuna"):
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
    from optuna.trial import FrozenTrial, TrialState

SearchSpace = dict[str, BaseDistribution]
SUGGESTED = "softbandit:suggested"  # the attribute of a trial with the positions that were suggested


class Limit(Protocol):
    """A limit on a metric: each trial has a cost, whose mean may be at most zero."""

    @property
    def metric(self) -> str: ...
    def cost(self, value: float) -> float: ...


@dataclass(frozen=True)
class Table:
    """Trials as rounds: features of the parameters, the reward, and one cost per constraint and limit."""

    search_space: SearchSpace
    constraints: tuple[str, ...]
    limits: tuple[Limit, ...]
    maximize: bool

    @property
    def costs(self) -> int:
        return len(self.constraints) + len(self.limits)

    @cached_property
    def space(self) -> Space:
        return Space({name: _parameter(distribution) for name, distribution in self.search_space.items()})

    def ended(self, trials: Iterable[FrozenTrial]) -> list[Round]:
        """Return the rounds that have ended, in that order.

        Those that failed or were pruned are left out if they were repeated: their parameters were not to blame.
        """
        listed = list(trials)
        repeated = {_key(t): t.number for t in listed if t.state in (TrialState.COMPLETE, TrialState.RUNNING)}
        kept = [
            t
            for t in listed
            if t.state == TrialState.COMPLETE or (t.state.is_finished() and repeated.get(_key(t), -1) < t.number)
        ]
        return [self._round(t) for t in sorted(kept, key=lambda t: (t.datetime_complete, t.number))]

    def running(self, trials: Iterable[FrozenTrial]) -> list[Round]:
        return [self._round(t) for t in trials if t.state == TrialState.RUNNING]

    def values(self, x: Floats) -> dict[str, Any]:
        """Return the parameters at a point of the space."""
        positions = self.space.values(x)
        return {name: _value(distribution, positions[name]) for name, distribution in self.search_space.items()}

    def _round(self, trial: FrozenTrial) -> Round:
        suggested = trial.system_attrs.get(SUGGESTED, {})
        positions = {
            name: _position(d, trial.params[name]) if name in trial.params else suggested[name]
            for name, d in self.search_space.items()
        }
        given, metrics = trial.constraints, [metric(trial, limit) for limit in self.limits]
        costs = [given.get(name) for name in self.constraints]
        costs += [None if v is None else limit.cost(v) for limit, v in zip(self.limits, metrics, strict=True)]
        return Round(tuple(self.space.encode(positions).tolist()), (self._reward(trial), *costs))

    def _reward(self, trial: FrozenTrial) -> float | None:
        if trial.state == TrialState.RUNNING:
            return None
        if trial.state != TrialState.COMPLETE or trial.value is None:
            return -math.inf
        return trial.value if self.maximize else -trial.value


def has_all(trial: FrozenTrial, search_space: SearchSpace) -> bool:
    """Return whether a trial has all these parameters, with the same distributions.

    One that has not ended well may lack some that were suggested for it: its objective has not asked for them.
    """
    suggested = () if trial.state == TrialState.COMPLETE else trial.system_attrs.get(SUGGESTED, ())
    return all(
        trial.distributions.get(name, distribution if name in suggested else None) == distribution
        for name, distribution in search_space.items()
    )


def metric(trial: FrozenTrial, limit: Limit) -> float | None:
    """Return the metric of a limit, if the trial has it and it is a number."""
    value = trial.user_attrs.get(limit.metric)
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return float(value)


def _key(trial: FrozenTrial) -> str:
    return repr(sorted(trial.params.items()))


# -- Optuna's distributions as parameters of a space, whose values are positions: numbers of choices or of steps. --


def _parameter(distribution: BaseDistribution) -> Categorical | Float | Integer | LogFloat:
    """Return the parameter whose values are the positions of a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(range(len(distribution.choices)))
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high, step = distribution.low, distribution.high, distribution.step
    if distribution.log:
        margin = 0.5 if isinstance(distribution, IntDistribution) else 0.0  # whole numbers are rounded
        return LogFloat(low - margin, high + margin)
    return Float(low, high) if step is None else Integer(0, round((high - low) / step))


def _position(distribution: BaseDistribution, value: Any) -> float:
    """Return the number of a choice or of a step, or the value itself."""
    if isinstance(distribution, CategoricalDistribution):
        return int(distribution.to_internal_repr(value))
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    if distribution.log or distribution.step is None:
        return float(value)
    step: int = round((value - distribution.low) / distribution.step)
    return step


def _value(distribution: BaseDistribution, position: Any) -> Any:
    """Return the value at a position."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[position]
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high, step = distribution.low, distribution.high, distribution.step
    value = position if distribution.log or step is None else low + position * step
    return min(max(round(value) if isinstance(distribution, IntDistribution) else value, low), high)
