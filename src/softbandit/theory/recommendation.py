"""Recommendations after a run: the best arm that probably meets every limit, and the best mixture, by the posterior."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend import Bools, Floats, Ints, drop_single
from softbandit.backend.display import brief, counted, html_text
from softbandit.domains import Values, point_in_words
from softbandit.errors import ArgumentError, Description, InfeasibleError
from softbandit.theory.ledger import wrapped
from softbandit.theory.optimum import largest_margin, randomized_optimum

NEGLIGIBLE = 1e-9  # weight in a mixture
ROUNDING = 1e-12  # relative: a mean this small is zero


@dataclass(frozen=True, eq=False)
class Mixture:
    """Points to play in turn with these weights, and what that yields on average, by the posterior."""

    weights: Floats  # (k,)
    arms: Ints | None  # (k,); None on a continuous domain
    x: Floats  # (k, d)
    values: list[Values] | None  # by name, in a Space
    reward: float  # mean
    cost: float | Floats  # mean: a number with one constraint, else an array
    feasible: float  # probability that every limit is met
    reward_interval: Floats  # (2,): it holds with the recommendation's probability, as does each cost's
    cost_interval: Floats  # (2,) with one constraint, else (m, 2)

    def __str__(self) -> str:
        ends = np.reshape(self.cost_interval, (-1, 2))
        costs = ", ".join(map(_with_interval, np.atleast_1d(self.cost), ends))
        limits = f", cost {costs}, feasible with probability {self.feasible:.2g}" if costs else ""
        lines = [f"  {weight:6.1%} {self._place(i)}" for i, weight in enumerate(self.weights)]
        return "\n".join(
            [*wrapped("  ", f"reward {_with_interval(self.reward, self.reward_interval)}{limits}"), *lines]
        )

    def __repr__(self) -> str:
        return f"Mixture({self.outline})"

    @property
    def outline(self) -> str:
        """The points, or their number, and what they yield, in a few words."""
        limits = (
            f", cost {brief(self.cost)}, feasible with probability {self.feasible:.2g}" if np.size(self.cost) else ""
        )
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
        return arm + ", ".join(f"{name} = {value}" for name, value in self.values[i].items())


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The point to keep if it must be one, and mixtures, which may be better.

    With contexts every mixture gives each context the same weight, and `single` has one arm of each.
    """

    single: Mixture  # of one point
    mixture: Mixture  # the best by the posterior means; often just at the limit, and feasible with probability 1/2
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
    """The posterior at the points to choose from."""

    points: Floats  # (n, d)
    mean: Floats  # (1 + m, n)
    std: Floats  # (1 + m, n)
    covariance: Callable[[Ints], Floats]  # numbers of k points -> their covariance in each output, (1 + m, k, k)
    arms: bool  # the points are all arms, in order
    values: Callable[[Floats], Values] | None  # of a point in a Space
    contexts: Ints | None = None  # (n,): of each point, numbered from 0; None without contexts

    def mixture(self, weights: Floats, probability: float) -> Mixture:
        """Describe a mixture (n,). Outputs are independent in the posterior; points are not."""
        from scipy.special import ndtri

        kept = np.where(weights > NEGLIGIBLE, weights, 0.0) / weights[weights > NEGLIGIBLE].sum()
        support = np.flatnonzero(kept)
        w, X = kept[support], self.points[support]
        variance = np.einsum("i,oij,j->o", w, self.covariance(support), w)
        mean = self.mean @ kept
        mean[np.abs(mean) < ROUNDING * np.abs(self.mean).max(axis=1)] = 0.0  # a mixture at the limit
        reward, *costs = mean
        std = np.sqrt(np.maximum(variance, 0.0))
        feasible = float(chance(mean[1:], std[1:]))
        intervals = mean[:, None] + ndtri((1 + probability) / 2) * std[:, None] * [-1, 1]  # normal
        values = None if self.values is None else [self.values(x) for x in X]
        cost: Any = drop_single(np.array(costs))
        cost_interval = intervals[1] if len(costs) == 1 else intervals[1:]
        arms = support if self.arms else None
        return Mixture(w, arms, X, values, float(reward), cost, feasible, intervals[0], cost_interval)


def recommend(beliefs: Beliefs, probability: float) -> Recommendation:
    """Return the point of the largest mean reward of those that meet every limit with that probability, and mixtures.

    If no point does, it is the one of the largest probability. With contexts, there is one for each.
    """
    from scipy.special import ndtri

    p = validation.number("probability", probability)
    if not 0 < p < 1:
        raise ArgumentError.of("probability", "a number in (0, 1)", probability, "For example 0.9.")
    f, g, sigma = beliefs.mean[0], beliefs.mean[1:], beliefs.std[1:]
    single = best_single(f, g, sigma, p, beliefs.contexts)
    # A mixture meets limit i with probability q if it does at the costs' quantiles of order q, and all m with p.
    quantile = ndtri(1 - (1 - p) / max(len(g), 1))
    return Recommendation(
        single=beliefs.mixture(single, p),
        mixture=beliefs.mixture(best_weights(f, g.T, beliefs.contexts), p),
        cautious=beliefs.mixture(best_weights(f, (g + quantile * sigma).T, beliefs.contexts), p),
    )


def best_single(f: Floats, g: Floats, sigma: Floats, probability: float, contexts: Ints | None = None) -> Floats:
    """Return the weights (n,) of the point that is recommended, given mean rewards, and means and deviations of costs.

    Those that are likely to meet the limits come first, by their reward, then the others by their probability, and
    if that is equal by cost.
    """
    chances = chance(g, sigma)
    likely: Bools = chances >= probability
    among_equals = np.where(likely, f, -g.max(axis=0, initial=-np.inf))
    return _best_of_each(contexts, among_equals, np.where(likely, 1.0, chances))


def _best_of_each(contexts: Ints | None, *keys: Floats) -> Floats:
    """Return the mixture of the best point of each context: by the last key, then by those before."""
    n = len(keys[0])
    labels = np.zeros(n) if contexts is None else contexts
    ascending = np.lexsort((-np.arange(n), *keys))  # the first of equals comes last
    best = [int(ascending[labels[ascending] == label][-1]) for label in np.unique(labels)]
    weights = np.zeros(n)
    weights[best] = 1 / len(best)
    return weights


def chance(mean: Floats, std: Floats) -> Floats:
    """Return the probability that every cost is at most 0, given moments (m, ...)."""
    from scipy.special import ndtr

    known = np.where(mean <= 0, np.inf, -np.inf)
    return np.asarray(np.prod(ndtr(np.where(std > 0, -mean / np.where(std > 0, std, 1.0), known)), axis=0))


def best_weights(f: Floats, g: Floats, contexts: Ints | None) -> Floats:
    """Return the optimal mixture (n,); if none is feasible, the one of the least excess."""
    if not g.shape[1]:
        return _best_of_each(contexts, f)
    try:
        return randomized_optimum(f, g, contexts).weights
    except InfeasibleError:
        pass
    if contexts is None:
        return largest_margin(g).weights
    return _best_of_each(contexts, -g.max(axis=1))


def _with_interval(mean: float, ends: Floats) -> str:
    return f"{mean:.4g} [{ends[0]:.4g}, {ends[1]:.4g}]"
