"""Hyperparameters from data: a kernel's parameters, the output's scale and offset, and the noise.

The model of outputs y at points X is

    y = offset + scale (f(X) + e),   f ~ GP(0, k),   e ~ N(0, lambda)

with C = K + lambda I. The log marginal likelihood, at its best scale^2 = (y - offset)^T C^-1 (y - offset) / n, is

    -n/2 (ln(2 pi scale^2) + 1) - 1/2 ln det C

and is maximised over the logarithms of lambda and of k's parameters, by gradients.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softbandit import validation
from softbandit.backend import Floats, one_thread
from softbandit.errors import ArgumentError, Description
from softbandit.gp.exact import JITTER
from softbandit.gp.kernel import Kernel, checked_kernel

Bounds = tuple[float, float]
MOST_RESTARTS = 1000


@dataclass(frozen=True, eq=False)
class Fit:
    """The hyperparameters of one output."""

    kernel: Kernel
    scale: float  # of the output, per unit of k
    offset: float
    noise: float  # standard deviation, in the output's units
    log_likelihood: float  # of the data, in the output's units, without the prior

    @property
    def regularisation(self) -> float:
        """lambda = noise^2 / scale^2, for a posterior of outputs in units of scale."""
        return (self.noise / self.scale) ** 2


@one_thread()
def fit(
    kernel: Kernel,
    X: ArrayLike,
    y: ArrayLike,
    *,
    lengthscales: Bounds = (0.02, 20.0),
    noise: Bounds = (1e-6, 10.0),
    prior: tuple[float, float] | None = (0.5, 1.0),
    centred: bool = True,
    restarts: int = 4,
    seed: int = 0,
) -> Fit:
    """Fit the kernel's parameters, the noise, the scale and the offset to data, by maximum a posteriori.

    Parameters
    ----------
    kernel
        Its form, and the first start: a single length scale stays single, one per dimension stays one per
        dimension. A kernel without parameters (Linear, Tabular, a user's that defines none) stays as it is.
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
    >>> from softbandit.gp.kernels import Matern
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 1))
    >>> y = 5 + 3 * np.sin(8 * X[:, 0]) + 0.1 * rng.standard_normal(60)
    >>> result = fit(Matern(1.0), X, y)
    >>> bool(0.05 < result.noise < 0.2)
    True
    """
    checked_kernel("kernel", kernel)
    X, y = _check_data(X, y)
    starts = validation.whole("restarts", restarts, least=0, most=MOST_RESTARTS)
    rng = np.random.default_rng(validation.seed(seed))
    within, lambdas = _check_bounds("lengthscales", lengthscales), _check_bounds("noise", noise)
    log_normal = None if prior is None else _check_pair("prior", prior)
    offset = float(y.mean()) if validation.flag("centred", centred) else 0.0
    unit, largest = float(np.sqrt(np.mean((y - offset) ** 2))), float(np.abs(y).max())
    if not unit > 1e-12 * largest:
        scale = 1e-6 * (largest or 1.0)  # outputs that do not vary: a small scale and noise
        return Fit(kernel, scale, offset, scale * 1e-3, math.inf)
    objective = _LogPosterior(kernel, X, (y - offset) / unit, within, lambdas, log_normal)
    theta = _maximise(objective, starts, rng)
    fitted, lam = objective.model(theta)
    likelihood = _Likelihood(fitted, lam, X, objective.y)
    scale = unit * math.sqrt(likelihood.variance)
    return Fit(fitted, scale, offset, scale * math.sqrt(lam), likelihood.log - len(y) * math.log(unit))


class _Likelihood:
    """The marginal likelihood of y at given hyperparameters, by C = K + lambda I."""

    def __init__(self, kernel: Kernel, lam: float, X: Floats, y: Floats) -> None:
        n = len(y)
        L = np.linalg.cholesky(kernel(X, X) + np.diag(np.maximum(lam, JITTER * kernel.diag(X))))
        half = np.linalg.solve(L, np.eye(n))
        self.inverse = half.T @ half
        self.alpha = self.inverse @ y
        self.variance = max(float(y @ self.alpha) / n, np.finfo(float).tiny)
        self.log = -0.5 * n * (math.log(2 * math.pi * self.variance) + 1) - float(np.log(np.diagonal(L)).sum())

    @property
    def weights(self) -> Floats:
        """W with d log likelihood = 1/2 sum_ij W_ij dC_ij."""
        return np.outer(self.alpha, self.alpha) / self.variance - self.inverse


class _LogPosterior:
    """The log posterior of theta = (ln parameters of k, ln lambda), and its gradient."""

    def __init__(
        self, kernel: Kernel, X: Floats, y: Floats, lengthscales: Bounds, noise: Bounds, prior: Bounds | None
    ) -> None:
        self.kernel, self.X, self.y = kernel, X, y
        spread = np.ptp(X, axis=0)
        units = kernel.parameter_units(np.where(spread > 0, spread, 1.0))
        (low, high), (least, most) = lengthscales, noise
        median, deviation = prior or (1.0, math.inf)
        self.start = np.log([*kernel.parameters(), 0.1])
        self.lower = np.log([*(1e-3 if unit is None else low * unit for unit in units), least])
        self.upper = np.log([*(1e3 if unit is None else high * unit for unit in units), most])
        self.centre = np.log([*(1.0 if unit is None else unit * median for unit in units), 1.0])
        self.precision = np.array([*(0.0 if unit is None else deviation**-2 for unit in units), 0.0])

    def model(self, theta: Floats) -> tuple[Kernel, float]:
        """Return the kernel and lambda."""
        *parameters, lam = np.exp(theta).tolist()
        return self.kernel.with_parameters(parameters), lam

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Return minus the log posterior, and minus its gradient."""
        kernel, lam = self.model(theta)
        try:
            likelihood = _Likelihood(kernel, lam, self.X, self.y)
        except np.linalg.LinAlgError:  # C is singular up to rounding: reject theta
            return 1e25, np.zeros_like(theta)
        W = likelihood.weights
        gradient = 0.5 * np.array([*kernel.parameter_gradients(self.X, W), lam * np.trace(W)])
        deviation = theta - self.centre
        value = likelihood.log - 0.5 * float(self.precision @ (deviation * deviation))
        return -value, -(gradient - self.precision * deviation)


def _maximise(objective: _LogPosterior, restarts: int, rng: np.random.Generator) -> Floats:
    from scipy.optimize import minimize

    lower, upper = objective.lower, objective.upper
    starts = [np.clip(objective.start, lower, upper), np.clip(objective.centre, lower, upper)]
    starts += [rng.uniform(lower, upper) for _ in range(restarts)]
    bounds = list(zip(lower, upper, strict=True))
    runs = [minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds) for start in starts]
    return np.asarray(min(runs, key=lambda run: float(run.fun)).x)


def _check_data(X: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    points = validation.points("X", X)
    outputs = validation.points("y", validation.array("y", y).reshape(-1, 1))[:, 0]
    if len(points) != len(outputs):
        got = Description(f"{len(points)} points and {len(outputs)} outputs")
        raise ArgumentError.of("X, y", "one output per point", got, "Check the shapes.")
    return points, outputs


def _check_pair(what: str, value: object) -> Bounds:
    first, second = validation.numbers(what, value, 2, single=False).tolist()
    return validation.positive(f"{what}[0]", first), validation.positive(f"{what}[1]", second)


def _check_bounds(what: str, value: object) -> Bounds:
    low, high = _check_pair(what, value)
    if not low < high:
        raise ArgumentError.of(what, "lower < upper", value, "Check the order.")
    return low, high
