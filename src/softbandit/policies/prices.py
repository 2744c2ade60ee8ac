"""The prices at which the best mixture of arms meets its limits: phi = argmin over phi >= 0 of max E[f - phi . g].

With contexts, which are equally likely, the maximum is taken in each of them.
"""

from typing import NamedTuple

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


def limit_prices(f: Floats, g: Floats, contexts: Ints | None = None) -> Prices:
    """Return the prices for rewards f (n,) and costs g (m, n); `contexts` numbers each arm's context from 0.

    >>> limit_prices(np.array([0.0, 1.0, 2.0]), np.array([[-1.0, 3.0, 9.0]]))
    Prices(phi=array([0.25]), feasible=True, violation=array([0.]))
    """
    m = len(g)
    if not m:
        return Prices(np.zeros(0), True, np.zeros(0))
    scales = np.array([_spread(row) for row in (f, *g)])
    h = np.stack([f - f.mean(), *g]) / scales[:, None]  # a constant changes no price, but would cost digits
    if m > 1 and contexts is None:
        mixture = best_mixture(h[:1], h[None, 1:])
        if mixture.feasible[0] and np.isfinite(mixture.price).all():  # at the edge of what can be met they may disagree
            return Prices(mixture.price[0] * scales[0] / scales[1:], True, np.zeros(m))
    phi, violation = (_one_price if m == 1 else _several_prices)(h, contexts)
    return Prices(phi * scales[0] / scales[1:], not violation.any(), violation * scales[1:])


def _spread(values: Floats) -> float:
    """Return the range of the values; if they differ by rounding alone, their size."""
    spread, size = float(np.ptp(values)), float(np.abs(values).max())
    return spread if spread > 1e-12 * size else size or 1.0


def _one_price(h: Floats, contexts: Ints | None) -> tuple[Floats, Floats]:
    """Return phi (1,) and the least violation (1,): a line through one choice within the limit and one beyond it.

    The price is the slope of the line; the best choice at that price replaces the one on its side of the limit.
    """
    none = np.zeros(1)
    within, beyond = (_best_choice(h, weights, contexts) for weights in np.array([[0.0, -1.0], [1.0, 0.0]]))
    if within[1] > 0:
        return none, within[1:]
    phi = 0.0
    for _ in range(MOST_STEPS):
        if beyond[1] <= 0:  # the best of all is within the limit
            return none, none
        phi = max(0.0, float((beyond[0] - within[0]) / (beyond[1] - within[1])))
        choice = _best_choice(h, np.array([1.0, -phi]), contexts)
        if choice[0] - phi * choice[1] <= within[0] - phi * within[1] + ENOUGH:
            break
        within, beyond = (choice, beyond) if choice[1] <= 0 else (within, choice)
    return np.array([phi]), none


def _best_choice(h: Floats, weights: Floats, contexts: Ints | None) -> Floats:
    """Return reward and cost (2,) of the arm that maximises weights . h; with contexts, of the best arms' mean."""
    z = weights @ h
    if contexts is None:
        return np.asarray(h[:, int(z.argmax())])
    order = np.lexsort((-z, contexts))  # by context, the best arm first
    first = np.flatnonzero(np.diff(contexts[order], prepend=-1))
    return np.asarray(h[:, order[first]].mean(axis=1))


def _several_prices(h: Floats, contexts: Ints | None) -> tuple[Floats, Floats]:
    """Return phi (m,) and the least violation (m,), by linear program.

    Minimise mean_z u_z over (u, 0 <= phi <= HIGHEST) with u_z >= f(x) - phi . g(x) at every arm x of context z.
    Costs that no mixture brings to their limit are left out: the others are of order 1, as their range is.
    """
    f, g, none = h[0], h[1:], np.zeros(len(h) - 1)
    labels = (
        np.zeros(len(f), dtype=np.int64) if contexts is None else np.unique(contexts, return_inverse=True)[1].ravel()
    )
    members = (labels[:, None] == np.arange(labels.max() + 1)).astype(float)  # (n, contexts)
    least, most = _means_of_ends(g, labels)
    phi, binds = none.copy(), most > 0
    if (least <= ENOUGH).all():
        K, k = members.shape[1], np.count_nonzero(binds)
        cost, bounds = np.append(np.full(K, 1 / K), np.zeros(k)), [(None, None)] * K + [(0, HIGHEST)] * k
        phi[binds] = _solve(c=cost, A_ub=np.c_[-members, -g[binds].T], b_ub=-f, bounds=bounds)[K:]
        if phi.max() < HIGHEST * (1 - 1e-6):
            return np.maximum(phi, 0.0), none
    violation = _least_violation(g, members, least, most)
    return (np.maximum(phi, 0.0), none) if violation.max() <= ENOUGH else (none, violation)


def _means_of_ends(g: Floats, labels: Ints) -> tuple[Floats, Floats]:
    """Return the least and the largest mean of each cost (m,) over mixtures that give each context the same weight."""
    low = np.full((labels.max() + 1, len(g)), np.inf)
    high = -low
    np.minimum.at(low, labels, g.T)
    np.maximum.at(high, labels, g.T)
    return low.mean(axis=0), high.mean(axis=0)


def _least_violation(g: Floats, members: Floats, least: Floats, most: Floats) -> Floats:
    """Return [E_pi[g]]_+ (m,) of the mixture pi, with the same weight for each context, whose largest is least.

    Minimise v over pi and v >= v_0 with E_pi[g_i] <= v for every i; v_0 is the largest of the costs' own minima.
    """
    v_0 = max(float(least.max()), 0.0)
    rows = g[most > v_0] - v_0
    n, K = members.shape
    *pi, _ = _solve(
        c=np.append(np.zeros(n), 1.0),
        A_ub=np.c_[rows, -np.ones(len(rows))],
        b_ub=np.zeros(len(rows)),
        A_eq=np.c_[members.T, np.zeros(K)],
        b_eq=np.full(K, 1 / K),
        bounds=[(0, None)] * (n + 1),
    )
    return np.asarray(np.maximum(g @ np.array(pi), 0.0))


def _solve(**program: object) -> Floats:
    from scipy.optimize import linprog

    return np.asarray(linprog(**program, method="highs").x)
