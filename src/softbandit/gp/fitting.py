"""Hyperparameters from data: a kernel's length scales, the output's scale and offset, and the noise.

The model of outputs y at points X is

    y = offset + scale (f(X) + e),   f ~ GP(0, k),   e ~ N(0, lambda)

with C = K + lambda I. The log marginal likelihood, at its best scale^2 = (y - offset)^T C^-1 (y - offset) / n, is

    -n/2 (ln(2 pi scale^2) + 1) - 1/2 ln det C

and is maximised over the logarithms of lambda and of k's parameters, by gradients in closed form.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend.shapes import Floats
from softbandit.errors import ArgumentError, Description, KernelError
from softbandit.gp.distances import scales_of
from softbandit.gp.kernels import Kernel, Linear, Matern, Product, Scaled, SquaredExponential, Sum

JITTER = 1e-10  # the least lambda, relative to k(x, x)


@dataclass(frozen=True, eq=False)
class Fit:
    """What was learned of one output."""

    kernel: Kernel
    scale: float  # of the output, per unit of k
    offset: float
    noise: float  # standard deviation, in the output's units
    log_likelihood: float  # of the data, in the output's units, without the prior

    @property
    def regularisation(self) -> float:
        """lambda = noise^2 / scale^2: the posterior's, for outputs in units of scale."""
        return (self.noise / self.scale) ** 2


def fit(
    kernel: Kernel,
    X: Any,
    y: Any,
    *,
    lengthscales: tuple[float, float] = (0.02, 20.0),
    noise: tuple[float, float] = (1e-6, 10.0),
    prior: tuple[float, float] | None = (0.5, 1.0),
    centred: bool = True,
    restarts: int = 4,
    seed: int = 0,
) -> Fit:
    """The kernel of the same form that makes the data most likely.

    Parameters
    ----------
    kernel
        Its form: a single length scale stays single, one for each dimension stays so. It is the first start.
    X, y
        Points (n, d) and outputs (n,).
    lengthscales
        Bounds on a length scale, relative to the spread of X in that dimension (the largest, for a single one).
    noise
        Bounds on lambda, the variance of the noise relative to that of the function (k's unit).
    prior
        Median (relative, as above) and log-standard deviation of a log-normal prior on each length scale;
        None for maximum likelihood.
    centred
        Whether the offset is the mean of y, or 0.
    restarts
        Further starts, uniform within the bounds on a log scale.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 1))
    >>> y = 5 + 3 * np.sin(8 * X[:, 0]) + 0.1 * rng.standard_normal(60)
    >>> found = fit(Matern(1.0), X, y)
    >>> bool(0.05 < found.noise < 0.2)
    True
    """
    X, y = _data(X, y)
    offset = float(y.mean()) if centred else 0.0
    unit = float(np.sqrt(np.mean((y - offset) ** 2)))
    if unit <= 1e-12 * float(np.abs(y).max(initial=0.0)) or not unit > 0:
        return _constant(kernel, float(np.abs(y).max(initial=0.0)), offset, len(y))
    goal = _Goal(kernel, X, (y - offset) / unit, lengthscales, noise, prior)
    theta = _maximise(goal, validation.whole("restarts", restarts, least=0), seed)
    found, lam = goal.model(theta)
    C = _Cholesky(found, lam, X, goal.y)
    scale, n = unit * math.sqrt(C.variance), len(y)
    value = C.log_likelihood - n * math.log(unit)
    return Fit(found, scale, offset, scale * math.sqrt(lam), value)


def log_likelihood(kernel: Kernel, noise: float, X: Any, y: Any) -> float:
    """ln N(y; 0, K + noise^2 I), for a kernel in the output's units.

    >>> round(log_likelihood(Linear(), 1.0, [[0.0]], [2.0]), 6)  # -2 - ln(2 pi) / 2
    -2.918939
    """
    X, y = _data(X, y)
    K = kernel(X, X)
    L = np.linalg.cholesky(K + max(noise**2, JITTER * float(kernel.diag(X).max())) * np.eye(len(y)))
    v = np.linalg.solve(L, y)
    return float(-0.5 * v @ v - np.log(np.diagonal(L)).sum() - 0.5 * len(y) * math.log(2 * math.pi))


class _Cholesky:
    """C = K + lambda I at given hyperparameters, and what follows from it."""

    def __init__(self, kernel: Kernel, lam: float, X: Floats, y: Floats) -> None:
        n = len(y)
        diag = kernel.diag(X)
        L = np.linalg.cholesky(kernel(X, X) + np.diag(np.maximum(lam, JITTER * diag)))
        half = np.linalg.solve(L, np.eye(n))
        self.inverse = half.T @ half
        self.alpha = self.inverse @ y
        self.variance = max(float(y @ self.alpha) / n, np.finfo(float).tiny)
        self.log_likelihood = -0.5 * n * (math.log(2 * math.pi * self.variance) + 1) - float(
            np.log(np.diagonal(L)).sum()
        )

    @property
    def weights(self) -> Floats:
        """W with d log likelihood = 1/2 sum_ij W_ij dC_ij."""
        return np.outer(self.alpha, self.alpha) / self.variance - self.inverse


class _Goal:
    """The log posterior of theta = (ln parameters of k, ln lambda), and its gradient."""

    def __init__(self, kernel: Kernel, X: Floats, y: Floats, lengthscales: Any, noise: Any, prior: Any) -> None:
        self.kernel, self.X, self.y = kernel, X, y
        spread = np.ptp(X, axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        places = list(_parameters(kernel, spread))
        self.start = np.log([value for value, _ in places] + [0.1])
        low, high = _bounds("lengthscales", lengthscales)
        least, most = _bounds("noise", noise)
        sizes = [math.nan if size is None else size for _, size in places]
        self.lower = np.log([1e-3 if math.isnan(s) else low * s for s in sizes] + [least])
        self.upper = np.log([1e3 if math.isnan(s) else high * s for s in sizes] + [most])
        self.centre = np.log([*(1.0 if math.isnan(s) else s * (prior[0] if prior else 1.0) for s in sizes), 1.0])
        self.weight = np.array([0.0 if prior is None or math.isnan(s) else prior[1] ** -2 for s in sizes] + [0.0])

    def model(self, theta: Floats) -> tuple[Kernel, float]:
        values = iter(np.exp(theta))
        kernel = _rebuilt(self.kernel, self.X.shape[1], values)
        return kernel, float(next(values))

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Minus the log posterior, and minus its gradient."""
        kernel, lam = self.model(theta)
        try:
            C = _Cholesky(kernel, lam, self.X, self.y)
        except np.linalg.LinAlgError:  # rounding: as unlikely as can be
            return 1e25, np.zeros_like(theta)
        W = C.weights
        slope = 0.5 * np.array([*_pull(kernel, self.X, W), lam * np.trace(W)])
        away = theta - self.centre
        value = C.log_likelihood - 0.5 * float(self.weight @ (away * away))
        return -value, -(slope - self.weight * away)


def _maximise(goal: _Goal, restarts: int, seed: int) -> Floats:
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    starts = [np.clip(goal.start, goal.lower, goal.upper), np.clip(goal.centre, goal.lower, goal.upper)]
    starts += [rng.uniform(goal.lower, goal.upper) for _ in range(restarts)]
    bounds = list(zip(goal.lower, goal.upper, strict=True))
    runs = [minimize(goal, start, jac=True, method="L-BFGS-B", bounds=bounds) for start in starts]
    return np.asarray(min(runs, key=lambda run: float(run.fun)).x)


def _parameters(kernel: Kernel, spread: Floats) -> Iterator[tuple[float, float | None]]:
    """Each parameter's value, and the size that a length scale is relative to; None for a scale."""
    if isinstance(kernel, (SquaredExponential, Matern)):
        if isinstance(kernel.lengthscale, tuple):
            yield from zip(scales_of(kernel.lengthscale, len(spread)), map(float, spread), strict=True)
        else:
            yield float(kernel.lengthscale), float(spread.max())  # type: ignore[arg-type]
    elif isinstance(kernel, (Sum, Product)):
        yield from _parameters(kernel.left, spread)
        yield from _parameters(kernel.right, spread)
    elif isinstance(kernel, Scaled):
        yield kernel.scale, None
        yield from _parameters(kernel.kernel, spread)
    elif not isinstance(kernel, Linear):
        remedy = "Build it from SquaredExponential, Matern and Linear."
        raise KernelError.of("kernel", "one whose parameters can be learned", kernel, remedy)


def _rebuilt(kernel: Kernel, d: int, values: Iterator[float]) -> Kernel:
    """The kernel with other parameters, taken in the order of `_parameters`."""
    if isinstance(kernel, (SquaredExponential, Matern)):
        single = not isinstance(kernel.lengthscale, tuple)
        scale: Any = float(next(values)) if single else tuple(float(next(values)) for _ in range(d))
        return Matern(scale, kernel.nu) if isinstance(kernel, Matern) else SquaredExponential(scale)
    if isinstance(kernel, (Sum, Product)):
        return type(kernel)(_rebuilt(kernel.left, d, values), _rebuilt(kernel.right, d, values))
    if isinstance(kernel, Scaled):
        factor = float(next(values))
        return Scaled(_rebuilt(kernel.kernel, d, values), factor)
    return kernel


def _pull(kernel: Kernel, X: Floats, W: Floats) -> Iterator[float]:
    """sum_ij W_ij d k(x_i, x_j) / d ln(parameter), for each parameter in order."""
    if isinstance(kernel, (SquaredExponential, Matern)):
        parts = _by_dimension(kernel, X, W)
        yield from parts if isinstance(kernel.lengthscale, tuple) else [float(sum(parts))]
    elif isinstance(kernel, Sum):
        yield from _pull(kernel.left, X, W)
        yield from _pull(kernel.right, X, W)
    elif isinstance(kernel, Product):
        yield from _pull(kernel.left, X, W * kernel.right(X, X))
        yield from _pull(kernel.right, X, W * kernel.left(X, X))
    elif isinstance(kernel, Scaled):
        yield float((W * kernel(X, X)).sum())
        yield from _pull(kernel.kernel, X, kernel.scale * W)


def _by_dimension(kernel: SquaredExponential | Matern, X: Floats, W: Floats) -> list[float]:
    """Of each dimension's length scale. With u_j = ((x_j - y_j) / l_j)^2, d k / d ln l_j = q u_j."""
    scales = scales_of(kernel.lengthscale, X.shape[1])
    u = [((X[:, j, None] - X[None, :, j]) / scale) ** 2 for j, scale in enumerate(scales)]
    if isinstance(kernel, SquaredExponential):
        q = kernel(X, X)
    else:
        s = np.sqrt(2 * kernel.nu * np.sum(u, axis=0))
        inverse = np.where(s > 0, 1 / np.where(s > 0, s, 1.0), 0.0)
        factor = inverse if kernel.nu == 0.5 else 1.0 if kernel.nu == 1.5 else (1 + s) / 3
        q = 2 * kernel.nu * factor * np.exp(-s)
    weighted = W * q
    return [float((weighted * each).sum()) for each in u]


def _constant(kernel: Kernel, size: float, offset: float, n: int) -> Fit:
    """Outputs that do not vary teach nothing but their value."""
    scale = 1e-6 * (size or 1.0)
    return Fit(kernel, scale, offset, scale * 1e-3, math.inf if n else 0.0)


def _data(X: Any, y: Any) -> tuple[Floats, Floats]:
    points = validation.points("X", X)
    outputs = validation.points("y", np.reshape(np.asarray(y), (-1, 1)))[:, 0]
    if len(points) != len(outputs):
        got = Description(f"{len(points)} points and {len(outputs)} outputs")
        raise ArgumentError.of("X, y", "one output for each point", got, "Check the shapes.")
    return points, outputs


def _bounds(what: str, value: Any) -> tuple[float, float]:
    low, high = (validation.positive(f"{what}[{i}]", v) for i, v in enumerate(value))
    if not low < high:
        raise ArgumentError.of(what, "lower < upper", value, "Check the order.")
    return low, high
