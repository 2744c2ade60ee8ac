"""Distances between points in units of length scales, and their gradients."""

from collections.abc import Sequence

import numpy as np

from softbandit.backend.shapes import Floats
from softbandit.errors import KernelError

BLOCK = 2**15  # distances computed at a time, so that they stay in the cache


def squared_distance(X: Floats, Y: Floats, lengthscale: float | Sequence[float]) -> Floats:
    """Return r^2 (n, m), from differences: symmetric, and zero on the diagonal, to the bit."""
    r2 = np.zeros((len(X), len(Y)))
    scales = lengthscale_per_dimension(lengthscale, X.shape[1])
    step = max(1, BLOCK // max(1, len(Y)))
    for first in range(0, len(X), step):
        rows, sums = X[first : first + step], r2[first : first + step]
        for j, scale in enumerate(scales):
            difference = rows[:, j, None] - Y[None, :, j]
            difference /= scale
            difference *= difference
            sums += difference
    return r2


def radial_gradient(X: Floats, Y: Floats, Q: Floats, lengthscale: float | Sequence[float]) -> Floats:
    """Return sum_j Q_ij (x_i - y_j) / l^2: (n, d).

    It is computed from differences too, since a rough kernel's Q is largest where they are smallest.
    """
    columns = [
        np.einsum("ij,ij->i", Q, X[:, j, None] - Y[None, :, j]) / (scale * scale)
        for j, scale in enumerate(lengthscale_per_dimension(lengthscale, X.shape[1]))
    ]
    return np.stack(columns, axis=1)


def lengthscale_per_dimension(lengthscale: float | Sequence[float], d: int) -> tuple[float, ...]:
    """Return d length scales, or raise if several are given and not d."""
    scales = tuple(lengthscale) if isinstance(lengthscale, Sequence) else (lengthscale,) * d
    if len(scales) != d:
        remedy = f"Pass one length scale, or {d} of them."
        raise KernelError.of("lengthscale", f"one number, or one for each of {d} dimensions", scales, remedy)
    return scales
