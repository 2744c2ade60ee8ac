"""Optuna behind the interface of decision_methods.py. Needs optuna, and torch for its GP sampler."""

import warnings

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

import softbandit as sb
from softbandit.domains import Domain

SAMPLERS = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler}
MOST_LEVELS = 128  # of a feature of the arms that is searched by its levels; one with more is a float

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)


class Optuna:
    """A sampler at its default settings, with the measured costs as constraints."""

    def __init__(self, problem, seed, sampler):
        self.study = optuna.create_study(direction="maximize", sampler=SAMPLERS[sampler](seed=seed % 2**32))
        self.space = DomainParameters(problem.arms) if isinstance(problem.arms, Domain) else ArmParameters(problem.arms)

    def ask(self, among):
        self.trial = self.study.ask(self.space.distributions)
        return self.space.choice(self.trial.params)

    def tell(self, choice, reward, costs):
        played = self.space.params(choice, self.trial.params)
        limits = {f"c{i}": float(cost) for i, cost in enumerate(costs)}
        if played == self.trial.params:
            for name, cost in limits.items():
                self.trial.set_constraint(name, cost)
            self.study.tell(self.trial, float(reward))
        else:  # the study learns what was played, not what it had suggested
            self.study.tell(self.trial, state=TrialState.FAIL)
            distributions = self.space.distributions
            self.study.add_trial(
                create_trial(value=float(reward), params=played, distributions=distributions, constraints=limits)
            )


class ArmParameters:
    """Arms by their features: a whole number for the levels of each, or a float. Suggestions mean the nearest arm."""

    def __init__(self, arms):
        self.arms, self.levels, self.distributions = arms, {}, {}
        for j, column in enumerate(arms.T):
            values, few = np.unique(column), len(np.unique(column)) <= MOST_LEVELS
            self.levels[f"x{j}"] = values if few else None
            whole = IntDistribution(0, len(values) - 1)
            self.distributions[f"x{j}"] = whole if few else FloatDistribution(values[0], values[-1])

    def choice(self, params):
        x = np.array([params[n] if levels is None else levels[params[n]] for n, levels in self.levels.items()])
        return int(((self.arms - x) ** 2).sum(axis=1).argmin())

    def params(self, choice, suggested):
        """Return the parameters of an arm."""
        columns = zip(self.levels.items(), self.arms[choice].tolist(), strict=True)
        return {name: x if levels is None else int(np.searchsorted(levels, x)) for (name, levels), x in columns}


class DomainParameters:
    """A box by its coordinates, a space by its named parameters."""

    def __init__(self, domain):
        self.domain = domain
        if isinstance(domain, sb.Space):
            self.distributions = {name: distribution(parameter) for name, parameter in domain.parameters}
        else:
            edges = enumerate(zip(domain.lower.tolist(), domain.upper.tolist(), strict=True))
            self.distributions = {f"x{j}": FloatDistribution(low, high) for j, (low, high) in edges}

    def choice(self, params):
        if isinstance(self.domain, sb.Space):
            return self.domain.encode(params)
        return np.array([params[name] for name in self.distributions])

    def params(self, choice, suggested):
        return suggested


def distribution(parameter):
    """Return Optuna's distribution for a parameter of a space."""
    if isinstance(parameter, sb.Categorical):
        return CategoricalDistribution(parameter.choices)
    if isinstance(parameter, sb.Integer):
        return IntDistribution(parameter.low, parameter.high)
    return FloatDistribution(parameter.low, parameter.high, log=isinstance(parameter, sb.LogFloat))
