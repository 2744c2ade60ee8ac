"""The posterior over finite arms, in weight space, with a square root of the covariance.

| symbol | meaning | shape |
|---|---|---|
| Phi | features of the arms, K = Phi Phi^T | n x r |
| L | square root of the weights' covariance, k_t(x, x') = phi(x)^T L L^T phi(x') | b x r x r |
| mu, var | posterior mean of each output and their common variance, over the arms | b x k x n, b x n |
| gain | realised information gain, 1/2 ln det(I + K_t / lambda) | b |

for n arms, rank r, b independent trials, and k outputs (reward and costs) that share a
kernel and lambda. A round costs O(n r + r^2) a trial, whatever its number, and gives
mu_t and k_t of the paper's equations (mu) and (sigma) up to rounding.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softbandit.arrays import Array, at, namespace
from softbandit.features import Features


class Finite(NamedTuple):
    """The posterior of k outputs, for b trials."""

    root: Array  # L
    mu: Array
    var: Array
    gain: Array


def prior(features: Features, outputs: int, trials: int) -> Finite:
    """mu_0 = 0, k_0 = k: the weights are ~ N(0, I)."""
    r, n = features.basis.shape
    return Finite(
        root=np.tile(np.eye(r), (trials, 1, 1)),
        mu=np.zeros((trials, outputs, n)),
        var=np.tile(features.diag, (trials, 1)),
        gain=np.zeros(trials),
    )


def condition(features: Features, regularisation: float, posterior: Finite, arm: Array, y: Array) -> Finite:
    """The posterior after seeing y (b x k) at arm (b), by Potter's square-root update."""
    xp = namespace(posterior.mu)
    L, mu, var, gain = posterior
    v = xp.vecmat(features.at(arm), L)  # L^T phi(x)
    s = xp.vecdot(v, v)  # k_{t-1}(x, x)
    root_d = xp.sqrt(regularisation + s)[:, None]
    q = xp.matvec(L, v / root_d)
    k = features.over_arms(q)  # k_{t-1}(., x) / sqrt(d), over all arms
    error = (y - at(mu, arm)) / root_d
    shrunk = v / (-xp.sqrt(regularisation) - root_d)  # = -v (1 - sqrt(lambda / d)) sqrt(d) / s, and right at s = 0
    # Sums are taken into their first term: large arrays that come and go cost more than the arithmetic.
    root = xp.einsum("bi,bj->bij", q, shrunk)
    root += L
    mean = xp.einsum("bk,bn->bkn", error, k)
    mean += mu
    return Finite(root, mean, xp.maximum(var - k * k, 0.0), gain + 0.5 * xp.log1p(s / regularisation))


@dataclass(eq=False, slots=True)
class Belief:
    """What an exploration sees of the posterior of k outputs."""

    mean: Array  # (trials, outputs, arms)
    _var: Array  # (trials, arms): the outputs share it
    _root: Array
    _features: Features

    @property
    def std(self) -> Array:
        """sigma over the arms: (trials, 1, arms)."""
        return namespace(self._var).sqrt(self._var)[:, None, :]

    def correlated(self, z: Array) -> Array:
        """Standard normal z (trials, outputs, rank) -> functions ~ N(0, k_t) over the arms."""
        xp = namespace(z)
        return self._features.over_arms(xp.matvec(self._root[:, None], z))


def belief(features: Features, posterior: Finite, outputs: slice) -> Belief:
    return Belief(posterior.mu[:, outputs], posterior.var, posterior.root, features)


def covariance(features: Features, posterior: Finite) -> Array:
    """k_t(x, x') over all pairs of arms: (trials, n, n)."""
    xp = namespace(posterior.root)
    half = features.phi @ posterior.root
    return half @ xp.matrix_transpose(half)
