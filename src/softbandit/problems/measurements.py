"""The paper's two problems on measured data: find the brightest light sensor, and the stock with the highest price."""

from os import PathLike

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.data import SENSORS, STOCKS, Origin
from softbandit.errors import DataError, Description, InfeasibleError
from softbandit.gp import Tabular
from softbandit.problems.noise import ResampledNoise
from softbandit.problems.problem import Problem

PAPER_PRICE = 100.0  # the paper's threshold for stocks


def sensors(
    data: str | PathLike[str] | None = None,
    path: str | PathLike[str] | None = None,
    kernel: str = "correlation",
    noise: str | float = "sd",
    threshold: float | None = None,
) -> Problem:
    """f = mean of the test readings, g = h - f with h = B / 2 and B = max f; k from the train readings. In units of B.

    Parameters
    ----------
    data
        A folder with iw_data_all.mat; "original"; "stand-in", a simulated office; or None for the
        original if it is there (in SOFTBANDIT_DATA, else in the cache), and the stand-in otherwise.
    path
        Your own file with the same layout.
    kernel
        "correlation", the covariance of the readings after each sensor is standardised, or
        "covariance", divided by its largest entry. The paper's "covariance of the normalized
        samples" can mean either.
    noise
        R as passed to policies: "sd", the standard deviation of the readings from the means of
        their sensors; "max", the largest such deviation; or a number.
    threshold
        h; by default B / 2, as in the paper.

    Examples
    --------
    >>> problem = sensors("stand-in")
    >>> problem.reward.shape, problem.source
    ((41,), 'stand-in: simulated office of 41 sensors, seed 0')
    """
    readings, origin = SENSORS.choose(data, path)
    k = _covariance_kernel(kernel, readings.train)
    return _from_samples(f"light sensors ({origin.kind})", origin, readings.test, k, noise, threshold)


def stocks(
    data: str | PathLike[str] | None = None,
    path: str | PathLike[str] | None = None,
    kernel: str = "correlation",
    noise: str | float = "max",
    threshold: float | None = None,
) -> Problem:
    """f = mean price, g = h - f with h = 100, the paper's; k from the same prices. In units of max f.

    The parameters are those of `sensors`, with these differences: a folder of `data` contains
    fin.csv, and the stand-in is the prices of 20 stocks that skfolio ships; `noise` is by default
    "max", as in the paper; `threshold` is by default 100, or B / 2 if with 100 no stock or every
    stock would be feasible.

    >>> problem = stocks("stand-in")
    >>> int((problem.cost <= 0).sum()), len(problem.reward)
    (4, 20)
    """
    prices, origin = STOCKS.choose(data, path)
    f, k = prices.values.mean(axis=0), _covariance_kernel(kernel, prices.values)
    if threshold is None and f.min() < PAPER_PRICE < f.max():
        threshold = PAPER_PRICE
    return _from_samples(f"stocks ({origin.kind})", origin, prices.values, k, noise, threshold)


def _from_samples(name: str, origin: Origin, samples: Floats, kernel: Tabular, noise: object, h: object) -> Problem:
    """f = column means, g = h - f: find the best column among those whose mean is at least h, by default max f / 2.

    A round observes one sample, drawn uniformly: if its value at the arm is r, the reward is r
    and the cost is h - r. `h`, and `noise` if it is a number, are in the units of the data.
    The problem is in units of max f, because the paper's margins are at most 1: B = 1, and the
    Slater margin is 1 - h. B and G = max |g| are the paper's; as bounds on norms in the kernel's
    space they are too small, and `policy.guarantees(problem)` says by how much.
    """
    f = samples.mean(axis=0)
    B = float(f.max())
    h = validation.number("threshold", B / 2 if h is None else h)
    if not h < B:
        got = Description(f"{h:g}")
        raise InfeasibleError.of("threshold", f"a number below the largest mean, {B:g}", got, "Lower it.")
    f, h, residuals = f / B, h / B, (samples - f) / B
    g = h - f
    arms = np.arange(len(f), dtype=np.float64)[:, None]
    R, G = _noise_scale(noise, residuals, B), float(np.abs(g).max())
    law = ResampledNoise(np.stack([residuals, -residuals], axis=2))
    return Problem(arms, kernel, f, g, R, 1.0, G, 1 - h, name, law=law, source=origin.text, data_hash=origin.sha256)


def _covariance_kernel(kind: str, samples: Floats) -> Tabular:
    """Return the empirical covariance of the columns, normalised so that k(x, x) <= 1.

    "correlation" standardises every column first, so that k(x, x) = 1. "covariance" divides by
    the largest variance, so that columns with little variation have a small prior variance.
    """
    validation.named("kernel", kind, {"correlation": 0, "covariance": 0})
    constant = (samples == samples[0]).all(axis=0)
    if constant.all() or (constant.any() and kind == "correlation"):
        got = Description(f"none in column {int(constant.argmax())}")
        remedy = 'Drop that column, or use kernel="covariance" if others vary.'
        raise DataError.of("samples", "some variation in every column", got, remedy)
    centred = samples - samples.mean(axis=0)
    C = centred.T @ centred / (len(samples) - 1)
    variance = C.diagonal()
    if kind == "covariance":
        return Tabular(C / variance.max())
    K = C / np.sqrt(np.outer(variance, variance))
    np.fill_diagonal(K, 1.0)  # exactly, in spite of rounding
    return Tabular(K)


def _noise_scale(noise: object, residuals: Floats, unit: float) -> float:
    """Return R: the standard deviation ("sd") or largest size ("max") of the residuals, or a number in raw units."""
    if isinstance(noise, str):
        scales = {"sd": float(residuals.std()), "max": float(np.abs(residuals).max())}
        return validation.named("noise", noise, scales)
    return validation.nonnegative("noise", noise) / unit
