"""The prices at which the best mixture of actions meets its limits: phi = argmin over phi >= 0 of max E[f - phi . g].

An action chooses an arm in every context, and contexts are equally likely; without contexts it is an arm. There are too
many actions to list, but at given prices the best one is found context by context. So they are generated: the
best one at the prices of those found so far is added, until none is better.
"""

from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats, Ints
from softbandit.policies.mixture import best_mixture

MOST_ACTIONS = 60
ESCAPE = 100.0  # minus the reward of a mixture that meets the limits whatever the arms do, in units of the spread
ENOUGH = 1e-9  # the gain of a new action, in units of the reward's spread, below which it is not better


class Prices(NamedTuple):
    """The prices (m,) per unit of each cost, and whether some mixture meets the limits; if none does, phi = 0."""

    phi: Floats
    feasible: bool
    violation: Floats  # (m,): the least total violation's, of each cost; 0 if feasible


def limit_prices(f: Floats, g: Floats, contexts: Ints | None = None) -> Prices:
    """Return the prices for rewards f (n,) and costs g (m, n); `contexts` numbers each arm's context from 0.

    >>> limit_prices(np.array([0.0, 1.0, 2.0]), np.array([[-1.0, 3.0, 9.0]]))
    Prices(phi=array([0.25]), feasible=True, violation=array([0.]))
    """
    m = len(g)
    if not m:
        return Prices(np.zeros(0), True, np.zeros(0))
    scales = np.array([float(np.ptp(row)) or 1.0 for row in (f, *g)])
    h = np.stack([f, *g]) / scales[:, None]
    phi, violation = (_one_price if m == 1 else _several_prices)(h, contexts)
    return Prices(phi * scales[0] / scales[1:], not violation.any(), violation * scales[1:])


def _one_price(h: Floats, contexts: Ints | None) -> tuple[Floats, Floats]:
    """Return phi (1,) and the least violation (1,): a line through one action within the limit and one beyond it.

    The price is the slope of the line; the best action at that price replaces the one on its side of the limit.
    """
    none = np.zeros(1)
    within, beyond = (_best_action(h, weights, contexts) for weights in np.array([[0.0, -1.0], [1.0, 0.0]]))
    if within[1] > 0:
        return none, within[1:]
    for _ in range(MOST_ACTIONS):
        if beyond[1] <= 0:  # the best action of all is within the limit
            return none, none
        phi = max(0.0, float((beyond[0] - within[0]) / (beyond[1] - within[1])))
        action = _best_action(h, np.array([1.0, -phi]), contexts)
        if action[0] - phi * action[1] <= within[0] - phi * within[1] + ENOUGH:
            break
        within, beyond = (action, beyond) if action[1] <= 0 else (within, action)
    return np.array([phi]), none


def _several_prices(h: Floats, contexts: Ints | None) -> tuple[Floats, Floats]:
    """Return phi (m,) and the least violation (m,): the dual of the best mixture of the actions found so far."""
    m = len(h) - 1
    escape = np.append(-ESCAPE, -np.ones(m))  # an action that meets every limit, at a prohibitive price
    found = np.stack([escape, *(_best_action(h, weights, contexts) for weights in _extremes(m))], axis=1)
    for _ in range(MOST_ACTIONS):
        mixture = best_mixture(found[None, 0], found[None, 1:])
        weights = np.append(1.0, -mixture.price[0])
        action = _best_action(h, weights, contexts)
        if weights @ action <= (weights @ found).max() + ENOUGH:
            break
        found = np.concatenate([found, action[:, None]], axis=1)
    shares = mixture.over_arms(found.shape[1])[0]
    if shares[0] <= ENOUGH:
        return mixture.price[0], np.zeros(m)
    return np.zeros(m), np.maximum(found[1:, 1:] @ shares[1:] / max(1 - shares[0], ENOUGH), 0.0)


def _extremes(m: int) -> Floats:
    """Return weights of reward and costs: the reward alone, and each cost alone, and all costs together."""
    return np.concatenate([np.eye(1, 1 + m), -np.eye(m, 1 + m, k=1), [[0.0] + [-1.0] * m]])


def _best_action(h: Floats, weights: Floats, contexts: Ints | None) -> Floats:
    """Return reward and costs (1 + m,) of the action that maximises weights . h."""
    z = weights @ h
    if contexts is None:
        return np.asarray(h[:, int(z.argmax())])
    order = np.lexsort((-z, contexts))  # by context, the best arm first
    first = np.flatnonzero(np.diff(contexts[order], prepend=-1))
    return np.asarray(h[:, order[first]].mean(axis=1))
