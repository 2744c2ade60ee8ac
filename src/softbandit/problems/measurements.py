"""Problems made of a table of measurements: rows are samples, columns are arms."""

from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend.shapes import Floats
from softbandit.data import Origin
from softbandit.errors import DataError, Description, InfeasibleError
from softbandit.gp.kernels import Tabular
from softbandit.problems.noise import ResampledNoise
from softbandit.problems.problem import Problem


def at_least(h: Any, rows: Floats, kernel: Tabular, noise: Any, name: str, origin: Origin) -> Problem:
    """f = column means, g = h - f: the best column, among those whose mean is at least h.

    What is seen of a round is a row drawn afresh: the reward is the value in it, r, and the
    cost is h - r. All is in units of max f, so that B = 1 and the Slater margin is 1 - h: the
    paper has margins of at most 1, which in the hundreds of raw data would be slivers of the
    true ones. `h`, and a `noise` that is a number, are in the data's own units. B = max f and
    G = max |g| are the paper's; as bounds on norms in the kernel's space they are too small,
    and `policy.guarantees(problem)` says by how much.
    """
    f = rows.mean(axis=0)
    h, B = validation.number("threshold", h), float(f.max())
    if not h < B:
        got = Description(f"{h:g}")
        raise InfeasibleError.of("threshold", f"a number below the largest mean, {B:g}", got, "Lower it.")
    f, h, residuals = f / B, h / B, (rows - f) / B
    g = h - f
    return Problem(
        arms=np.arange(len(f), dtype=np.float64)[:, None],
        kernel=kernel,
        reward=f,
        cost=g,
        noise=_told(noise, residuals, B),
        reward_bound=1.0,
        cost_bound=float(np.abs(g).max()),
        slater=1 - h,
        name=name,
        law=ResampledNoise(np.stack([residuals, -residuals], axis=2)),
        source=origin.text,
        data_hash=origin.sha256,
    )


def covariance_kernel(kind: str, samples: Floats) -> Tabular:
    """The columns' empirical covariance, normalised so that k(x, x) <= 1.

    "correlation" standardises every column first, so that k(x, x) = 1; "covariance" divides
    by the largest variance, so that columns that vary little are known to.
    """
    validation.named("kernel", kind, {"correlation": 0, "covariance": 0})
    constant = (samples == samples[0]).all(axis=0)
    if constant.all() or (constant.any() and kind == "correlation"):
        got = Description(f"none in column {int(constant.argmax())}")
        remedy = 'Drop that column, or use kernel="covariance" where others vary.'
        raise DataError.of("samples", "some variation in every column", got, remedy)
    centred = samples - samples.mean(axis=0)
    C = centred.T @ centred / (len(samples) - 1)
    variance = C.diagonal()
    if kind == "covariance":
        return Tabular(C / variance.max())
    K = C / np.sqrt(np.outer(variance, variance))
    np.fill_diagonal(K, 1.0)  # which rounding may miss
    return Tabular(K)


def _told(noise: Any, residuals: Floats, unit: float) -> float:
    """R: "sd" and "max" are of the residuals."""
    if isinstance(noise, str):
        scales = {"sd": float(residuals.std()), "max": float(np.abs(residuals).max())}
        return validation.named("noise", noise, scales)
    return validation.nonnegative("noise", noise) / unit
