"""Samples of a Gaussian process's prior, as functions that can be evaluated and differentiated anywhere.

A stationary kernel is the Fourier transform of its spectral density. With frequencies omega drawn from that,

    f(x) = sum_j (a_j cos(omega_j . x) + b_j sin(omega_j . x)) / sqrt(M),   a, b ~ N(0, 1)
         = sum_j c_j cos(omega_j . x - phase_j) / sqrt(M),   c = |(a, b)|,  phase = its angle

has mean 0 and, on average over omega, covariance k; the covariance of one draw of M
frequencies is off by O(1 / sqrt(M)). A linear kernel's sample x . w is exact.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from softbandit.backend.shapes import Floats

FREQUENCIES = 512
"""M. The covariance of a path is within about 2 / sqrt(M) of k."""


class Path(Protocol):
    """A function on R^d."""

    def __call__(self, X: Floats) -> Floats:
        """Return its values (n,) at the points X (n, d)."""

    def gradient(self, X: Floats, u: Floats) -> Floats:
        """Return u_i times its gradient at x_i: (n, d)."""


@dataclass(frozen=True, eq=False)
class Waves:
    """sum_j c_j cos(omega_j . x - phase_j)"""

    omega: Floats  # (M, d)
    c: Floats  # (M,)
    phase: Floats

    @classmethod
    def sample(cls, omega: Floats, variance: float, rng: np.random.Generator, scale: float) -> "Waves":
        """Draw c and phase, so that the variance at a point is scale^2 times the given one."""
        M = len(omega)
        a, b = scale * np.sqrt(variance / M) * rng.standard_normal((2, M))
        return cls(omega, np.hypot(a, b), np.arctan2(b, a))

    def __call__(self, X: Floats) -> Floats:
        return np.asarray(np.cos(X @ self.omega.T - self.phase) @ self.c)

    def gradient(self, X: Floats, u: Floats) -> Floats:
        slope = -np.sin(X @ self.omega.T - self.phase) * self.c
        return np.asarray((u[:, None] * slope) @ self.omega)


@dataclass(frozen=True, eq=False)
class Line:
    """x . w"""

    w: Floats

    def __call__(self, X: Floats) -> Floats:
        return np.asarray(X @ self.w)

    def gradient(self, X: Floats, u: Floats) -> Floats:
        return np.outer(u, self.w)


@dataclass(frozen=True, eq=False)
class PathSum:
    """The sum of two paths."""

    left: Path
    right: Path

    def __call__(self, X: Floats) -> Floats:
        return self.left(X) + self.right(X)

    def gradient(self, X: Floats, u: Floats) -> Floats:
        return self.left.gradient(X, u) + self.right.gradient(X, u)
