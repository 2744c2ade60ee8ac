"""The best mixture of arms that meets its limits, and the prices at which it does.

    maximise E_pi[f]  subject to  E_pi[g_i] <= 0          phi = argmin over phi >= 0 of max E[f - phi . g]

With contexts, which are equally likely, there is a mixture, and a maximum, in each of them.
"""

from typing import Any, NamedTuple

import numpy as np

from softbandit.backend import Floats, Ints
from softbandit.policies.mixture import best_mixture

MOST_STEPS = 100
HIGHEST = 1e6  # price, in units of the reward's spread per spread of a cost: beyond it a limit cannot be met
ENOUGH = 1e-9  # an improvement, in units of the reward's spread, that counts as none


class Prices(NamedTuple):
    """The prices (m,) per unit of each cost, and whether some mixture meets the limits; if none does, phi = 0."""

    phi: Floats
    feasible: bool
    violation: Floats  # (m,): of the mixture whose largest, in units of each cost's spread, is least; 0 if feasible
    weights: Floats  # (n,): of the best mixture, or of that with the least violation; their sum in each context is 1


def limit_prices(f: Floats, g: Floats, contexts: Ints | None = None) -> Prices:
    """Return the prices for rewards f (n,) and costs g (m, n); `contexts` numbers each arm's context from 0.

    >>> limit_prices(np.array([0.0, 1.0, 2.0]), np.array([[-1.0, 3.0, 9.0]]))
    Prices(phi=array([0.25]), feasible=True, violation=array([0.]), weights=array([0.75, 0.25, 0.  ]))
    """
    scales = np.array([_spread(row) for row in (f, *g)])
    h = np.stack([f - f.mean(), *g]) / scales[:, None]  # a constant changes no price, but would cost digits
    scaled = _one_price(h, contexts) if len(g) <= 1 else _several_prices(h, contexts)
    return scaled._replace(phi=scaled.phi * scales[0] / scales[1:], violation=scaled.violation * scales[1:])


def _spread(values: Floats) -> float:
    """Return the range of the values; if they differ by rounding alone, their size."""
    spread, size = float(np.ptp(values)), float(np.abs(values).max())
    return spread if spread > 1e-12 * size else size or 1.0


class Best(NamedTuple):
    """The best arm of each context, and the mean of their rewards and costs."""

    arms: Ints
    reward: float
    cost: float  # 0 without limits

    def value(self, phi: float) -> float:
        return self.reward - phi * self.cost


def _one_price(h: Floats, contexts: Ints | None) -> Prices:
    """Return the price of at most one cost: a line through one choice within the limit and one beyond it.

    The price is the slope of the line; the best choice at that price replaces the one on its side of the limit.
    """
    phi, none = 0.0, np.zeros(len(h) - 1)
    beyond = _best_choice(h, 1.0, phi, contexts)
    if beyond.cost <= 0:  # the best of all is within the limit
        return Prices(none, True, none, _mixed(len(h[0]), (beyond, 1.0)))
    within = _best_choice(h, 0.0, 1.0, contexts)
    if within.cost > 0:
        return Prices(none, False, np.array([within.cost]), _mixed(len(h[0]), (within, 1.0)))
    for _ in range(MOST_STEPS):
        phi = max(0.0, (beyond.reward - within.reward) / (beyond.cost - within.cost))
        choice = _best_choice(h, 1.0, phi, contexts)
        if choice.value(phi) <= within.value(phi) + ENOUGH:
            break
        within, beyond = (choice, beyond) if choice.cost <= 0 else (within, choice)
    share = within.cost / (within.cost - beyond.cost)
    return Prices(np.array([phi]), True, none, _mixed(len(h[0]), (within, 1 - share), (beyond, share)))


def _best_choice(h: Floats, gain: float, phi: float, contexts: Ints | None) -> Best:
    """Return the arm that maximises gain f - phi g, in each context."""
    f, g = h[0], h[1] if len(h) > 1 else np.zeros(len(h[0]))
    z = gain * f - phi * g
    if contexts is None:
        arms = np.array([z.argmax()])
    else:
        order = np.lexsort((-z, contexts))  # by context, the best arm first
        arms = order[np.flatnonzero(np.diff(contexts[order], prepend=-1))]
    return Best(arms, float(f[arms].mean()), float(g[arms].mean()))


def _mixed(n: int, *parts: tuple[Best, float]) -> Floats:
    """Return the weights of n arms, for choices that are each made with some probability."""
    weights = np.zeros(n)
    for choice, share in parts:
        weights[choice.arms] += share
    return weights


def _several_prices(h: Floats, contexts: Ints | None) -> Prices:
    """Return the prices of several costs.

    Without contexts the simplex method is faster, but it may find no prices at the edge of what can be met.
    """
    if contexts is None:
        mixture = best_mixture(h[:1], h[None, 1:])
        if mixture.feasible[0] and np.isfinite(mixture.price).all():
            weights = np.asarray(mixture.over_arms(h.shape[1])[0])
            return Prices(mixture.price[0], True, np.zeros(len(h) - 1), weights)
    return _prices_by_program(h, np.zeros(h.shape[1], dtype=np.int64) if contexts is None else contexts)


def _prices_by_program(h: Floats, contexts: Ints) -> Prices:
    """Return the prices by linear program.

    Minimise mean_z u_z over (u, 0 <= phi <= HIGHEST) with u_z >= f(x) - phi . g(x) at every arm x of context z. The
    multipliers of these conditions are the weights. Costs that no mixture brings to their limit are left out: the
    others are of order 1, as their range is.
    """
    f, g, none = h[0], h[1:], np.zeros(len(h) - 1)
    labels = np.unique(contexts, return_inverse=True)[1].ravel()
    members = (labels[:, None] == np.arange(labels.max() + 1)).astype(float)  # (n, contexts)
    least, most = _means_of_ends(g, labels)
    phi, binds = none.copy(), most > 0
    if (least <= ENOUGH).all():
        K, k = members.shape[1], np.count_nonzero(binds)
        cost, bounds = np.append(np.full(K, 1 / K), np.zeros(k)), [(None, None)] * K + [(0, HIGHEST)] * k
        solved = _solve(c=cost, A_ub=np.c_[-members, -g[binds].T], b_ub=-f, bounds=bounds)
        phi[binds] = np.maximum(solved.x[K:], 0.0)
        if phi.max() < HIGHEST * (1 - 1e-6):
            return Prices(phi, True, none, _normalised(-solved.ineqlin.marginals, members))
    safest = _least_violation(g, members, least, most)
    violation = np.maximum(g @ safest, 0.0) / members.shape[1]
    if violation.max() <= ENOUGH:
        return Prices(phi, True, none, safest)
    return Prices(none, False, violation, safest)


def _normalised(weights: Floats, members: Floats) -> Floats:
    """Return weights (n,) whose sum in each context is 1."""
    w = np.maximum(weights, 0.0)
    return np.asarray(w / (members @ (members.T @ w)))


def _means_of_ends(g: Floats, labels: Ints) -> tuple[Floats, Floats]:
    """Return the least and the largest mean of each cost (m,) over mixtures that give each context the same weight."""
    low = np.full((labels.max() + 1, len(g)), np.inf)
    high = -low
    np.minimum.at(low, labels, g.T)
    np.maximum.at(high, labels, g.T)
    return low.mean(axis=0), high.mean(axis=0)


def _least_violation(g: Floats, members: Floats, least: Floats, most: Floats) -> Floats:
    """Return the mixture pi, with the same weight for each context, whose largest violation [E_pi[g_i]]_+ is least.

    Minimise v over pi and v >= v_0 with E_pi[g_i] <= v for every i; v_0 is the largest of the costs' own minima.
    """
    v_0 = max(float(least.max()), 0.0)
    rows = g[most > v_0] - v_0
    n, K = members.shape
    solved = _solve(
        c=np.append(np.zeros(n), 1.0),
        A_ub=np.c_[rows, -np.full(len(rows), float(K))],
        b_ub=np.zeros(len(rows)),
        A_eq=np.c_[members.T, np.zeros(K)],
        b_eq=np.ones(K),
        bounds=[(0, None)] * (n + 1),
    )
    return _normalised(solved.x[:-1], members)


def _solve(**program: object) -> Any:
    from scipy.optimize import linprog

    return linprog(**program, method="highs")
