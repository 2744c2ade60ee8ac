"""Squared exponential, Matern, linear and tabular kernels. kernel.py has their interface."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from softbandit import validation
from softbandit.backend import Floats, Ints
from softbandit.errors import Description, KernelError
from softbandit.gp.kernel import Kernel, Rate
from softbandit.gp.prior_samples import Path
from softbandit.gp.sklearn_kernels import from_sklearn as from_sklearn

FAR = 1e3  # of Matern's s: exp(-s) is 0 from 746 on
BLOCK = 2**15  # distances computed at a time, so that they stay in the cache
SYMMETRY_TOLERANCE = 1e-10  # of a tabular matrix, relative to its largest entry
EIGENVALUE_TOLERANCE = 1e-10  # how negative rounding may make an eigenvalue, relative to the largest


@dataclass(frozen=True)
class Radial(Kernel):
    """A function of r alone, r^2 = sum_j ((x_j - y_j) / l_j)^2, with k = 1 at r = 0."""

    lengthscale: float | Sequence[float]

    def __post_init__(self) -> None:
        value: Any = validation.plain("lengthscale", self.lengthscale)
        if isinstance(value, (tuple, np.ndarray)):
            scales = tuple(validation.positive(f"lengthscale[{j}]", entry) for j, entry in enumerate(value))
            if not scales:
                raise KernelError.of("lengthscale", "a number, or one per dimension", value, "Pass a positive number.")
            validation.store(self, lengthscale=scales)
        else:
            validation.store(self, lengthscale=validation.positive("lengthscale", value))

    @abstractmethod
    def slope(self, X: Floats, Y: Floats, factor: Floats | float) -> Floats:
        """Return the matrix of -k'(r) / r, times a factor."""

    def diag(self, X: Floats) -> Floats:
        return np.ones(len(X))

    def gradient(self, X: Floats, Y: Floats, W: Floats) -> Floats:
        """Sum over differences: a rough kernel's slope is largest where they are smallest."""
        slope = self.slope(X, Y, -W)
        columns = [
            np.einsum("ij,ij->i", slope, X[:, j, None] - Y[None, :, j]) / (scale * scale)
            for j, scale in enumerate(self._scales(X.shape[1]))
        ]
        return np.stack(columns, axis=1)

    def diag_gradient(self, X: Floats) -> Floats:
        return np.zeros_like(X)

    def parameters(self) -> tuple[float, ...]:
        return tuple(self.lengthscale) if isinstance(self.lengthscale, Sequence) else (self.lengthscale,)

    def parameter_units(self, spread: Floats) -> tuple[float | None, ...]:
        self._scales(len(spread))  # raises unless they match
        return tuple(map(float, spread)) if isinstance(self.lengthscale, Sequence) else (float(spread.max()),)

    def with_parameters(self, values: Sequence[float]) -> Self:
        return replace(self, lengthscale=tuple(values) if isinstance(self.lengthscale, Sequence) else values[0])

    def parameter_gradients(self, X: Floats, W: Floats) -> list[float]:
        """Use d k / d ln l_j = -k'(r) / r u_j, with u_j = ((x_j - y_j) / l_j)^2."""
        weighted = W * self.slope(X, X, 1.0)
        u = (((X[:, j, None] - X[None, :, j]) / scale) ** 2 for j, scale in enumerate(self._scales(X.shape[1])))
        gradients = [float((weighted * u_j).sum()) for u_j in u]
        return gradients if isinstance(self.lengthscale, Sequence) else [float(sum(gradients))]

    def _scales(self, d: int) -> tuple[float, ...]:
        """Return d length scales, or raise if several are given and not d."""
        scales = self.parameters() if isinstance(self.lengthscale, Sequence) else (self.lengthscale,) * d
        if len(scales) != d:
            remedy = f"Pass one length scale, or {d} of them."
            raise KernelError.of("lengthscale", f"one number, or one for each of {d} dimensions", scales, remedy)
        return scales

    def _squared_distance(self, X: Floats, Y: Floats) -> Floats:
        """Return r^2 (n, m), from differences: symmetric, and zero on the diagonal, to the bit."""
        r2, scales = np.zeros((len(X), len(Y))), self._scales(X.shape[1])
        step = max(1, BLOCK // max(1, len(Y)))
        for first in range(0, len(X), step):
            rows, sums = X[first : first + step], r2[first : first + step]
            for j, scale in enumerate(scales):
                difference = rows[:, j, None] - Y[None, :, j]
                with np.errstate(over="ignore"):  # an infinite distance is as good as a very large one
                    difference /= scale
                    difference *= difference
                    sums += difference
        return r2


@dataclass(frozen=True)
class SquaredExponential(Radial):
    """k(x, y) = exp(-r^2 / 2),  r^2 = sum_j ((x_j - y_j) / l_j)^2.

    Parameters
    ----------
    lengthscale
        l: one number, or one per dimension.
    """

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        return np.exp(-0.5 * self._squared_distance(X, Y))

    def slope(self, X: Floats, Y: Floats, factor: Floats | float) -> Floats:
        return factor * self(X, Y)

    def frequencies(self, count: int, d: int, rng: np.random.Generator) -> tuple[Floats, float]:
        """Return frequencies ~ N(0, 1 / l^2)."""
        return rng.standard_normal((count, d)) / self._scales(d), 1.0

    def gain_rate(self, d: int) -> Rate:
        return Rate(f"(ln t)^{d + 1}", 0.0)


@dataclass(frozen=True)
class Matern(Radial):
    """k(x, y) = p(s) exp(-s),  s = sqrt(2 nu) r,  r as for SquaredExponential.

    p(s) is 1 for nu = 1/2,  1 + s for nu = 3/2,  1 + s + s^2 / 3 for nu = 5/2.
    """

    nu: float = 2.5

    def __post_init__(self) -> None:
        super().__post_init__()
        nu = validation.number("nu", self.nu, KernelError)
        if nu not in (0.5, 1.5, 2.5):
            raise KernelError.of("nu", "0.5, 1.5 or 2.5", self.nu, "Those have a closed form; choose one.")
        validation.store(self, nu=nu)

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        s = self._scaled_distance(X, Y)
        p = 1.0 if self.nu == 0.5 else 1 + s if self.nu == 1.5 else 1 + s + s * s / 3
        return p * np.exp(-s)

    def slope(self, X: Floats, Y: Floats, factor: Floats | float) -> Floats:
        """Return 2 nu q exp(-s), with k'(s) / s = -q exp(-s). At its cusp, nu = 1/2 has subgradient 0."""
        s = self._scaled_distance(X, Y)
        if self.nu == 0.5:
            q = np.where(s > 0, 1 / np.where(s > 0, s, 1.0), 0.0)
        else:
            q = np.ones_like(s) if self.nu == 1.5 else (1 + s) / 3
        return 2 * self.nu * factor * q * np.exp(-s)

    def _scaled_distance(self, X: Floats, Y: Floats) -> Floats:
        """Return s. Beyond FAR, k is 0 in float64, and p(s) could overflow."""
        return np.minimum(np.sqrt(2 * self.nu * self._squared_distance(X, Y)), FAR)

    def frequencies(self, count: int, d: int, rng: np.random.Generator) -> tuple[Floats, float]:
        """Return frequencies ~ Student's t with 2 nu degrees of freedom, divided by l."""
        z, chi2 = rng.standard_normal((count, d)), rng.chisquare(2 * self.nu, size=(count, 1))
        return z / self._scales(d) * np.sqrt(2 * self.nu / chi2), 1.0

    def gain_rate(self, d: int) -> Rate:
        degree = d * (d + 1) / (2 * self.nu + d * (d + 1))
        return Rate(f"t^{degree:.3f} ln t", degree)


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, y) = x . y, the kernel of linear bandits. k(x, x) <= 1 needs |x| <= 1."""

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        return np.asarray(X @ Y.T)

    def diag(self, X: Floats) -> Floats:
        return np.asarray(np.vecdot(X, X))

    def gradient(self, X: Floats, Y: Floats, W: Floats) -> Floats:
        return np.asarray(W @ Y)

    def diag_gradient(self, X: Floats) -> Floats:
        return 2 * X

    def prior_sample(self, d: int, rng: np.random.Generator, scale: float = 1.0) -> Path:
        w = scale * rng.standard_normal(d)
        return Path(lambda X: np.asarray(X @ w), lambda X, u: np.outer(u, w))

    def gain_rate(self, d: int) -> Rate:
        return Rate(f"{d} ln t", 0.0)


@dataclass(frozen=True, eq=False)
class Tabular(Kernel):
    """k(i, j) = matrix[i, j]: a given covariance over the arms, which are then 0, 1, ..., n - 1.

    >>> kernel = Tabular([[1.0, 0.5], [0.5, 1.0]])
    >>> kernel(np.array([[0.0]]), np.array([[0.0], [1.0]]))
    array([[1. , 0.5]])
    """

    matrix: Floats

    def __post_init__(self) -> None:
        matrix = validation.points("matrix", self.matrix)
        if matrix.shape[0] != matrix.shape[1]:
            got = Description(f"shape {matrix.shape}")
            raise KernelError.of("matrix", "a square matrix", got, "Pass the n x n covariance.")
        largest = np.abs(matrix).max()
        i, j = np.unravel_index(np.abs(matrix - matrix.T).argmax(), matrix.shape)
        if abs(matrix[i, j] - matrix[j, i]) > SYMMETRY_TOLERANCE * largest:
            got = Description(f"{matrix[i, j]:g} at ({i}, {j}) and {matrix[j, i]:g} at ({j}, {i})")
            raise KernelError.of("matrix", "a symmetric matrix", got, "Pass (M + M.T) / 2 if that is what you mean.")
        least = np.linalg.eigvalsh(matrix / (largest or 1.0))[0]
        if least < -EIGENVALUE_TOLERANCE * len(matrix):
            got = Description(f"an eigenvalue of {least * largest:.3g}")
            remedy = "A covariance has none below 0; add that much to the diagonal, or check the data."
            raise KernelError.of("matrix", "a positive semi-definite matrix", got, remedy)
        object.__setattr__(self, "matrix", matrix)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tabular) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash(self.matrix.tobytes())

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        return self.matrix[np.ix_(self._index(X), self._index(Y))]

    def diag(self, X: Floats) -> Floats:
        index = self._index(X)
        return np.asarray(self.matrix[index, index])

    def _index(self, X: Floats) -> Ints:
        n = len(self.matrix)
        index = X[:, 0].astype(np.int64)
        if X.shape[1] != 1 or np.any(index != X[:, 0]) or np.any((index < 0) | (index >= n)):
            remedy = f"With a Tabular kernel write arms = np.arange({n})[:, None]."
            raise KernelError.of("arms", f"one column of whole numbers from 0 to {n - 1}", X, remedy)
        return index
