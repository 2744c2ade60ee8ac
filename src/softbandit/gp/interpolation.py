"""Bounds on how well the functions k(a, .) and k(b, .) at the ends of a step represent k(x, .) between them.

The interpolation at x = (1 - u) a + u b is (1 - u) k(a, .) + u k(b, .), and its error is measured
by the norm of the kernel's space. It bounds whatever is a seminorm of k(x, .), such as a standard
deviation, between the points of a grid.
"""

import math

import numpy as np

from softbandit.backend import Floats
from softbandit.gp.kernel import Kernel, Product, Scaled, Sum
from softbandit.gp.kernels import Linear, Radial

POSITIONS = 1024  # at which the error is computed along a step
ROUNDING = 1e-15  # of a squared norm, relative to k(x, x)


def interpolation_error(kernel: Kernel, step: Floats) -> float:
    """Return an upper bound on the error at any x from any a to b = a + step (d,); infinity if none is known.

    >>> from softbandit.gp.kernels import SquaredExponential
    >>> round(interpolation_error(SquaredExponential(1.0), np.array([0.1])), 5)  # about sqrt(3) / 8 0.1^2
    0.00226
    """
    if isinstance(kernel, Scaled):
        return math.sqrt(kernel.scale) * interpolation_error(kernel.kernel, step)
    if isinstance(kernel, Sum):  # of two kernels' squared norms
        return math.hypot(interpolation_error(kernel.left, step), interpolation_error(kernel.right, step))
    if isinstance(kernel, Linear):
        return 0.0
    return _largest_error(kernel, step) if _is_stationary(kernel) else math.inf


def _is_stationary(kernel: Kernel) -> bool:
    """Return whether k(x, y) is a function of x - y that falls with the distance along every line."""
    if isinstance(kernel, Scaled):
        return _is_stationary(kernel.kernel)
    if isinstance(kernel, (Sum, Product)):
        return _is_stationary(kernel.left) and _is_stationary(kernel.right)
    return isinstance(kernel, Radial)


def _largest_error(kernel: Kernel, step: Floats) -> float:
    """Compute the error at evenly spaced positions, and add how much it can grow on the way to the nearest of them.

    From position u to v, k(x, .) moves by |k_x - k_y| and its interpolation by |u - v| |k_a - k_b|.
    """
    u = np.linspace(0, 1, POSITIONS + 1)[:, None]
    X, weights = u * step, np.concatenate([1 - u, u], axis=1)
    K = kernel(X, X[[0, -1]])  # (positions, 2)
    squared = kernel.diag(X) - 2 * np.vecdot(weights, K) + np.vecdot(weights @ K[[0, -1]], weights)
    half = 0.5 / POSITIONS
    error, nearest, across = (
        math.sqrt(max(float(value), 0.0) + ROUNDING * float(K[0, 0]))
        for value in (squared.max(), _squared_distance(kernel, half * step), _squared_distance(kernel, step))
    )
    return error + nearest + half * across


def _squared_distance(kernel: Kernel, step: Floats) -> float:
    """Return |k_x - k_y|^2 for y = x + step."""
    x, y = np.zeros((1, len(step))), step[None]
    return float(kernel.diag(x)[0] + kernel.diag(y)[0] - 2 * kernel(x, y)[0, 0])
