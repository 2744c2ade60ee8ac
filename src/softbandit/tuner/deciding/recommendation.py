"""Recommendations in the user's own units: the configuration to keep, and mixtures, which may be better.

An output may be modelled on a log scale, where its posterior is normal: quantiles are taken there, and converted.
Configurations of a mixture count as perfectly correlated, which is the most cautious assumption. Then a quantile of a
mixture is the mixture of the quantiles.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.backend.display import brief_values, html_text
from softbandit.domains import Values
from softbandit.policies.outlook import Moments, OutputModel
from softbandit.theory.recommendation import NEGLIGIBLE, best_single, best_weights, chance
from softbandit.tuner.words.description import Description
from softbandit.tuner.words.wording import assignments, short, wrapped

NEARLY = 0.9  # as likely to meet the limits as the most likely configuration
FARTHEST = 8.0  # deviations: beyond them lies a probability of 1e-15


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
        return f"Recommendation({brief_values(self.values)}; {expected}, feasible with probability {self.feasible:.2g})"

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
            yield f"  all limits met with probability {choice.feasible:.2g}"


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of all outputs at configurations, which is normal in the units of each model."""

    models: Sequence[OutputModel]
    moments: Sequence[Moments]

    def quantile(self, deviations: float) -> Floats:
        """Return the reward and the costs so many deviations above their medians, (1 + m, n)."""
        pairs = zip(self.models, self.moments, strict=True)
        return np.array([m.units.outside(z + deviations * np.sqrt(v), m.effects.noise) for m, (z, v) in pairs])

    def best(self, probability: float) -> Floats:
        """Return the weights (n,) of the configuration to keep: 1 for one of them.

        If none meets the limits with the given probability, as when a share is so small that it takes more rounds to
        tell, the best of those nearly as likely to meet them as any: otherwise the least active one would win.
        """
        zeros = [model.units.inside(np.zeros(1)) for model in self.models]
        costs = np.array([z - zero for zero, (z, _) in zip(zeros, self.moments, strict=True)])[1:]
        deviations = np.sqrt([variance for _, variance in self.moments])[1:]
        highest = float(chance(costs, deviations).max())
        enough = min(probability, NEARLY * highest) if highest >= 0.5 else probability
        return best_single(self.quantile(0.0)[0], costs, deviations, enough)


def recommend(
    description: Description, configurations: Floats, posterior: Posterior, probability: float
) -> Recommendation:
    """Return what is recommended of the configurations (n, d)."""
    from scipy.special import ndtri

    p = validation.share("probability", probability, "For example 0.9.")
    f, *g = posterior.quantile(0.0)
    # All m limits are met with probability p if each is met with probability 1 - (1 - p) / m.
    _, *upper = posterior.quantile(float(ndtri(1 - (1 - p) / max(len(g), 1))))
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
    return Choice(tuple(shares.tolist()), values, metric, tuple(limits), feasibility(played, shares))


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


def feasibility(posterior: Posterior, shares: Floats) -> float:
    """Return the probability that a mixture meets all limits. Outputs are independent in the posterior."""
    from scipy.optimize import brentq
    from scipy.special import ndtr

    def cost(deviations: float, i: int) -> float:
        return float(posterior.quantile(deviations)[i] @ shares)

    chances = []
    for i in range(1, len(posterior.models)):
        low, high = cost(-FARTHEST, i), cost(FARTHEST, i)
        known = FARTHEST if high <= 0 else -FARTHEST  # if both ends are on one side of the limit
        chances.append(ndtr(brentq(cost, -FARTHEST, FARTHEST, args=(i,)) if low < 0 < high else known))
    return float(np.prod(chances))


def _in_order(values: Iterable[float]) -> Estimate:
    value, *ends = map(float, values)
    return Estimate(value, min(ends), max(ends))
