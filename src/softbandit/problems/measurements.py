"""Problems built from a table of measurements: rows are samples, columns are arms."""

import numpy as np

from softbandit import validation
from softbandit.backend.shapes import Floats
from softbandit.data import Origin
from softbandit.errors import DataError, Description, InfeasibleError
from softbandit.gp.kernels import Tabular
from softbandit.problems.noise import ResampledNoise
from softbandit.problems.problem import Problem


def threshold_problem(
    threshold: object, samples: Floats, kernel: Tabular, noise: object, name: str, origin: Origin
) -> Problem:
    """f = column means, g = h - f: find the best column among those whose mean is at least the threshold h.

    A round observes one sample, drawn uniformly: if its value at the arm is r, the reward is r
    and the cost is h - r. All values are in units of max f, so that B = 1 and the Slater margin is
    1 - h: the paper's margins are at most 1, and in raw units, which are in the hundreds, 1 would
    be a small part of the true margin. `threshold`, and `noise` if it is a number, are in the
    units of the data. B = max f and G = max |g| are the paper's. As bounds on norms in the
    kernel's space they are too small; `policy.guarantees(problem)` says by how much.
    """
    f = samples.mean(axis=0)
    h, B = validation.number("threshold", threshold), float(f.max())
    if not h < B:
        got = Description(f"{h:g}")
        raise InfeasibleError.of("threshold", f"a number below the largest mean, {B:g}", got, "Lower it.")
    f, h, residuals = f / B, h / B, (samples - f) / B
    g = h - f
    return Problem(
        arms=np.arange(len(f), dtype=np.float64)[:, None],
        kernel=kernel,
        reward=f,
        cost=g,
        noise=_noise_scale(noise, residuals, B),
        reward_bound=1.0,
        cost_bound=float(np.abs(g).max()),
        slater=1 - h,
        name=name,
        law=ResampledNoise(np.stack([residuals, -residuals], axis=2)),
        source=origin.text,
        data_hash=origin.sha256,
    )


def covariance_kernel(kind: str, samples: Floats) -> Tabular:
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
