"""Autopilot as a sampler of Optuna: high values, with limits that hold on average over the trials of a study.

A suggestion is a function of the study's trials, the seed and the trial's number. So workers share nothing but the
study's storage, and a study that is resumed goes on. What a sampler keeps is a cache.

| trial | learned from as |
|---|---|
| complete | its value and its costs; a cost that it lacks counts as expected |
| running | what the model expects there, so that other workers look elsewhere |
| failed or pruned | the worst value so far, unless a later trial with the same parameters is running or complete |
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from softbandit import validation
from softbandit.agent import PolicyWarning
from softbandit.errors import ArgumentError, Description, FeedbackError, needs_extra
from softbandit.integrations.autopilot_rounds import Learned
from softbandit.integrations.optuna_trials import SUGGESTED, Limit, SearchSpace, Table, has_all, metric
from softbandit.policies import Autopilot

with needs_extra("optuna", "optuna"):
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.search_space import intersection_search_space
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState


class AtMost(NamedTuple):
    """The mean of a metric is at most a number."""

    metric: str
    bound: float

    def cost(self, value: float) -> float:
        return value - self.bound


class SoftbanditSampler(BaseSampler):
    """Suggest parameters of high value while every constraint holds on average over the trials.

    Constraints are set in the objective, by Optuna's `trial.set_constraint(name, cost)`: zero or less is within the
    limit. A trial may violate one; the mean over all trials may not.

    Parameters
    ----------
    seed
        Seed of the random choices, together with the trial's number.
    limits
        More limits, on metrics that the objective stores with `trial.set_user_attr(name, value)`: the largest mean of
        each, such as {"latency_ms": 12}; or a list of limits, each with a `metric` and a `cost(value)`.

    Examples
    --------
    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def objective(trial):
    ...     x = trial.suggest_float("x", 0, 1)
    ...     trial.set_constraint("cost", x - 0.6)
    ...     return x
    >>> study = optuna.create_study(direction="maximize", sampler=SoftbanditSampler(seed=0))
    >>> study.optimize(objective, n_trials=20)
    >>> bool(abs(sum(trial.value for trial in study.trials) / 20 - 0.6) < 0.1)
    True
    """

    def __init__(self, seed: int = 0, limits: Mapping[str, float] | Sequence[Limit] | None = None) -> None:
        self._seed = validation.seed(seed)
        self._limits = _checked_limits(limits)
        self._cache: tuple[Table, Learned] | None = None
        self._remarked: set[str] = set()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> SearchSpace:
        """Return the parameters that all complete trials have in common, less those with a single value."""
        _check_one_objective(study)
        common = intersection_search_space(study.get_trials(deepcopy=False))
        return {name: distribution for name, distribution in common.items() if not distribution.single()}

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: SearchSpace) -> dict[str, Any]:
        """Return Autopilot's choice of these parameters, given all other trials that have them."""
        _check_one_objective(study)
        if not search_space:
            return {}
        trials = [t for t in study.get_trials(deepcopy=False) if t.number != trial.number and has_all(t, search_space)]
        constraints = sorted({name for t in trials if t.state == TrialState.COMPLETE for name in t.constraints})
        table = Table(search_space, tuple(constraints), self._limits, study.direction == StudyDirection.MAXIMIZE)
        learned = self._learned(table, trials)
        for round in table.running(trials):
            learned = learned.plus(round)
        x = learned.decide(self._seed, trial.number)
        study._storage.set_trial_system_attr(trial._trial_id, SUGGESTED, table.space.values(x))  # as Optuna's own do
        return table.values(x)

    def _learned(self, table: Table, trials: Sequence[FrozenTrial]) -> Learned:
        """Return what is known from the trials that have ended, and show new remarks about it."""
        cached, learned = self._cache or (None, None)
        if learned is None or cached != table:
            learned = Learned.nothing(Autopilot(table.space, constraints=table.costs))
        learned = learned.after(table.ended(trials))
        self._cache = table, learned
        for topic, text in learned.policy.remarks(learned.state).items():
            if topic not in self._remarked:
                self._remarked.add(topic)
                warnings.warn(text, PolicyWarning, stacklevel=2)
        return learned

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a random value, which depends on the seed, the trial's number and the parameter's name."""
        _check_one_objective(study)
        words = np.random.SeedSequence([self._seed, trial.number, *param_name.encode()]).generate_state(1)
        return RandomSampler(seed=int(words[0])).sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Raise an error if a complete trial lacks a metric that has a limit. Optuna stores the trial all the same."""
        for limit in self._limits if state == TrialState.COMPLETE else ():
            if metric(trial, limit) is None:
                expected, got = f"a number as user attribute {limit.metric!r}", trial.user_attrs.get(limit.metric)
                remedy = f"Call trial.set_user_attr({limit.metric!r}, value) in the objective."
                raise FeedbackError.of(f"trial {trial.number}", expected, got, remedy)


def _check_one_objective(study: Study) -> None:
    if len(study.directions) != 1:
        got, remedy = Description(f"{len(study.directions)} objectives"), "Turn all but one into limits."
        raise ArgumentError.of("study", "one objective", got, remedy)


def _checked_limits(limits: object) -> tuple[Limit, ...]:
    expected, remedy = "the largest mean of each metric", 'For example {"latency_ms": 12}.'
    if limits is None:
        return ()
    if isinstance(limits, Mapping):
        return tuple(
            AtMost(validation.text("limits", name), validation.number(f"limits[{name!r}]", bound))
            for name, bound in limits.items()
        )
    given = tuple(validation.listed("limits", limits, expected, remedy))
    for limit in given:
        if not (isinstance(getattr(limit, "metric", None), str) and callable(getattr(limit, "cost", None))):
            raise ArgumentError.of("limits", expected, limit, remedy)
    return given
