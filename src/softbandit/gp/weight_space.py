"""The exact posterior over finite arms, in weight space, with a square root of the covariance.

| symbol | meaning | shape |
|---|---|---|
| Phi | features of the arms, K = Phi Phi^T | n x r |
| U | square root of the weights' covariance U^T U, so k_t(x, x') = (U phi(x)).(U phi(x')) | b x r x r |
| mu, var | posterior mean of each output and their common variance, over the arms | b x k x n, b x n |
| mean | posterior mean of each output's weights, mu = Phi mean | b x k x r |
| gain | realised information gain, 1/2 ln det(I + K_t / lambda) | b |

for n arms, rank r, b independent trials, and k outputs (reward and costs) that share a
kernel and lambda. Every round costs O(n r + r^2) per trial, and computes
mu_t and k_t of the paper's equations (mu) and (sigma) up to rounding. If functions are only
sampled, the posterior of the weights is enough: O(r^2) per update, and one pass over Phi per sample. While there are
fewer rounds t than features, the root may be kept as one term per round (low_rank_root.py): O(t r) per update.

Rounding costs mu and U a few units in the last place, but var more: it falls from k(x, x) to about
lambda / t, and keeps the rounding error of k(x, x), which is t / lambda times larger relative to it. So
`refreshed` computes var from U now and then.
"""

from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from softbandit.backend import (
    ArmIndex,
    Floats,
    OutputsPerArm,
    PerArm,
    PerOutput,
    PerTrial,
    at_arm,
    namespace,
    operations,
)
from softbandit.gp.low_rank_root import LowRankRoot
from softbandit.gp.pivoted_cholesky import Features

Root: TypeAlias = Floats | LowRankRoot  # (b, r, r)

REFRESH = 2**10  # rounds between those that compute var from U, at least
REFRESH_SHARE = 16  # ... and this many per feature, which keeps the cost below a sixteenth of that of the rounds


class ArmPosterior(NamedTuple):
    """The posterior of k outputs over the arms, for b trials."""

    root: Root  # U
    mu: OutputsPerArm
    var: PerArm
    gain: PerTrial


class WeightPosterior(NamedTuple):
    """The posterior of the weights of k outputs, from which functions are sampled."""

    root: Root  # U
    mean: Floats
    gain: PerTrial


Posterior: TypeAlias = ArmPosterior | WeightPosterior
Kind = TypeVar("Kind", ArmPosterior, WeightPosterior, Posterior)


def prior(features: Features, outputs: int, trials: int, in_terms: bool = False) -> ArmPosterior:
    """Return mu_0 = 0, k_0 = k: the weights are ~ N(0, I). A root in terms is for many features."""
    root, _, gain = weight_prior(features, outputs, trials, in_terms)
    mu = np.zeros((trials, outputs, len(features.diag)))
    return ArmPosterior(root, mu, np.tile(features.diag, (trials, 1)), gain)


def weight_prior(features: Features, outputs: int, trials: int, in_terms: bool = False) -> WeightPosterior:
    """Return the same prior, of the weights alone."""
    r = features.rank
    root = LowRankRoot.identity(trials, r) if in_terms else np.tile(np.eye(r), (trials, 1, 1))
    return WeightPosterior(root, np.zeros((trials, outputs, r)), np.zeros(trials))


def condition(features: Features, regularisation: float, posterior: Kind, arm: ArmIndex, y: PerOutput) -> Kind:
    """Return the posterior after observing y (b, k) at each trial's arm, by Potter's square-root update."""
    xp = namespace(posterior.gain)
    U, phi = posterior.root, features.phi[arm]
    v = _product(U, phi)
    s = xp.vecdot(v, v)  # k_{t-1}(x, x)
    root_d = xp.sqrt(regularisation + s)[:, None]
    q = _transposed_product(U, v / root_d)  # U^T v / sqrt(d)
    shrunk = v / (-xp.sqrt(regularisation) - root_d)  # = -v (1 - sqrt(lambda / d)) sqrt(d) / s, and correct at s = 0
    root = U.plus_outer(shrunk, q) if isinstance(U, LowRankRoot) else plus_outer(U, shrunk, q)
    gain = posterior.gain + 0.5 * xp.log1p(s / regularisation)
    if isinstance(posterior, WeightPosterior):
        error = (y - xp.matvec(posterior.mean, phi)) / root_d
        return WeightPosterior(root, plus_outer(posterior.mean, error, q), gain)
    k = features.over_arms(q)  # k_{t-1}(., x) / sqrt(d), over all arms
    error = (y - at_arm(posterior.mu, arm)) / root_d
    return ArmPosterior(root, plus_outer(posterior.mu, error, k), xp.maximum(posterior.var - k * k, 0.0), gain)


def _product(U: Root, x: Floats) -> Floats:
    """Return U x for x (b, r)."""
    return U.times(x[:, None])[:, 0] if isinstance(U, LowRankRoot) else namespace(U).matvec(U, x)


def _transposed_product(U: Root, x: Floats) -> Floats:
    """Return U^T x for x (b, r)."""
    return (x[:, None] @ U)[:, 0] if isinstance(U, LowRankRoot) else namespace(U).vecmat(x, U)


def refreshed(features: Features, posterior: Kind, t: int) -> Kind:
    """Return the posterior after round t, with var computed from the root if that is due."""
    if isinstance(posterior, WeightPosterior) or not features.rank:
        return posterior
    due = t % max(REFRESH, REFRESH_SHARE * features.rank) == 0  # long after a root in terms became a matrix
    var = operations(posterior.var).branch(due, lambda: _root_variance(features, posterior), lambda: posterior.var)
    return posterior._replace(var=var)


def _root_variance(features: Features, posterior: ArmPosterior) -> PerArm:
    """Return |U phi(x)|^2 over the arms: one row of U after another, which takes no more memory than var."""
    U = posterior.root
    assert not isinstance(U, LowRankRoot)

    def add_row(so_far: tuple[int, PerArm]) -> tuple[int, PerArm]:
        i, total = so_far
        return i + 1, total + features.over_arms(U[:, i]) ** 2

    none = 0, namespace(posterior.var).zeros_like(posterior.var)
    return operations(posterior.var).repeat_while(lambda so_far: so_far[0] < features.rank, add_row, none)[1]


def plus_outer(x: Floats, a: Floats, b: Floats) -> Floats:
    """Return x + a b^T for each trial."""
    # Added in place: allocating another large array would cost more than the arithmetic.
    total = namespace(x).einsum("bi,bj->bij", a, b)
    total += x
    return total


def mean(features: Features, posterior: Posterior) -> OutputsPerArm:
    """Return mu over the arms."""
    return posterior.mu if isinstance(posterior, ArmPosterior) else features.over_arms(posterior.mean)


def variance(features: Features, posterior: Posterior) -> PerArm:
    """Return k_t(x, x) over the arms."""
    if isinstance(posterior, ArmPosterior):
        return posterior.var
    half = root_times_features(features, posterior)
    return namespace(half).vecdot(half, half)


def deviation(features: Features, posterior: Posterior) -> PerArm:
    """Return sigma over the arms."""
    return namespace(posterior.gain).sqrt(variance(features, posterior))


def covariance(features: Features, posterior: Posterior, columns: slice = slice(None)) -> Floats:
    """Return k_t(x, x') for all x and some x': (b, n, columns)."""
    half = root_times_features(features, posterior)
    return half @ namespace(half).matrix_transpose(half[:, columns])


def root_times_features(features: Features, posterior: Posterior) -> Floats:
    """Return U phi(x) for each arm: (b, n, r)."""
    if isinstance(posterior.root, LowRankRoot):
        return posterior.root.times(features.phi)
    return features.phi @ namespace(posterior.root).matrix_transpose(posterior.root)
