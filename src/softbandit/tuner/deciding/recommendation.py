"""Recommendations in the user's own units: the configuration to keep, and mixtures, which may be better.

An output may be modelled on a log scale, where its posterior is normal: quantiles are taken there, and converted.
Configurations of a mixture count as perfectly correlated, which is the most cautious assumption. Then a quantile of a
mixture is the mixture of the quantiles.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.backend.display import brief_probability, brief_values, html_text
from softbandit.domains import Values
from softbandit.policies.base import Quantile
from softbandit.policies.outlook import Moments, quantiles
from softbandit.policies.output_models import OutputModel
from softbandit.theory.recommendation import NEGLIGIBLE, best_single, best_weights, chances
from softbandit.tuner.words.description import Description
from softbandit.tuner.words.wording import assignments, short, wrapped

NEARLY = 0.9  # as likely to meet the limits as the most likely configuration


class Estimate(NamedTuple):
    """The median of a posterior, and an interval that holds with a given probability."""

    value: float
    low: float
    high: float

    def show(self, number: Callable[[float], str]) -> str:
        """Return it as text, given how its numbers are shown."""
        return f"{number(self.value)} [{number(self.low)}, {number(self.high)}]"


@dataclass(frozen=True)
class Choice:
    """Configurations to play in turn with these shares, and what that yields on average."""

    shares: tuple[float, ...]
    configurations: tuple[Values, ...]
    metric: Estimate
    limits: tuple[Estimate, ...]  # what each limit is on, such as a mean latency
    feasible: float  # probability that all limits are met


@dataclass(frozen=True)
class Recommendation:
    """The configuration to keep if it must be one, and mixtures, which may be better."""

    description: Description = field(repr=False)
    single: Choice  # the highest reward of those that meet the limits with the given probability
    mixture: Choice  # the best by the medians; often just at the limit, and feasible with probability 1/2
    cautious: Choice  # the best that meets the limits at their upper quantiles

    @property
    def values(self) -> Values:
        return self.single.configurations[0]

    @property
    def metric(self) -> Estimate:
        return self.single.metric

    @property
    def limits(self) -> tuple[Estimate, ...]:
        return self.single.limits

    @property
    def feasible(self) -> float:
        return self.single.feasible

    @property
    def alternating(self) -> Choice | None:
        """The cautious mixture, if it is better than one configuration."""
        gain = self.description.sign * (self.cautious.metric.value - self.metric.value)
        return self.cautious if len(self.cautious.shares) > 1 and gain > 0 else None

    def __repr__(self) -> str:
        expected = f"{self.description.metric} {short(self.metric.value)}"
        chance = f"feasible with probability {brief_probability(self.feasible)}"
        return f"Recommendation({brief_values(self.values)}; {expected}, {chance})"

    def _repr_html_(self) -> str:
        return html_text(str(self))

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield from wrapped(assignments(self.values))
        yield from self._expected(self.single)
        if self.alternating is not None:
            yield from wrapped("better, if values may alternate from round to round:")
            for share, values in zip(self.alternating.shares, self.alternating.configurations, strict=True):
                yield from wrapped(f"  {share:.0%} of the rounds {assignments(values)}")
            yield from self._expected(self.alternating)

    def _expected(self, choice: Choice) -> Iterator[str]:
        yield from wrapped(f"  {self.description.metric} {choice.metric.show(short)}")
        for limit, estimate in zip(self.description.limits, choice.limits, strict=True):
            yield from wrapped(f"  {limit.name} {estimate.show(limit.show)}, limit {limit.show(limit.bound)}")
        if choice.limits:
            yield f"  all limits met with probability {brief_probability(choice.feasible)}"


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of all outputs at configurations, which is normal in the units of each model."""

    models: Sequence[OutputModel]
    moments: Sequence[Moments]

    @cached_property
    def quantile(self) -> Quantile:
        """The reward and the costs so many deviations above their medians, (1 + m, n)."""
        return quantiles(self.models, self.moments)

    def best(self, probability: float) -> Floats:
        """Return the weights (n,) of the configuration to keep: 1 for one of them.

        If none meets the limits with the given probability, as when a share is so small that it takes more rounds to
        tell, the best of those nearly as likely to meet them as any: otherwise the least active one would win.
        """
        chance = self._chances()
        highest = float(chance.max())
        enough = min(probability, NEARLY * highest) if highest >= 0.5 else probability
        return best_single(self.quantile, chance, enough)

    def _chances(self) -> Floats:
        """Return the probability that every cost is at most 0, in closed form, since every `ask` needs it."""
        from scipy.special import ndtr

        product = np.ones(len(self.moments[0][0]))
        for model, (mean, variance) in list(zip(self.models, self.moments, strict=True))[1:]:
            room, std = float(model.units.inside(np.zeros(1))[0]) - mean, np.sqrt(variance)
            known = np.where(room >= 0, np.inf, -np.inf)
            product *= ndtr(np.where(std > 0, room / np.where(std > 0, std, 1.0), known))
        return product


def recommend(
    description: Description, configurations: Floats, posterior: Posterior, probability: float
) -> Recommendation:
    """Return what is recommended of the configurations (n, d)."""
    from scipy.special import ndtri

    p = validation.share("probability", probability, "For example 0.9.")
    f, *g = posterior.quantile(0.0)
    # All m limits are met with probability p if each is met with probability 1 - (1 - p) / m, or more.
    _, *upper = posterior.quantile(max(float(ndtri(1 - (1 - p) / max(len(g), 1))), 0.0))
    mixtures = [best_weights(f, np.reshape(costs, (-1, len(f))).T, None) for costs in (g, upper)]
    choices = [_choice(description, configurations, posterior, w, p) for w in (posterior.best(p), *mixtures)]
    return Recommendation(description, *choices)


def _choice(
    description: Description, configurations: Floats, posterior: Posterior, weights: Floats, probability: float
) -> Choice:
    support = np.flatnonzero(weights > NEGLIGIBLE)
    shares = weights[support] / weights[support].sum()
    values = tuple(description.space.values(x) for x in configurations[support])
    played = Posterior(posterior.models, [(z[support], v[support]) for z, v in posterior.moments])
    metric, *limits = estimates(description, played, probability, shares)
    feasible = chances(lambda k: played.quantile(k) @ shares[:, None])
    return Choice(tuple(shares.tolist()), values, metric, tuple(limits), float(feasible[0]))


def estimates(description: Description, posterior: Posterior, probability: float, shares: Floats) -> list[Estimate]:
    """Return the metric, then what each limit is on, for a mixture of the configurations, in the user's units."""
    from scipy.special import ndtri

    k = float(ndtri((1 + probability) / 2))
    ends = np.stack([posterior.quantile(deviations) @ shares for deviations in (0.0, -k, k)], axis=1)
    metric = _in_order(description.sign * ends[0])
    return [
        metric,
        *(_in_order(map(limit.measure, row)) for limit, row in zip(description.limits, ends[1:], strict=True)),
    ]


def _in_order(values: Iterable[float]) -> Estimate:
    value, *ends = map(float, values)
    return Estimate(value, min(ends), max(ends))
