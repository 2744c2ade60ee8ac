"""Information gain of T observations at the arms, 1/2 ln det(I + K_T / lambda).

The maximum gamma_T is over multisets of T arms, since an arm may be played again. It is
NP-hard to compute and easy to bound: a greedy choice has at least 1 - 1/e of it, and every
design yields an upper bound for all others.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from softbandit import validation
from softbandit.backend import Floats, Ints
from softbandit.errors import ArgumentError, Description
from softbandit.gp import Features, Kernel, Rate, checked_features, checked_kernel, weight_space

SUBMODULAR = 1 - math.exp(-1)  # the greedy choice has at least this share of the maximum


@dataclass(frozen=True, eq=False)
class MaximumGain:
    """Lower and upper bounds on gamma_t, for several t."""

    rounds: Ints  # t
    lower: Floats  # the gain of the greedy choice of t arms
    upper: Floats
    arms: Ints  # the greedy choice, one arm per step


def realised_gain(features: Features, arms: Ints, regularisation: float) -> Floats:
    """Return 1/2 ln det(I + K_t / lambda) after each round t of a run: (T,), or (trials, T).

    >>> from softbandit.gp.kernels import Linear
    >>> from softbandit.gp.pivoted_cholesky import features
    >>> phi = features(Linear(), np.eye(2))
    >>> realised_gain(phi, np.array([0, 1, 1]), 1.0) / math.log(2)
    array([0.5       , 1.        , 1.29248125])
    """
    checked_features(features)
    regularisation = validation.positive("regularisation", regularisation)
    arms = validation.indices("arms", arms, len(features.diag))
    if arms.ndim not in (1, 2):
        raise ArgumentError.of("arms", "(T,) or (trials, T)", Description(f"shape {arms.shape}"), "Check the shape.")
    played, runs = np.unique(np.atleast_2d(arms), return_inverse=True)
    features = replace(features, basis=features.basis[:, played], diag=features.diag[played])
    state = weight_space.prior(features, outputs=0, trials=len(runs))
    gains = np.empty(runs.shape)
    for t in range(runs.shape[1]):
        state = weight_space.condition(features, regularisation, state, runs[:, t], np.empty((len(runs), 0)))
        gains[:, t] = state.gain
    return gains.reshape(np.shape(arms))


def greedy_gain(features: Features, rounds: int, regularisation: float, steps: int | None = None) -> MaximumGain:
    """Bound gamma_t by a greedy choice: in each step, the arm of largest variance.

    By default each step adds one observation, which bounds every t up to `rounds` at O(n r)
    each. With fewer `steps`, each adds several at once: fast for a long horizon, nearly as tight.

    With one observation per step, submodularity gives gamma_t <= greedy / (1 - 1/e). A second bound
    holds for any design: F(c) = 1/2 ln det(I + Phi^T diag(c) Phi / lambda) is concave in the counts c,
    with derivative sigma^2(x) / 2 lambda at arm x, so no counts with the same sum t have more than
    F(c) + (t max sigma^2 - sum_x c_x sigma^2(x)) / 2 lambda. The smaller bound is used.
    """
    T, lam = validation.whole("rounds", rounds, 1, 2**53), validation.positive("regularisation", regularisation)
    checked_features(features)
    count = T if steps is None else min(T, validation.whole("steps", steps, least=1))
    validation.affordable("rounds", count)
    t = np.linspace(0, T, count + 1).round().astype(np.int64)
    observations = np.diff(t)
    state = weight_space.prior(features, outputs=0, trials=1)
    arms, lower, gap = np.empty(count, dtype=np.int64), np.empty(count), np.empty(count)
    for i in range(count):
        arms[i] = state.var[0].argmax()
        # Several observations at one arm equal one with less noise.
        state = weight_space.condition(features, lam / observations[i], state, arms[i : i + 1], np.empty((1, 0)))
        lower[i] = state.gain[0]
        # sum_x c_x sigma^2(x) / lambda = tr(I - U^T U)
        trace = features.rank - float(np.vdot(state.root, state.root))
        gap[i] = (t[i + 1] * float(state.var[0].max()) / lam - trace) / 2
    upper = lower + np.maximum(gap, 0.0)
    if count == T:
        upper = np.minimum(upper, lower / SUBMODULAR)
    return MaximumGain(t[1:], lower, upper + _factorisation_error(features, t[1:], lam), arms)


def spectral_gain(features: Features, rounds: int | Ints, regularisation: float) -> Floats:
    """Return an upper bound on gamma_T from the spectrum of the kernel matrix on the arms, for each given T.

    T observations are a design M = diag(counts) of trace T. Over all positive semi-definite M of that
    trace, 1/2 ln det(I + K M / lambda) is largest if M has K's eigenvectors and the eigenvalues
    m_s = [w - lambda / kappa_s]_+ of water-filling. The bound by the rank r and the largest
    k(x, x), r/2 ln(1 + T k / (r lambda)), is returned if it is smaller.
    """
    lam = validation.positive("regularisation", regularisation)
    checked_features(features)
    T = np.atleast_1d(validation.indices("rounds", rounds, 2**53)).ravel()
    kappa = np.asarray(np.linalg.eigvalsh(features.phi.T @ features.phi)[::-1], dtype=np.float64)
    ground = lam / kappa[kappa > 0]  # ascending
    by_spectrum = np.array([water_filling(ground, float(t)) for t in T])
    r = max(features.rank, 1)
    by_rank = r / 2 * np.log1p(T * features.diag.max() / (r * lam))
    return np.asarray(np.minimum(by_spectrum, by_rank) + _factorisation_error(features, T, lam))


def water_filling(ground: Floats, total: float) -> float:
    """Return the largest 1/2 sum_s ln(1 + m_s / ground_s) over m >= 0 with the given sum; ground ascends."""
    level = (total + np.cumsum(ground)) / np.arange(1, len(ground) + 1)
    k = int(np.sum(level > ground))  # the number of positive m_s
    return 0.5 * float(np.sum(np.log(level[k - 1] / ground[:k]))) if k else 0.0


def _factorisation_error(features: Features, rounds: Ints, lam: float) -> Floats:
    """Return what 1/2 ln det loses at most by Phi Phi^T in place of K: half the trace of the residual."""
    return np.asarray(rounds * features.residual / (2 * lam))


def gain_rate(kernel: Kernel, dimension: int) -> Rate:
    """Return the paper's rate of gamma_t on a compact convex set in that many dimensions (section 2).

    >>> from softbandit.gp.kernels import Matern
    >>> print(gain_rate(Matern(0.2, nu=1.5), 2))
    O(t^0.667 ln t)
    """
    return checked_kernel("kernel", kernel).gain_rate(validation.whole("dimension", dimension, least=1, most=2**53))
