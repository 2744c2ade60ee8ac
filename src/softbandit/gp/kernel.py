"""The interface of a kernel, a covariance function k(x, x'), and sums, products and multiples of kernels.

Points are rows. Kernels are frozen values; they add, multiply, and scale by a number:
`0.5 * SquaredExponential(0.2) + 0.5 * Linear()`.

A user's kernel must define `__call__` and `diag`. Further methods are optional:

| define | to |
|---|---|
| `gradient`, `diag_gradient` | search a continuous domain with derivatives |
| `frequencies` | explore a continuous domain by Thompson sampling |
| `parameters`, `with_parameters` | learn the parameters from data by `fit` |
| `parameter_units`, `parameter_gradients` | bound the length scales relative to the points, and fit faster |
| `gain_rate` | state the rate of the information gain |
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from softbandit import validation
from softbandit.backend import Floats
from softbandit.errors import Description, KernelError
from softbandit.gp.prior_samples import FREQUENCIES, Path, fourier_path

STEP = 1e-5  # step in ln(parameter) of the differences: errors of STEP^2 and of rounding / STEP, 1e-10 and 1e-11 of k
DEEPEST = 150  # kernels inside kernels: Python's recursion and an agent's file hold as many


class Rate(NamedTuple):
    """The growth of gamma_t, up to a constant factor."""

    formula: str
    degree: float  # of t, ignoring logarithms: the bounds are sublinear if it is below 1/2

    def __str__(self) -> str:
        return f"O({self.formula})"


class Kernel(ABC):
    """A symmetric positive semi-definite function of two points."""

    _depth: ClassVar[int] = 1  # of kernels inside kernels; a combination has its own

    @abstractmethod
    def __call__(self, X: Floats, Y: Floats) -> Floats:
        """Return the matrix k(x_i, y_j)."""

    @abstractmethod
    def diag(self, X: Floats) -> Floats:
        """Return the vector k(x_i, x_i), without computing the matrix."""

    def gradient(self, X: Floats, Y: Floats, W: Floats) -> Floats:
        """Return sum_j W_ij d k(x_i, y_j) / d x_i: (n, d).

        If a kernel does not define it, continuous domains are searched without derivatives.
        """
        raise KernelError.of("kernel", "one with a gradient", self, "Define `gradient` and `diag_gradient`.")

    def diag_gradient(self, X: Floats) -> Floats:
        """Return d k(x_i, x_i) / d x_i: (n, d)."""
        raise KernelError.of("kernel", "one with a gradient", self, "Define `gradient` and `diag_gradient`.")

    def frequencies(self, count: int, d: int, rng: np.random.Generator) -> tuple[Floats, float]:
        """Return frequencies (count, d) drawn from a stationary kernel's spectral density, and k(x, x)."""
        remedy = "Define `frequencies`, or explore with 'ucb' or 'rand', which need no sample of the prior."
        raise KernelError.of("kernel", "one whose prior can be sampled anywhere", self, remedy)

    def prior_sample(self, d: int, rng: np.random.Generator, scale: float = 1.0) -> Path:
        """Return a sample of GP(0, scale^2 k) on R^d: random Fourier features, unless overridden.

        >>> from softbandit.gp.kernels import SquaredExponential
        >>> path = SquaredExponential(0.2).prior_sample(1, np.random.default_rng(0))
        >>> path(np.zeros((3, 1))).shape
        (3,)
        """
        omega, variance = self.frequencies(FREQUENCIES, d, rng)
        return fourier_path(omega, variance, rng, scale)

    def parameters(self) -> tuple[float, ...]:
        """Return the parameters that `fit` learns, all positive. None by default."""
        return ()

    def parameter_units(self, spread: Floats) -> tuple[float | None, ...]:
        """Return the unit of each parameter, given the spread (d,) of the points in each dimension.

        The unit of a length scale is a spread: its bounds and prior are relative to that. None is for a
        parameter without a unit, such as a factor, which is learned between 0.001 and 1000.
        """
        return (None,) * len(self.parameters())

    def with_parameters(self, values: Sequence[float]) -> "Kernel":
        """Return this kernel with other values of `parameters`, in the same order."""
        if values:
            raise KernelError.of("kernel", "one with `with_parameters`", self, "Define it beside `parameters`.")
        return self

    def parameter_gradients(self, X: Floats, W: Floats) -> list[float]:
        """Return sum_ij W_ij d k(x_i, x_j) / d ln(parameter) per parameter: by differences, unless overridden."""
        values = np.array(self.parameters())

        def matrix(step: Floats) -> Floats:
            return self.with_parameters((values * np.exp(step)).tolist())(X, X)

        steps = STEP * np.eye(len(values))
        return [float((W * (matrix(step) - matrix(-step))).sum()) / (2 * STEP) for step in steps]

    def gain_rate(self, d: int) -> Rate:
        """Return the rate of gamma_t on a compact convex set in d dimensions."""
        remedy = "Use greedy_gain or spectral_gain on the arms instead, or define `gain_rate`."
        raise KernelError.of("kernel", "squared exponential, Matern or linear", self, remedy)

    def __add__(self, other: "Kernel") -> "Sum":
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: "Kernel | float") -> "Product | Scaled":
        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, other)

    __rmul__ = __mul__

    def rescaled(self, arms: ArrayLike) -> "Kernel":
        """Return this kernel divided by its largest k(x, x) on the arms, so that k(x, x) <= 1 there.

        The norm of a function grows by the square root of that factor: pass bounds on norms
        (`reward_bound`, `cost_bound`) for the rescaled kernel.

        >>> from softbandit.gp.kernels import Linear
        >>> kernel = Linear().rescaled([[2.0], [4.0]])
        >>> kernel.diag(np.array([[2.0], [4.0]]))
        array([0.25, 1.  ])
        """
        largest = float(self.diag(validation.points("arms", arms)).max())
        return Scaled(self, 1.0 / largest) if largest > 0 else self


def checked_kernel(what: str, value: object) -> Kernel:
    """Return a kernel."""
    if not isinstance(value, Kernel):
        raise KernelError.of(what, "a Kernel", value, "For example sb.SquaredExponential(0.2).")
    return value


def combined_depth(*parts: Kernel) -> int:
    """Return the depth of a combination of kernels."""
    depth = 1 + max(part._depth for part in parts)
    if depth > DEEPEST:
        remedy = "Combine many in pairs, such as (a + b) + (c + d), or write a class of your own."
        raise KernelError.of("kernel", f"kernels at most {DEEPEST} deep", Description(f"{depth}"), remedy)
    return depth


@dataclass(frozen=True)
class Pair(Kernel):
    """A combination of two kernels; its parameters are those of `left`, then those of `right`."""

    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        left, right = checked_kernel("left", self.left), checked_kernel("right", self.right)
        validation.store(self, _depth=combined_depth(left, right))

    def parameters(self) -> tuple[float, ...]:
        return self.left.parameters() + self.right.parameters()

    def parameter_units(self, spread: Floats) -> tuple[float | None, ...]:
        return self.left.parameter_units(spread) + self.right.parameter_units(spread)

    def with_parameters(self, values: Sequence[float]) -> Self:
        n = len(self.left.parameters())
        left, right = self.left.with_parameters(values[:n]), self.right.with_parameters(values[n:])
        return replace(self, left=left, right=right)


@dataclass(frozen=True)
class Sum(Pair):
    """k(x, y) = left(x, y) + right(x, y)."""

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        return self.left(X, Y) + self.right(X, Y)

    def diag(self, X: Floats) -> Floats:
        return self.left.diag(X) + self.right.diag(X)

    def gradient(self, X: Floats, Y: Floats, W: Floats) -> Floats:
        return self.left.gradient(X, Y, W) + self.right.gradient(X, Y, W)

    def diag_gradient(self, X: Floats) -> Floats:
        return self.left.diag_gradient(X) + self.right.diag_gradient(X)

    def prior_sample(self, d: int, rng: np.random.Generator, scale: float = 1.0) -> Path:
        left, right = self.left.prior_sample(d, rng, scale), self.right.prior_sample(d, rng, scale)
        return Path(lambda X: left(X) + right(X), lambda X, u: left.gradient(X, u) + right.gradient(X, u))

    def parameter_gradients(self, X: Floats, W: Floats) -> list[float]:
        return self.left.parameter_gradients(X, W) + self.right.parameter_gradients(X, W)


@dataclass(frozen=True)
class Product(Pair):
    """k(x, y) = left(x, y) right(x, y)."""

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        return self.left(X, Y) * self.right(X, Y)

    def diag(self, X: Floats) -> Floats:
        return self.left.diag(X) * self.right.diag(X)

    def gradient(self, X: Floats, Y: Floats, W: Floats) -> Floats:
        return self.left.gradient(X, Y, W * self.right(X, Y)) + self.right.gradient(X, Y, W * self.left(X, Y))

    def diag_gradient(self, X: Floats) -> Floats:
        left, right = self.left.diag(X)[:, None], self.right.diag(X)[:, None]
        return self.left.diag_gradient(X) * right + left * self.right.diag_gradient(X)

    def frequencies(self, count: int, d: int, rng: np.random.Generator) -> tuple[Floats, float]:
        """Return sums of the two kernels' frequencies: a product's spectral density is a convolution."""
        left, p = self.left.frequencies(count, d, rng)
        right, q = self.right.frequencies(count, d, rng)
        return left + right, p * q

    def parameter_gradients(self, X: Floats, W: Floats) -> list[float]:
        left = self.left.parameter_gradients(X, W * self.right(X, X))
        return left + self.right.parameter_gradients(X, W * self.left(X, X))


@dataclass(frozen=True)
class Scaled(Kernel):
    """k(x, y) = scale kernel(x, y),  scale > 0."""

    kernel: Kernel
    scale: float

    def __post_init__(self) -> None:
        kernel = checked_kernel("kernel", self.kernel)
        validation.store(self, scale=validation.positive("scale", self.scale), _depth=combined_depth(kernel))

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        return self.scale * self.kernel(X, Y)

    def diag(self, X: Floats) -> Floats:
        return self.scale * self.kernel.diag(X)

    def gradient(self, X: Floats, Y: Floats, W: Floats) -> Floats:
        return self.kernel.gradient(X, Y, self.scale * W)

    def diag_gradient(self, X: Floats) -> Floats:
        return self.scale * self.kernel.diag_gradient(X)

    def frequencies(self, count: int, d: int, rng: np.random.Generator) -> tuple[Floats, float]:
        omega, variance = self.kernel.frequencies(count, d, rng)
        return omega, self.scale * variance

    def prior_sample(self, d: int, rng: np.random.Generator, scale: float = 1.0) -> Path:
        return self.kernel.prior_sample(d, rng, scale * math.sqrt(self.scale))

    def parameters(self) -> tuple[float, ...]:
        return (self.scale, *self.kernel.parameters())

    def parameter_units(self, spread: Floats) -> tuple[float | None, ...]:
        return (None, *self.kernel.parameter_units(spread))

    def with_parameters(self, values: Sequence[float]) -> "Scaled":
        return Scaled(self.kernel.with_parameters(values[1:]), values[0])

    def parameter_gradients(self, X: Floats, W: Floats) -> list[float]:
        return [float((W * self(X, X)).sum()), *self.kernel.parameter_gradients(X, self.scale * W)]

    def gain_rate(self, d: int) -> Rate:
        return self.kernel.gain_rate(d)
