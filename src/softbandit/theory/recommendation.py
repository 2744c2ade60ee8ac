"""Recommendations after a run: the best arm that probably meets every limit, and the best mixture, by the posterior.

The posterior of an output may be skewed, as on a log scale, so it is given by its quantiles: q(k) is the value that is
k deviations above the median of a normal score. For a normal posterior that is mean + k std.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend import Bools, Floats, Ints, drop_single
from softbandit.backend.display import assigned, brief, brief_probability, counted, html_text
from softbandit.domains import Values, point_in_words
from softbandit.errors import ArgumentError, Description, InfeasibleError
from softbandit.policies.base import Quantile
from softbandit.theory.ledger import wrapped
from softbandit.theory.optimum import largest_margin, randomized_optimum

NEGLIGIBLE = 1e-9  # weight in a mixture
ROUNDING = 1e-12  # relative: a value this small is zero
FARTHEST = 40.0  # deviations: beyond, a probability is 0 or 1
HALVINGS = 50  # of 2 FARTHEST, to find where a quantile is zero
LEVELS = (np.arange(64) + 0.5) / 64  # probabilities whose quantiles stand for a posterior


@dataclass(frozen=True, eq=False)
class Mixture:
    """Points to play in turn with these weights, and what that yields on average, by the posterior."""

    weights: Floats  # (k,)
    arms: Ints | None  # (k,); None on a continuous domain
    x: Floats  # (k, d)
    values: list[Values] | None  # by name, in a Space
    reward: float  # median, which is the mean if the posterior is normal
    cost: float | Floats  # median: a number with one constraint, else an array
    feasible: float  # probability that every limit is met
    reward_interval: Floats  # (2,): it holds with the recommendation's probability, as does each cost's
    cost_interval: Floats  # (2,) with one constraint, else (m, 2)

    def __str__(self) -> str:
        ends = np.reshape(self.cost_interval, (-1, 2))
        costs = ", ".join(map(_with_interval, np.atleast_1d(self.cost), ends))
        limits = f", cost {costs}, feasible with probability {brief_probability(self.feasible)}" if costs else ""
        lines = [f"  {weight:6.1%} {self._place(i)}" for i, weight in enumerate(self.weights)]
        return "\n".join(
            [*wrapped("  ", f"reward {_with_interval(self.reward, self.reward_interval)}{limits}"), *lines]
        )

    def __repr__(self) -> str:
        return f"Mixture({self.outline})"

    @property
    def outline(self) -> str:
        """The points, or their number, and what they yield, in a few words."""
        chance = f"feasible with probability {brief_probability(self.feasible)}"
        limits = f", cost {brief(self.cost)}, {chance}" if np.size(self.cost) else ""
        return f"{self._points}, reward {brief(self.reward)}{limits}"

    @property
    def _points(self) -> str:
        if len(self.weights) > 1:
            return counted(len(self.weights), "point")
        arm = None if self.arms is None else int(self.arms[0])
        return point_in_words(arm, self.x[0], None if self.values is None else self.values[0])

    def _place(self, i: int) -> str:
        arm = "" if self.arms is None else f"arm {self.arms[i]}: "
        if self.values is None:
            return arm + np.array2string(self.x[i], precision=4)
        return arm + assigned(self.values[i])


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The point to keep if it must be one, and mixtures, which may be better.

    With contexts every mixture gives each context the same weight, and `single` has one arm of each.
    """

    single: Mixture  # of one point
    mixture: Mixture  # the best by the posterior medians; often just at the limit, and feasible with probability 1/2
    cautious: Mixture  # the best whose costs meet the limits at their upper bounds

    @property
    def arm(self) -> int | None:
        return None if self.single.arms is None else int(self.single.arms[self._only])

    @property
    def x(self) -> Floats:
        return np.asarray(self.single.x[self._only])

    @property
    def values(self) -> Values | None:
        return None if self.single.values is None else self.single.values[self._only]

    @property
    def _only(self) -> int:
        """The place of the one point in `single`."""
        count = len(self.single.weights)
        if count > 1:
            got = Description(f"{count}, one per context")
            raise ArgumentError.of("recommendation", "one point", got, "Read single.arms, single.x or single.values.")
        return 0

    @property
    def reward(self) -> float:
        return self.single.reward

    @property
    def cost(self) -> float | Floats:
        return self.single.cost

    @property
    def feasible(self) -> float:
        return self.single.feasible

    def __repr__(self) -> str:
        return f"Recommendation({self.single.outline})"

    def _repr_html_(self) -> str:
        return html_text(str(self))

    def __str__(self) -> str:
        one = "One point" if len(self.single.weights) == 1 else "One point per context"
        return f"{one}\n{self.single}\nMixture\n{self.mixture}\nCautious mixture\n{self.cautious}"


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The posterior at the points to choose from.

    Without a covariance the values of an output at several points count as perfectly correlated, which is the most
    cautious assumption: a quantile of a mixture is then the mixture of the quantiles.
    """

    points: Floats  # (n, d)
    quantile: Quantile
    covariance: Callable[[Ints], Floats] | None  # numbers of k points -> theirs in each output, (1 + m, k, k)
    arms: bool  # the points are all arms, in order
    values: Callable[[Floats], Values] | None  # of a point in a Space
    contexts: Ints | None = None  # (n,): of each point, numbered from 0; None without contexts

    def mixture(self, weights: Floats, probability: float) -> Mixture:
        """Describe a mixture (n,). Outputs are independent in the posterior."""
        from scipy.special import ndtri

        kept = np.where(weights > NEGLIGIBLE, weights, 0.0) / weights[weights > NEGLIGIBLE].sum()
        support = np.flatnonzero(kept)
        X, quantile = self.points[support], self._of_mixture(support, kept[support])
        k = float(ndtri((1 + probability) / 2))
        medians, intervals = quantile(0.0)[:, 0], np.concatenate([quantile(-k), quantile(k)], axis=1)
        feasible = float(chances(quantile)[0])
        values = None if self.values is None else [self.values(x) for x in X]
        cost: Any = drop_single(medians[1:])
        cost_interval = intervals[1] if len(medians) == 2 else intervals[1:]
        arms = support if self.arms else None
        reward = float(medians[0])
        return Mixture(kept[support], arms, X, values, reward, cost, feasible, intervals[0], cost_interval)

    def _of_mixture(self, support: Ints, w: Floats) -> Quantile:
        """Return the quantiles of a mixture, (1 + m, 1) each."""
        rounding = ROUNDING * np.abs(self.quantile(0.0)).max(axis=1)

        def exact(values: Floats) -> Floats:
            return np.where(np.abs(values) < rounding, 0.0, values)[:, None]  # a mixture at the limit

        if self.covariance is None:
            return lambda k: exact(self.quantile(k)[:, support] @ w)
        variance = np.einsum("i,oij,j->o", w, self.covariance(support), w)
        mean, std = self.quantile(0.0)[:, support] @ w, np.sqrt(np.maximum(variance, 0.0))
        return lambda k: exact(mean + np.ravel(k) * std)


def normal(mean: Floats, std: Floats) -> Quantile:
    """Return the quantiles of normal posteriors."""
    return lambda k: mean + k * std


def recommend(beliefs: Beliefs, probability: float) -> Recommendation:
    """Return the point of the largest reward of those that meet every limit with that probability, and mixtures.

    If no point does, it is the one that is expected to exceed the limits least. With contexts there is one for each,
    which meets the limits in that context.
    """
    from scipy.special import ndtri

    p = validation.number("probability", probability)
    if not 0 < p < 1:
        raise ArgumentError.of("probability", "a number in (0, 1)", probability, "For example 0.9.")
    quantile = beliefs.quantile
    f, *g = quantile(0.0)
    # A mixture meets limit i with probability q if it does at the costs' quantiles of order q >= 1/2, and all m with p.
    _, *upper = quantile(max(float(ndtri(1 - (1 - p) / max(len(g), 1))), 0.0))
    single = best_single(quantile, chances(quantile), p, beliefs.contexts)
    mixtures = [best_weights(f, np.reshape(costs, (-1, len(f))).T, beliefs.contexts) for costs in (g, upper)]
    return Recommendation(*(beliefs.mixture(weights, p) for weights in (single, *mixtures)))


def best_single(quantile: Quantile, chance: Floats, probability: float, contexts: Ints | None = None) -> Floats:
    """Return the weights (n,) of the point that is recommended, given the probability (n,) that each meets the limits.

    Those that are likely to meet them come first, by their reward; then the others, the least expected excess first.
    (Not the largest probability: where no point is likely, that is largest at the least known.)
    """
    likely: Bools = chance >= probability
    f = quantile(0.0)[0]
    if contexts is None and likely.any():
        return _best_of_each(None, np.where(likely, f, -np.inf))
    return _best_of_each(contexts, f, np.where(likely, 1.0, -expected_excess(quantile)))


def chances(quantile: Quantile) -> Floats:
    """Return the probability (n,) that every cost is at most 0: bisection finds the scores at which costs are 0."""
    from scipy.special import ndtr

    low = np.full(quantile(0.0).shape, -FARTHEST)
    high = -low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        met = quantile(middle) <= 0
        low, high = np.where(met, middle, low), np.where(met, high, middle)
    return np.asarray(np.prod(ndtr(low[1:]), axis=0))


def expected_excess(quantile: Quantile) -> Floats:
    """Return the sum over the costs of E[max(g, 0)] at each point (n,), in units of their spreads over the points."""
    from scipy.special import ndtri

    medians = quantile(0.0)[1:]
    spreads = np.std(medians, axis=1, keepdims=True)
    total = sum(np.maximum(quantile(float(k))[1:], 0.0) for k in ndtri(LEVELS))
    return np.asarray((total / len(LEVELS) / np.where(spreads > 0, spreads, 1.0)).sum(axis=0))


def _best_of_each(contexts: Ints | None, *keys: Floats) -> Floats:
    """Return the mixture of the best point of each context: by the last key, then by those before."""
    n = len(keys[0])
    labels = np.zeros(n) if contexts is None else contexts
    ascending = np.lexsort((-np.arange(n), *keys))  # the first of equals comes last
    best = [int(ascending[labels[ascending] == label][-1]) for label in np.unique(labels)]
    weights = np.zeros(n)
    weights[best] = 1 / len(best)
    return weights


def best_weights(f: Floats, g: Floats, contexts: Ints | None) -> Floats:
    """Return the optimal mixture (n,); if none is feasible, the one of the least excess."""
    if not g.shape[1]:
        return _best_of_each(contexts, f)
    try:
        return randomized_optimum(f, g, contexts).weights
    except InfeasibleError:
        return largest_margin(g, contexts).weights


def _with_interval(mean: float, ends: Floats) -> str:
    return f"{mean:.4g} [{ends[0]:.4g}, {ends[1]:.4g}]"
