"""What to keep after a run: the best arm that probably meets every limit, and the best mixture, by the posterior."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend import Bools, Floats, Ints, drop_single
from softbandit.domains import Values
from softbandit.errors import ArgumentError, InfeasibleError
from softbandit.theory.optimum import largest_margin, randomized_optimum, single_arm

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

    def __str__(self) -> str:
        costs = ", ".join(f"{cost:.4g}" for cost in np.atleast_1d(self.cost))
        limits = f", cost {costs}, feasible with probability {self.feasible:.2g}" if costs else ""
        lines = [f"  {weight:6.1%} {self._place(i)}" for i, weight in enumerate(self.weights)]
        return "\n".join([f"  reward {self.reward:.4g}{limits}", *lines])

    def _place(self, i: int) -> str:
        arm = "" if self.arms is None else f"arm {self.arms[i]}: "
        if self.values is None:
            return arm + np.array2string(self.x[i], precision=4)
        return arm + ", ".join(f"{name} = {value}" for name, value in self.values[i].items())


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The point to keep if it must be one, and mixtures, which may be better."""

    single: Mixture  # of one point
    mixture: Mixture  # the best by the posterior means; often just at the limit, and feasible with probability 1/2
    cautious: Mixture  # the best whose costs meet the limits at their upper bounds

    @property
    def arm(self) -> int | None:
        return None if self.single.arms is None else int(self.single.arms[0])

    @property
    def x(self) -> Floats:
        return np.asarray(self.single.x[0])

    @property
    def values(self) -> Values | None:
        return None if self.single.values is None else self.single.values[0]

    @property
    def reward(self) -> float:
        return self.single.reward

    @property
    def cost(self) -> float | Floats:
        return self.single.cost

    @property
    def feasible(self) -> float:
        return self.single.feasible

    def __str__(self) -> str:
        return f"One point\n{self.single}\nMixture\n{self.mixture}\nCautious mixture\n{self.cautious}"


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The posterior at the points to choose from."""

    points: Floats  # (n, d)
    mean: Floats  # (1 + m, n)
    std: Floats  # (1 + m, n)
    covariance: Callable[[Ints], Floats]  # numbers of k points -> their covariance in each output, (1 + m, k, k)
    arms: bool  # the points are all arms, in order
    values: Callable[[Floats], Values] | None  # of a point in a Space

    def mixture(self, weights: Floats) -> Mixture:
        """Describe a mixture (n,). Outputs are independent in the posterior; points are not."""
        kept = np.where(weights > NEGLIGIBLE, weights, 0.0) / weights[weights > NEGLIGIBLE].sum()
        support = np.flatnonzero(kept)
        w, X = kept[support], self.points[support]
        variance = np.einsum("i,oij,j->o", w, self.covariance(support), w)
        mean = self.mean @ kept
        mean[np.abs(mean) < ROUNDING * np.abs(self.mean).max(axis=1)] = 0.0  # a mixture at the limit
        reward, *costs = mean
        feasible = float(_chance(mean[1:], np.sqrt(np.maximum(variance[1:], 0.0))))
        values = None if self.values is None else [self.values(x) for x in X]
        cost: Any = drop_single(np.array(costs))
        return Mixture(w, support if self.arms else None, X, values, float(reward), cost, feasible)


def recommend(beliefs: Beliefs, probability: float) -> Recommendation:
    """Return the point of the largest mean reward of those that meet every limit with that probability, and mixtures.

    If no point does, it is the one of the largest probability.
    """
    from scipy.special import ndtri

    p = validation.number("probability", probability)
    if not 0 < p < 1:
        raise ArgumentError.of("probability", "a number in (0, 1)", probability, "For example 0.9.")
    f, g, sigma = beliefs.mean[0], beliefs.mean[1:], beliefs.std[1:]
    chances = _chance(g, sigma)
    likely: Bools = chances >= p
    best = int(np.where(likely, f, -np.inf).argmax() if likely.any() else chances.argmax())
    # A mixture meets limit i with probability q if it does at the costs' quantiles of order q, and all m with p.
    quantile = ndtri(1 - (1 - p) / max(len(g), 1))
    return Recommendation(
        single=beliefs.mixture(single_arm(len(f), best)),
        mixture=beliefs.mixture(_best_weights(f, g.T)),
        cautious=beliefs.mixture(_best_weights(f, (g + quantile * sigma).T)),
    )


def _chance(mean: Floats, std: Floats) -> Floats:
    """Return the probability that every cost is at most 0, given moments (m, ...)."""
    from scipy.special import ndtr

    known = np.where(mean <= 0, np.inf, -np.inf)
    return np.asarray(np.prod(ndtr(np.where(std > 0, -mean / np.where(std > 0, std, 1.0), known)), axis=0))


def _best_weights(f: Floats, g: Floats) -> Floats:
    """Return the optimal mixture (n,); if none is feasible, the one of the least excess."""
    if not g.shape[1]:
        return single_arm(len(f), int(f.argmax()))
    try:
        return randomized_optimum(f, g).weights
    except InfeasibleError:
        return largest_margin(g).weights
