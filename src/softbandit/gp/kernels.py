"""Covariance functions k(x, x'): called as kernel(X, Y), with kernel.diag(X) for k(x, x).

Points are rows. Kernels are frozen values; they add, multiply, and scale by a number:
`0.5 * SquaredExponential(0.2) + 0.5 * Linear()`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend.shapes import Floats
from softbandit.errors import Description, KernelError
from softbandit.gp.distances import radial_gradient, squared_distance

SYMMETRY_TOLERANCE = 1e-10  # of a tabular matrix, relative to its largest entry
EIGENVALUE_TOLERANCE = 1e-10  # how negative rounding may make an eigenvalue, relative to the largest


class Kernel(ABC):
    """A symmetric positive semi-definite function of two points."""

    @abstractmethod
    def __call__(self, X: Floats, Y: Floats) -> Floats:
        """The matrix k(x_i, y_j)."""

    @abstractmethod
    def diag(self, X: Floats) -> Floats:
        """The vector k(x_i, x_i), without the matrix."""

    def gradient(self, X: Floats, Y: Floats, W: Floats) -> Floats:
        """sum_j W_ij d k(x_i, y_j) / d x_i, (n, d): all derivatives that an estimate needs, already weighted.

        Not every kernel has one; where it is missing, a search on a continuous domain does without.
        """
        raise KernelError.of("kernel", "one with a gradient", self, "Give it `gradient` and `diag_gradient`.")

    def diag_gradient(self, X: Floats) -> Floats:
        """d k(x_i, x_i) / d x_i, (n, d)."""
        raise KernelError.of("kernel", "one with a gradient", self, "Give it `gradient` and `diag_gradient`.")

    def __add__(self, other: "Kernel") -> "Sum":
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: "Kernel | float") -> "Product | Scaled":
        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, other)

    __rmul__ = __mul__

    def rescaled(self, arms: Any) -> "Kernel":
        """This kernel divided by its largest k(x, x) on the arms, so that k(x, x) <= 1 there.

        The norm of a function grows by the square root of that factor: bounds on norms
        (`reward_bound`, `cost_bound`) must be given for the rescaled kernel.

        >>> kernel = Linear().rescaled([[2.0], [4.0]])
        >>> kernel.diag(np.array([[2.0], [4.0]]))
        array([0.25, 1.  ])
        """
        largest = float(self.diag(validation.points("arms", arms)).max())
        return self if largest <= 0 else Scaled(self, 1.0 / largest)


@dataclass(frozen=True)
class SquaredExponential(Kernel):
    """k(x, y) = exp(-r^2 / 2),  r^2 = sum_j ((x_j - y_j) / l_j)^2.

    Parameters
    ----------
    lengthscale
        l: one number, or one for each dimension.
    """

    lengthscale: float | Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", _lengthscale(self.lengthscale))

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        return np.exp(-0.5 * squared_distance(X, Y, self.lengthscale))

    def diag(self, X: Floats) -> Floats:
        return np.ones(len(X))

    def gradient(self, X: Floats, Y: Floats, W: Floats) -> Floats:
        return radial_gradient(X, Y, -W * self(X, Y), self.lengthscale)

    def diag_gradient(self, X: Floats) -> Floats:
        return np.zeros_like(X)


@dataclass(frozen=True)
class Matern(Kernel):
    """k(x, y) = p(s) exp(-s),  s = sqrt(2 nu) r,  r as for SquaredExponential.

    p(s) is 1 for nu = 1/2,  1 + s for nu = 3/2,  1 + s + s^2 / 3 for nu = 5/2.
    """

    lengthscale: float | Sequence[float]
    nu: float = 2.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", _lengthscale(self.lengthscale))
        if self.nu not in (0.5, 1.5, 2.5):
            raise KernelError.of("nu", "0.5, 1.5 or 2.5", self.nu, "Those have a closed form; choose one.")

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        s = np.sqrt(2 * self.nu * squared_distance(X, Y, self.lengthscale))
        p = 1.0 if self.nu == 0.5 else 1 + s if self.nu == 1.5 else 1 + s + s * s / 3
        return p * np.exp(-s)

    def diag(self, X: Floats) -> Floats:
        return np.ones(len(X))

    def gradient(self, X: Floats, Y: Floats, W: Floats) -> Floats:
        """With k'(s) / s = -q(s) exp(-s): q is 1 / s, 1 and (1 + s) / 3. At its cusp, nu = 1/2 has subgradient 0."""
        s = np.sqrt(2 * self.nu * squared_distance(X, Y, self.lengthscale))
        cusp = np.where(s > 0, 1 / np.where(s > 0, s, 1.0), 0.0)
        q = cusp if self.nu == 0.5 else 1.0 if self.nu == 1.5 else (1 + s) / 3
        return radial_gradient(X, Y, -2 * self.nu * W * q * np.exp(-s), self.lengthscale)

    def diag_gradient(self, X: Floats) -> Floats:
        return np.zeros_like(X)


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
            raise KernelError.of(
                "matrix", "a square matrix", Description(f"shape {matrix.shape}"), "Pass the n x n covariance."
            )
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
        return np.asarray(self.matrix[np.ix_(self._index(X), self._index(Y))])

    def diag(self, X: Floats) -> Floats:
        index = self._index(X)
        return np.asarray(self.matrix[index, index])

    def _index(self, X: Floats) -> Any:
        n = len(self.matrix)
        index = X[:, 0].astype(np.intp)
        if X.shape[1] != 1 or np.any(index != X[:, 0]) or np.any((index < 0) | (index >= n)):
            remedy = f"With a Tabular kernel write arms = np.arange({n})[:, None]."
            raise KernelError.of("arms", f"one column of whole numbers from 0 to {n - 1}", X, remedy)
        return index


@dataclass(frozen=True)
class Sum(Kernel):
    """k(x, y) = left(x, y) + right(x, y)."""

    left: Kernel
    right: Kernel

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        return self.left(X, Y) + self.right(X, Y)

    def diag(self, X: Floats) -> Floats:
        return self.left.diag(X) + self.right.diag(X)

    def gradient(self, X: Floats, Y: Floats, W: Floats) -> Floats:
        return self.left.gradient(X, Y, W) + self.right.gradient(X, Y, W)

    def diag_gradient(self, X: Floats) -> Floats:
        return self.left.diag_gradient(X) + self.right.diag_gradient(X)


@dataclass(frozen=True)
class Product(Kernel):
    """k(x, y) = left(x, y) right(x, y)."""

    left: Kernel
    right: Kernel

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        return self.left(X, Y) * self.right(X, Y)

    def diag(self, X: Floats) -> Floats:
        return self.left.diag(X) * self.right.diag(X)

    def gradient(self, X: Floats, Y: Floats, W: Floats) -> Floats:
        return self.left.gradient(X, Y, W * self.right(X, Y)) + self.right.gradient(X, Y, W * self.left(X, Y))

    def diag_gradient(self, X: Floats) -> Floats:
        left, right = self.left.diag(X)[:, None], self.right.diag(X)[:, None]
        return self.left.diag_gradient(X) * right + left * self.right.diag_gradient(X)


@dataclass(frozen=True)
class Scaled(Kernel):
    """k(x, y) = scale kernel(x, y),  scale > 0."""

    kernel: Kernel
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", validation.positive("scale", self.scale))

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        return self.scale * self.kernel(X, Y)

    def diag(self, X: Floats) -> Floats:
        return self.scale * self.kernel.diag(X)

    def gradient(self, X: Floats, Y: Floats, W: Floats) -> Floats:
        return self.kernel.gradient(X, Y, self.scale * W)

    def diag_gradient(self, X: Floats) -> Floats:
        return self.scale * self.kernel.diag_gradient(X)


def _lengthscale(value: Any) -> float | tuple[float, ...]:
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
        return tuple(validation.positive(f"lengthscale[{j}]", v) for j, v in enumerate(value))
    return validation.positive("lengthscale", value)


def diagonal_limit(kernel: Kernel, arms: Floats) -> None:
    """Refuse a kernel with k(x, x) > 1 on the arms (the paper's Assumption 2)."""
    diag = kernel.diag(arms)
    worst = int(diag.argmax())
    if not diag[worst] <= 1 + 16 * math.ulp(1.0):
        remedy = "Use kernel.rescaled(arms), and give the norm bounds for the rescaled kernel."
        raise KernelError.of(
            "kernel", "k(x, x) <= 1 at every arm", Description(f"{diag[worst]:.6g} at arm {worst}"), remedy
        )
