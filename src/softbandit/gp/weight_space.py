"""The posterior over finite arms, in weight space, with a square root of the covariance.

| symbol | meaning | shape |
|---|---|---|
| Phi | features of the arms, K = Phi Phi^T | n x r |
| U | square root of the weights' covariance U^T U, so k_t(x, x') = (U phi(x)).(U phi(x')) | b x r x r |
| mu, var | posterior mean of each output and their common variance, over the arms | b x k x n, b x n |
| mean | posterior mean of each output's weights, mu = Phi mean | b x k x r |
| gain | realised information gain, 1/2 ln det(I + K_t / lambda) | b |

for n arms, rank r, b independent trials, and k outputs (reward and costs) that share a
kernel and lambda. A round costs O(n r + r^2) a trial, whatever its number, and gives
mu_t and k_t of the paper's equations (mu) and (sigma) up to rounding. Where functions are
drawn and nothing else is asked for, the weights alone are kept: O(r^2) to learn, and one
pass over Phi to draw.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from softbandit.backend.namespace import at_arm, namespace
from softbandit.backend.shapes import Array
from softbandit.gp.pivoted_cholesky import Features


class Finite(NamedTuple):
    """The posterior of k outputs over the arms, for b trials."""

    root: Array  # U
    mu: Array
    var: Array
    gain: Array


class Weights(NamedTuple):
    """The posterior of their weights, from which functions are drawn."""

    root: Array  # U
    mean: Array
    gain: Array


Posterior: TypeAlias = Finite | Weights
Kind = TypeVar("Kind", Finite, Weights, Posterior)


def prior(features: Features, outputs: int, trials: int) -> Finite:
    """mu_0 = 0, k_0 = k: the weights are ~ N(0, I)."""
    root, _, gain = prior_of_weights(features, outputs, trials)
    mu = np.zeros((trials, outputs, len(features.diag)))
    return Finite(root, mu, np.tile(features.diag, (trials, 1)), gain)


def prior_of_weights(features: Features, outputs: int, trials: int) -> Weights:
    r = features.rank
    return Weights(np.tile(np.eye(r), (trials, 1, 1)), np.zeros((trials, outputs, r)), np.zeros(trials))


def condition(features: Features, regularisation: float, posterior: Kind, arm: Array, y: Array) -> Kind:
    """The posterior after seeing y (b x k) at arm (b), by Potter's square-root update."""
    xp = namespace(posterior.root)
    U, phi = posterior.root, features.at(arm)
    v = xp.matvec(U, phi)
    s = xp.vecdot(v, v)  # k_{t-1}(x, x)
    root_d = xp.sqrt(regularisation + s)[:, None]
    q = xp.vecmat(v / root_d, U)  # U^T v / sqrt(d)
    shrunk = v / (-xp.sqrt(regularisation) - root_d)  # = -v (1 - sqrt(lambda / d)) sqrt(d) / s, and right at s = 0
    root = _plus_outer(U, shrunk, q)
    gain = posterior.gain + 0.5 * xp.log1p(s / regularisation)
    if isinstance(posterior, Weights):
        error = (y - xp.matvec(posterior.mean, phi)) / root_d
        return Weights(root, _plus_outer(posterior.mean, error, q), gain)
    k = features.over_arms(q)  # k_{t-1}(., x) / sqrt(d), over all arms
    error = (y - at(posterior.mu, arm)) / root_d
    return Finite(root, _plus_outer(posterior.mu, error, k), xp.maximum(posterior.var - k * k, 0.0), gain)


def _plus_outer(x: Array, a: Array, b: Array) -> Array:
    """x + a b^T of each trial."""
    # Summed into its first term: large arrays that come and go cost more than the arithmetic.
    total = namespace(x).einsum("bi,bj->bij", a, b)
    total += x
    return total


def mean(features: Features, posterior: Posterior) -> Array:
    """mu, over the arms: (trials, outputs, n)."""
    return posterior.mu if isinstance(posterior, Finite) else features.over_arms(posterior.mean)


def variance(features: Features, posterior: Posterior) -> Array:
    """k_t(x, x) over the arms: (trials, n)."""
    if isinstance(posterior, Finite):
        return posterior.var
    half = over_roots(features, posterior)
    return namespace(half).vecdot(half, half)


def covariance(features: Features, posterior: Posterior) -> Array:
    """k_t(x, x') over all pairs of arms: (trials, n, n)."""
    half = over_roots(features, posterior)
    return half @ namespace(half).matrix_transpose(half)


def over_roots(features: Features, posterior: Posterior) -> Array:
    """U phi(x) of each arm: (trials, n, r)."""
    return features.phi @ namespace(posterior.root).matrix_transpose(posterior.root)


@dataclass(frozen=True, eq=False, slots=True)
class Belief:
    """What an exploration sees of the posterior of k outputs."""

    _features: Features
    _posterior: Posterior
    _outputs: slice

    @property
    def mean(self) -> Array:
        """mu over the arms: (trials, outputs, arms)."""
        return mean(self._features, self._posterior)[:, self._outputs]

    @property
    def std(self) -> Array:
        """sigma over the arms, which the outputs share: (trials, 1, arms)."""
        var = variance(self._features, self._posterior)
        return namespace(var).sqrt(var)[:, None, :]

    def correlated(self, z: Array) -> Array:
        """Standard normal z (trials, outputs, rank) -> functions ~ N(0, k_t) over the arms."""
        return self._features.over_arms(z @ self._posterior.root)

    def sample(self, z: Array) -> Array:
        """mean + correlated(z), in one pass over the features."""
        if isinstance(self._posterior, Finite):
            return self.mean + self.correlated(z)
        return self._features.over_arms(self._posterior.mean[:, self._outputs] + z @ self._posterior.root)
