"""Distances between points in units of length scales, and what they carry of a gradient."""

from typing import Any

import numpy as np

from softbandit.backend.shapes import Floats
from softbandit.errors import KernelError

CACHED = 2**15  # distances worked on at a time


def squared_distance(X: Floats, Y: Floats, lengthscale: Any) -> Floats:
    """r^2 by differences, one dimension at a time: symmetric, and zero on the diagonal, to the bit."""
    r2 = np.zeros((len(X), len(Y)))
    scales = scales_of(lengthscale, X.shape[1])
    step = max(1, CACHED // max(1, len(Y)))
    for first in range(0, len(X), step):  # rows that stay in the cache from one dimension to the next
        rows, sums = X[first : first + step], r2[first : first + step]
        for j, scale in enumerate(scales):
            difference = rows[:, j, None] - Y[None, :, j]
            difference /= scale
            difference *= difference
            sums += difference
    return r2


def radial_gradient(X: Floats, Y: Floats, Q: Floats, lengthscale: Any) -> Floats:
    """sum_j Q_ij (x_i - y_j) / l^2: by differences too, since a rough kernel's Q is largest where they are smallest."""
    columns = [
        np.einsum("ij,ij->i", Q, X[:, j, None] - Y[None, :, j]) / (scale * scale)
        for j, scale in enumerate(scales_of(lengthscale, X.shape[1]))
    ]
    return np.stack(columns, axis=1)


def scales_of(lengthscale: Any, d: int) -> tuple[float, ...]:
    """A length scale for each of d dimensions."""
    scales: tuple[float, ...] = lengthscale if isinstance(lengthscale, tuple) else (lengthscale,) * d
    if len(scales) != d:
        remedy = f"Pass one length scale, or {d} of them."
        raise KernelError.of("lengthscale", f"one for each of {d} dimensions", scales, remedy)
    return scales
