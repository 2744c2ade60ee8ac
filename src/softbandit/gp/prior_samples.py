"""Samples of a Gaussian process's prior, as functions that can be evaluated and differentiated anywhere.

A stationary kernel is the Fourier transform of its spectral density. With frequencies omega drawn from that,

    f(x) = sum_j (a_j cos(omega_j . x) + b_j sin(omega_j . x)) / sqrt(M),   a, b ~ N(0, 1)
         = sum_j c_j cos(omega_j . x - phase_j) / sqrt(M),   c = |(a, b)|,  phase = its angle

has mean 0 and, on average over omega, covariance k; the covariance of one draw of M
frequencies is off by O(1 / sqrt(M)). A linear kernel's sample x . w is exact.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from softbandit.backend import Floats

FREQUENCIES = 512  # M. The covariance of a path is within about 2 / sqrt(M) of k


@dataclass(frozen=True, eq=False)
class Path:
    """A function on R^d."""

    value: Callable[[Floats], Floats]  # at the points X (n, d): (n,)
    gradient: Callable[[Floats, Floats], Floats]  # X, u -> u_i times the gradient at x_i: (n, d)

    def __call__(self, X: Floats) -> Floats:
        return self.value(X)


def fourier_path(omega: Floats, variance: float, rng: np.random.Generator, scale: float) -> Path:
    """Draw c and phase for frequencies omega (M, d); the variance at a point is scale^2 times the given one."""
    M = len(omega)
    a, b = scale * np.sqrt(variance / M) * rng.standard_normal((2, M))
    c, phase = np.hypot(a, b), np.arctan2(b, a)

    def value(X: Floats) -> Floats:
        return np.asarray(np.cos(X @ omega.T - phase) @ c)

    def gradient(X: Floats, u: Floats) -> Floats:
        slope = -np.sin(X @ omega.T - phase) * c
        return np.asarray((u[:, None] * slope) @ omega)

    return Path(value, gradient)
