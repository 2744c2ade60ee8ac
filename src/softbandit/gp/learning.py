"""The hyperparameters of `PointEffects` from data, by maximum a posteriori.

Observations at one point count as their mean, and the squares within points tell the noise:

    means ~ N(offset, C),  C = signal K + diag(own + noise / counts)       within / noise ~ chi^2 of t - k degrees

The offset is N(0, 1), at its best value. Outputs must be in units of their spread, for which the priors are
made: all are log-normal.

| parameter | median | log-deviation | why |
|---|---|---|---|
| length scale | 0.3 sqrt(d) times the spread of the points in its dimension | 1 | distances grow as sqrt(d) |
| signal | 1 | 1 | the unit is the spread |
| own | 0.03 | 1.5 | between a smooth surface and a rough one |
| noise | 0.01 | 1.5 | a tenth of the spread; repeats decide |
"""

import math
from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats, Ints
from softbandit.gp.kernel import Kernel
from softbandit.gp.point_effects import PointEffects, Repeats

MOST_POINTS = 250  # used to learn: more take seconds, and add little
WORK = 6e9  # floating-point operations that learning all outputs may take: a second on a slow core
LENGTHSCALE = 0.3  # the prior's median, times sqrt(d)
VARIANCES = np.log([1.0, 0.03, 0.01])  # the priors' medians of signal, own and noise
DEVIATIONS = (1.0, 1.5, 1.5)
RANGES = np.log([[1e-3, 1e2], [1e-6, 1e2], [1e-6, 1e1]])


class Learned(NamedTuple):
    """A model, its parameters, from which the next search may start, and their log posterior, up to a constant."""

    model: PointEffects
    theta: Floats
    log_posterior: float


def learn(
    kernel: Kernel, data: Repeats, start: Floats | None = None, outputs: int = 1, noise: float | None = None
) -> Learned:
    """Return the model of the data.

    `outputs` is the number of those learned in one go, which share the time; half of it is enough for any. A `noise`
    that is known is kept, as near as its range allows.
    """
    from scipy.optimize import minimize

    objective = LogPosterior(kernel, subset(data))
    if noise is not None:
        objective.lower[-1] = objective.upper[-1] = np.clip(np.log(noise), *RANGES[-1])
    k, d = objective.data.points.shape
    evaluations = int(np.clip(WORK / max(outputs, 2) / (4 * k**3 + 40 * d * k**2), 8, 60))
    theta = np.clip(objective.centre if start is None else start, objective.lower, objective.upper)
    bounds = list(zip(objective.lower, objective.upper, strict=True))
    options = {"maxfun": evaluations}
    found = minimize(objective, theta, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    theta = np.asarray(found.x)
    return Learned(objective.model(theta), theta, -float(found.fun))


def subset(data: Repeats) -> Repeats:
    """Return at most MOST_POINTS of the points: those observed most often, and others spread over the rest."""
    chosen = subset_of_points(data.counts)
    return data._replace(points=data.points[chosen], counts=data.counts[chosen], means=data.means[chosen])


def subset_of_points(counts: Floats) -> Ints:
    """Return the numbers of these points."""
    k = len(counts)
    if k <= MOST_POINTS:
        return np.arange(k)
    order = np.argsort(-counts, kind="stable")
    often = MOST_POINTS // 4
    rest = order[often:][np.linspace(0, k - often - 1, MOST_POINTS - often).round().astype(int)]
    return np.concatenate([order[:often], rest])


class LogPosterior:
    """Minus the log posterior of theta = (ln parameters of k, ln signal, ln own, ln noise), and its gradient."""

    def __init__(self, kernel: Kernel, data: Repeats) -> None:
        self.kernel, self.data = kernel, data
        self.degrees = len(data.place) - len(np.unique(data.place))  # of freedom within points
        d = data.points.shape[1]
        spread = np.ptp(data.points, axis=0)
        units = kernel.parameter_units(np.where(spread > 0, spread, 1.0))
        median = LENGTHSCALE * math.sqrt(d)
        lengths = np.log([1.0 if unit is None else median * unit for unit in units])
        self.centre = np.append(lengths, VARIANCES)
        self.precision = np.array([*(0.0 if unit is None else 1.0 for unit in units), *(s**-2 for s in DEVIATIONS)])
        low = np.log([1e-3 if unit is None else 0.02 * unit for unit in units])
        high = np.log([1e3 if unit is None else 50 * unit for unit in units])
        self.lower, self.upper = np.append(low, RANGES[:, 0]), np.append(high, RANGES[:, 1])

    def model(self, theta: Floats) -> PointEffects:
        """Return the model with these parameters, and the best offset."""
        *parameters, signal, own, noise = np.exp(theta).tolist()
        kernel = self.kernel.with_parameters(parameters)
        precision, _ = self._precision(kernel, signal, own, noise)
        return PointEffects(kernel, self._offset(precision), signal, own, noise)

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        *parameters, signal, own, noise = np.exp(theta).tolist()
        kernel, data = self.kernel.with_parameters(parameters), self.data
        try:
            precision, log_det = self._precision(kernel, signal, own, noise)
        except np.linalg.LinAlgError:  # C is singular up to rounding: reject theta
            return 1e25, np.zeros_like(theta)
        offset = self._offset(precision)
        alpha = precision @ (data.means - offset)
        value = -0.5 * float(alpha @ (data.means - offset)) - 0.5 * log_det - 0.5 * offset**2
        value -= 0.5 * (self.degrees * math.log(noise) + data.within / noise)
        W = np.outer(alpha, alpha) - precision  # d value = 1/2 sum_ij W_ij dC_ij
        smooth = signal * W
        slope_noise = float(np.diag(W) @ (noise / data.counts)) - self.degrees + data.within / noise
        slopes = [float(np.sum(smooth * kernel(data.points, data.points))), own * float(np.trace(W)), slope_noise]
        gradient = 0.5 * np.array([*kernel.parameter_gradients(data.points, smooth), *slopes])
        deviation = theta - self.centre
        value -= 0.5 * float(self.precision @ deviation**2)
        return -value, self.precision * deviation - gradient

    def _precision(self, kernel: Kernel, signal: float, own: float, noise: float) -> tuple[Floats, float]:
        """Return C^-1 and ln det C."""
        X = self.data.points
        C = signal * kernel(X, X)
        C[np.diag_indices(len(C))] += own + noise / self.data.counts + 1e-9 * (signal + own)
        L = np.linalg.cholesky(C)
        half = np.linalg.inv(L)
        return half.T @ half, 2 * float(np.log(np.diagonal(L)).sum())

    def _offset(self, precision: Floats) -> float:
        """Return the offset's best value, given its prior N(0, 1)."""
        weights = precision.sum(axis=0)
        return float(weights @ self.data.means) / (float(weights.sum()) + 1.0)
