"""Samples of a Gaussian process's prior, as functions that can be evaluated and differentiated anywhere.

A stationary kernel is the Fourier transform of a law of frequencies: with omega from it,

    f(x) = sum_j (a_j cos(omega_j . x) + b_j sin(omega_j . x)) / sqrt(M),   a, b ~ N(0, 1)
         = sum_j c_j cos(omega_j . x - phase_j) / sqrt(M),   c = |(a, b)|,  phase = its angle

has mean 0 and, on average over omega, covariance k; the covariance of one draw of M
frequencies is off by O(1 / sqrt(M)). A linear kernel's sample x . w is exact.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from softbandit.backend.shapes import Floats
from softbandit.errors import KernelError
from softbandit.gp.distances import scales_of
from softbandit.gp.kernels import Kernel, Linear, Matern, Product, Scaled, SquaredExponential, Sum

FREQUENCIES = 512
"""M. The covariance of a path is within about 2 / sqrt(M) of k."""

Generator = np.random.Generator


class Path(Protocol):
    """A function on R^d."""

    def __call__(self, X: Floats) -> Floats:
        """Its values (n,) at the points X (n, d)."""

    def gradient(self, X: Floats, u: Floats) -> Floats:
        """u_i times its gradient at x_i, (n, d)."""


@dataclass(frozen=True, eq=False)
class Waves:
    """sum_j c_j cos(omega_j . x - phase_j)"""

    omega: Floats  # (M, d)
    c: Floats  # (M,)
    phase: Floats

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
class Both:
    """The sum of two paths."""

    left: Path
    right: Path

    def __call__(self, X: Floats) -> Floats:
        return self.left(X) + self.right(X)

    def gradient(self, X: Floats, u: Floats) -> Floats:
        return self.left.gradient(X, u) + self.right.gradient(X, u)


def prior_path(kernel: Kernel, d: int, rng: Generator, scale: float = 1.0) -> Path:
    """A sample of GP(0, scale^2 k) on R^d.

    >>> path = prior_path(SquaredExponential(0.2), 1, np.random.default_rng(0))
    >>> path(np.zeros((3, 1))).shape
    (3,)
    """
    if isinstance(kernel, Scaled):
        return prior_path(kernel.kernel, d, rng, scale * float(np.sqrt(kernel.scale)))
    if isinstance(kernel, Sum):
        return Both(prior_path(kernel.left, d, rng, scale), prior_path(kernel.right, d, rng, scale))
    if isinstance(kernel, Linear):
        return Line(scale * rng.standard_normal(d))
    omega, size = frequencies(kernel, d, rng)
    a, b = scale * np.sqrt(size / FREQUENCIES) * rng.standard_normal((2, FREQUENCIES))
    return Waves(omega, np.hypot(a, b), np.arctan2(b, a))


def frequencies(kernel: Kernel, d: int, rng: Generator) -> tuple[Floats, float]:
    """Frequencies (M, d) from the law of a stationary kernel, and its k(x, x).

    ~ N(0, 1 / l^2) for a squared exponential, Student's t with 2 nu degrees of freedom for a
    Matern; those of a product of kernels are sums.
    """
    if isinstance(kernel, Scaled):
        omega, size = frequencies(kernel.kernel, d, rng)
        return omega, kernel.scale * size
    if isinstance(kernel, Product):
        (left, p), (right, q) = frequencies(kernel.left, d, rng), frequencies(kernel.right, d, rng)
        return left + right, p * q
    make = LAWS.get(type(kernel))
    if make is None:
        remedy = "Explore with 'ucb' or 'rand', which need no sample of the prior."
        raise KernelError.of("kernel", "one whose prior can be sampled anywhere", kernel, remedy)
    return make(kernel, rng.standard_normal((FREQUENCIES, d)), rng), 1.0


def _gaussian(kernel: Any, z: Floats, rng: Generator) -> Floats:
    return z / scales_of(kernel.lengthscale, z.shape[1])


def _student(kernel: Any, z: Floats, rng: Generator) -> Floats:
    chi2 = rng.chisquare(2 * kernel.nu, size=(len(z), 1))
    return np.asarray(z / scales_of(kernel.lengthscale, z.shape[1]) * np.sqrt(2 * kernel.nu / chi2))


LAWS: dict[type, Callable[[Any, Floats, Generator], Floats]] = {SquaredExponential: _gaussian, Matern: _student}
