"""Information gain: how much T looks at the arms can tell, 1/2 ln det(I + K_T / lambda).

The maximum gamma_T is over multisets of T arms, since an arm may be played again. It is
NP-hard to find and easy to enclose: a greedy choice is within 1 - 1/e of it, and every
design comes with a bound on what any other could add.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softbandit import validation
from softbandit.backend.shapes import Floats
from softbandit.gp import weight_space
from softbandit.gp.kernel import Kernel, Rate
from softbandit.gp.pivoted_cholesky import Features

SUBMODULAR = 1 - math.exp(-1)  # greedy is at least this share of the maximum


@dataclass(frozen=True, eq=False)
class MaximumGain:
    """gamma_t enclosed, for several t."""

    rounds: NDArray[np.int64]  # t
    lower: Floats  # what the greedy choice of t arms gains
    upper: Floats  # what no choice of t arms exceeds
    arms: NDArray[np.int64]  # the greedy choice, one arm a step


def realised_gain(features: Features, arms: NDArray[np.int64], regularisation: float) -> Floats:
    """1/2 ln det(I + K_t / lambda) after each round t of a run: (T,), or (trials, T).

    >>> from softbandit.gp.kernels import Linear
    >>> from softbandit.gp.pivoted_cholesky import features
    >>> phi = features(Linear(), np.eye(2))
    >>> realised_gain(phi, np.array([0, 1, 1]), 1.0) / math.log(2)
    array([0.5       , 1.        , 1.29248125])
    """
    validation.positive("regularisation", regularisation)
    runs = np.atleast_2d(arms)
    played, runs = np.unique(runs, return_inverse=True)
    seen = replace(features, basis=features.basis[:, played], diag=features.diag[played])
    state = weight_space.prior(seen, outputs=0, trials=len(runs))
    gains = np.empty(runs.shape)
    for t in range(runs.shape[1]):
        state = weight_space.condition(seen, regularisation, state, runs[:, t], np.empty((len(runs), 0)))
        gains[:, t] = state.gain
    return gains.reshape(np.shape(arms))


def greedy_gain(features: Features, rounds: int, regularisation: float, steps: int | None = None) -> MaximumGain:
    """Enclose gamma_t along a greedy choice: step after step, the arm of largest variance.

    One look a step gives every t up to `rounds`, at O(n r) each. With fewer `steps`, each
    places several looks at once, which is quick for a long horizon and nearly as tight.

    With one look a step, submodularity gives gamma_t <= greedy / (1 - 1/e). Any design gives
    more: F(c) = 1/2 ln det(I + Phi^T diag(c) Phi / lambda) is concave in the counts c, with
    derivative sigma^2(x) / 2 lambda at arm x, so no counts with the same sum t have more than
    F(c) + (t max sigma^2 - sum_x c_x sigma^2(x)) / 2 lambda. The smaller bound is taken.
    """
    T, lam = validation.whole("rounds", rounds, least=1), validation.positive("regularisation", regularisation)
    count = T if steps is None else min(T, validation.whole("steps", steps, least=1))
    t = np.linspace(0, T, count + 1).round().astype(np.int64)
    looks = np.diff(t)
    state = weight_space.prior(features, outputs=0, trials=1)
    arms, lower, room = np.empty(count, dtype=np.int64), np.empty(count), np.empty(count)
    for i in range(count):
        arms[i] = state.var[0].argmax()
        # Several looks at one arm are one look with less noise.
        state = weight_space.condition(features, lam / looks[i], state, arms[i : i + 1], np.empty((1, 0)))
        lower[i] = state.gain[0]
        # sum_x c_x sigma^2(x) / lambda = tr(I - U^T U)
        spent = features.rank - float(np.vdot(state.root, state.root))
        room[i] = (t[i + 1] * float(state.var[0].max()) / lam - spent) / 2
    upper = lower + np.maximum(room, 0.0)
    if count == T:
        upper = np.minimum(upper, lower / SUBMODULAR)
    return MaximumGain(t[1:], lower, upper + _missed(features, t[1:], lam), arms)


def spectral_gain(features: Features, rounds: int | NDArray[np.int64], regularisation: float) -> Floats:
    """An upper bound on gamma_T from the spectrum of the kernel matrix on the arms, for each T given.

    T looks are a design M = diag(counts) of trace T, and 1/2 ln det(I + K M / lambda) over all
    positive semi-definite M of that trace is largest where M has K's eigenvectors and its
    eigenvalues fill up to a level, m_s = [w - lambda / kappa_s]_+. Where that is smaller, the
    bound by the rank r and the largest k(x, x) is given: r/2 ln(1 + T k / (r lambda)).
    """
    lam = validation.positive("regularisation", regularisation)
    T = np.array([validation.whole("rounds", t, least=0) for t in np.atleast_1d(rounds)])
    kappa = np.asarray(np.linalg.eigvalsh(features.phi.T @ features.phi)[::-1], dtype=np.float64)
    cost = lam / kappa[kappa > 0]  # ascending: the level at which a direction begins to pay
    filled = np.array([_fill(cost, float(t)) for t in T])
    r = max(features.rank, 1)
    by_rank = r / 2 * np.log1p(T * features.diag.max() / (r * lam))
    return np.asarray(np.minimum(filled, by_rank) + _missed(features, T, lam))


def _fill(cost: Floats, total: float) -> float:
    """1/2 sum_s ln(1 + m_s / cost_s) at its largest, over m >= 0 with the given sum."""
    level = (total + np.cumsum(cost)) / np.arange(1, len(cost) + 1)
    k = int(np.sum(level > cost))  # directions that pay
    return 0.5 * float(np.sum(np.log(level[k - 1] / cost[:k]))) if k else 0.0


def _missed(features: Features, rounds: NDArray[np.int64], lam: float) -> Floats:
    """What 1/2 ln det can lack where K is replaced by Phi Phi^T: half the trace of the rest."""
    return np.asarray(rounds * features.residual / (2 * lam))


def gain_rate(kernel: Kernel, dimension: int) -> Rate:
    """The paper's rate of gamma_t on a compact convex set in that many dimensions (section 2).

    >>> from softbandit.gp.kernels import Matern
    >>> print(gain_rate(Matern(0.2, nu=1.5), 2))
    O(t^0.667 ln t)
    """
    return kernel.gain_rate(validation.whole("dimension", dimension, least=1))
