"""An upper bound on gamma_T, the largest information gain of T observations anywhere in a space.

| symbol | meaning |
|---|---|
| c | a design: weights c_z on r points Z of the space, with sum T |
| F(c) | its information gain, 1/2 ln det(I + C^1/2 K_ZZ C^1/2 / lambda) |
| sigma_c(x) | the standard deviation at x after those observations |
| s | a bound on sigma_c(x) at all x of the space |
| delta | how far k(x, .) is from the multilinear interpolation of its neighbours on a grid |

    gamma_T <= F(c) + N/2 ln(1 + (T s^2 - sum_z c_z sigma_c(z)^2) / (N lambda)),   N = T + r
    s       <= largest sigma_c on the grid + delta

for every design and every grid; docs/theory.md proves it. The design decides how tight it is.
Without a design (c = 0) this is the trivial T/2 ln(1 + 1 / lambda).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.domains import Axis, Domain, grid
from softbandit.errors import Description, KernelError
from softbandit.gp import Kernel, checked_kernel, features, interpolation_error

CANDIDATES = 4096  # points from which those of the design are chosen
LARGEST_DESIGN = 512  # points
UNEXPLAINED = 0.01  # of lambda / T, the order of sigma_c^2: the variance left by the points of the design
IMPROVEMENTS = 20  # of the design's weights
CHECKED = 2**17  # points at most at which sigma_c is computed,
WORK = 5e9  # and this many multiplications
FINE = 0.02  # of the largest sigma_c: the interpolation error aimed at
GROWTH = 1.2  # of the number of cells along an axis, in one refinement
BLOCK = 4096  # points at a time
EPSILON = float(np.finfo(float).eps)


class SpaceGain(NamedTuple):
    """gamma_T <= upper <= trivial = T/2 ln(1 + 1 / lambda)."""

    upper: float
    trivial: float
    points: int  # of the design; 0 if it does not improve on the trivial bound


@dataclass(frozen=True, eq=False)
class Design:
    """Weights on r points, and the Gaussian process after those observations."""

    kernel: Kernel
    points: Floats  # (r, d)
    root: Floats  # (r, r): sigma_c(x)^2 = k(x, x) - |root k(Z, x)|^2
    gain: float  # F(c)
    explained: float  # sum_z c_z sigma_c(z)^2

    def largest_deviation(self, X: Floats) -> float:
        """Return the largest sigma_c at the points X."""
        blocks = (X[first : first + BLOCK] for first in range(0, len(X), BLOCK))
        return math.sqrt(max(float(self._variance(block).max()) for block in blocks))

    def _variance(self, X: Floats) -> Floats:
        explained = self.root @ self.kernel(self.points, X)
        rounding = 4 * len(self.root) * EPSILON * np.abs(self.root).max(initial=0.0)
        return np.asarray(np.maximum(self.kernel.diag(X) - (explained**2).sum(axis=0), 0.0) + rounding)


def gain_on_space(kernel: Kernel, space: Domain, rounds: int, regularisation: float) -> SpaceGain:
    """Return an upper bound on gamma_T over a space, for a kernel with k(x, x) <= 1 there.

    If the kernel is not a sum or multiple of stationary and linear ones, or the space has too many
    dimensions, it is the trivial bound.

    >>> from softbandit.domains import Box
    >>> from softbandit.gp import SquaredExponential
    >>> round(gain_on_space(SquaredExponential(0.2), Box(0, 1), rounds=1000, regularisation=1.0).upper, 1)
    15.0
    """
    checked_kernel("kernel", kernel)
    validation.instance("space", space, Domain, "a Box or a Space", "For example sb.Box([0, 0], [1, 1]).")
    T, lam = validation.whole("rounds", rounds, 1, 2**53), validation.positive("regularisation", regularisation)
    trivial = T / 2 * math.log1p(1 / lam)
    cells, error = refine(kernel, space.axes, CANDIDATES, 0.1 * math.sqrt(lam / T))
    if not math.isfinite(error):
        return SpaceGain(trivial, trivial, 0)
    candidates = grid(space.axes, cells)
    _check(kernel, candidates)
    design = spread_design(kernel, candidates, T, lam)
    r, typical = len(design.points), math.sqrt(design.explained / T)
    cells, error = refine(kernel, space.axes, min(CHECKED, WORK / max(r, 1) ** 2), FINE * typical)
    s = design.largest_deviation(grid(space.axes, cells)) + error
    N = T + r
    upper = design.gain + N / 2 * math.log1p(max(T * s * s - design.explained, 0.0) / (N * lam))
    return SpaceGain(upper, trivial, r) if upper < trivial else SpaceGain(trivial, trivial, 0)


def refine(kernel: Kernel, axes: Sequence[Axis], most: float, error: float) -> tuple[list[int], float]:
    """Return the cells along each axis of a grid with that error, or as near to it as `most` points allow; and delta.

    The interpolation goes along one axis after the other, so their errors add up. delta is infinite
    if the kernel's error is not known, or if the coarsest grid has more points.
    """
    cells = [1] * len(axes)
    errors = [_error_along(kernel, axes, j, 1) for j in range(len(axes))]
    if _count(axes, cells) > most or not math.isfinite(sum(errors)):
        return cells, math.inf
    while sum(errors) > error:
        j = int(np.argmax(errors))
        finer = int(min(math.ceil(GROWTH * cells[j]), axes[j].size - 1))
        if _count(axes, [*cells[:j], finer, *cells[j + 1 :]]) > most:
            break
        cells[j], errors[j] = finer, _error_along(kernel, axes, j, finer)
    return cells, sum(errors)


def _error_along(kernel: Kernel, axes: Sequence[Axis], j: int, cells: int) -> float:
    axis = axes[j]
    if not axis.is_number or cells == axis.size - 1:
        return 0.0  # the grid has all values
    step = np.zeros(axes[-1].columns.stop)
    step[axis.columns] = (axis.upper - axis.lower) / cells
    return interpolation_error(kernel, step)


def _count(axes: Sequence[Axis], cells: Sequence[int]) -> float:
    """Return the number of points of a grid."""
    return math.prod(count + 1.0 if axis.is_number else axis.size for axis, count in zip(axes, cells, strict=True))


def spread_design(kernel: Kernel, candidates: Floats, T: int, lam: float) -> Design:
    """Spread T observations over the pivots of the kernel's factorisation, more of them where sigma_c is larger.

    The gain is concave in c with derivative sigma_c^2 / 2 lambda, so that at its maximum sigma_c is
    the same at all points of positive weight. Multiplying each weight by sigma_c^2 leads there.
    """
    pivots = features(kernel, candidates, UNEXPLAINED * min(lam / T, 1.0), largest_rank=LARGEST_DESIGN).pivots
    Z, r = candidates[pivots], len(pivots)
    K, c = kernel(Z, Z), np.full(r, T / max(r, 1))
    for _ in range(IMPROVEMENTS):
        share = _shares(_inverse_factor(K, c / lam))
        c = share * (T / (share.sum() or 1.0))
    inverse = _inverse_factor(K, c / lam)
    explained = lam * float(_shares(inverse).sum())
    return Design(kernel, Z, inverse * np.sqrt(c / lam), -float(np.log(inverse.diagonal()).sum()), explained)


def _inverse_factor(K: Floats, precision: Floats) -> Floats:
    """Return the inverse of the Cholesky factor of I + C^1/2 K C^1/2 / lambda, given C / lambda."""
    half = np.sqrt(precision)
    return np.asarray(np.linalg.inv(np.linalg.cholesky(np.eye(len(K)) + half[:, None] * K * half)))


def _shares(inverse: Floats) -> Floats:
    """Return c_z sigma_c(z)^2 / lambda of each point, the diagonal of I - (I + C^1/2 K C^1/2 / lambda)^-1."""
    return np.asarray(1 - (inverse**2).sum(axis=0))


def _check(kernel: Kernel, points: Floats) -> None:
    largest = float(kernel.diag(points).max())
    if not largest <= 1 + 16 * math.ulp(1.0):
        got, remedy = Description(f"{largest:.6g}"), "Divide the kernel by its largest k(x, x)."
        raise KernelError.of("kernel", "k(x, x) <= 1 on the space", got, remedy)
