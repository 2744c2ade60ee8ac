"""Features of finite arms for a kernel: K = Phi Phi^T, by pivoted Cholesky factorisation.

Only the columns of K that become pivots are computed: time O(n r^2) and
memory O(n r) for n arms and rank r.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softbandit import validation
from softbandit.backend import Bools, Floats, HostOnly, Ints, Traced, namespace
from softbandit.errors import ArgumentError, Description, KernelError
from softbandit.gp.kernel import Kernel, checked_kernel

TOLERANCE = 1e-13  # the largest error of any entry of Phi Phi^T, relative to the largest k(x, x)
LEAST_TOLERANCE = 2e-15  # below it are the rounding errors of the factorisation itself
TOLERANCE_PER_LAMBDA = 1e-11  # after t rounds an error of e moves a mean by about e t / lambda
LARGEST_PHI = 2**30  # bytes
NEGATIVE = 1e-10  # a residual variance below minus this, relative to the largest k(x, x), is not rounding


@dataclass(frozen=True, eq=False)
class Features:
    """Phi, and the diagonal of K as the kernel computes it (Phi Phi^T has it up to the tolerance)."""

    basis: Traced[Floats]  # (r, n): Phi^T, one row per feature
    diag: Traced[Floats]  # (n,)
    pivots: HostOnly[Ints]  # (r,): they determine the basis
    residual: HostOnly[float]  # no entry of K - Phi Phi^T is larger

    @property
    def phi(self) -> Floats:
        """Phi: (n, r)."""
        return self.basis.T

    def over_arms(self, weights: Floats) -> Floats:
        """Return the functions (trials, ..., n) over the arms that have weights (trials, ..., r)."""
        # One product per trial: in a single product of all, rounding would depend on the number of trials.
        return namespace(weights).vecmat(weights, self.basis) if weights.ndim == 2 else weights @ self.basis

    @property
    def rank(self) -> int:
        return len(self.basis)

    @property
    def shape(self) -> tuple[int, int]:
        """The rank and the number of arms."""
        return len(self.basis), len(self.diag)


def checked_features(value: object) -> Features:
    """Return a factorised kernel."""
    if not isinstance(value, Features):
        remedy = "Build it with theory.features(kernel, arms)."
        raise ArgumentError.of("features", "a factorised kernel", value, remedy)
    return value


def tolerance_for(regularisation: float) -> float:
    """Return the tolerance for posteriors with that lambda: 1e-13, and less if it is below 0.01."""
    return max(LEAST_TOLERANCE, min(TOLERANCE, TOLERANCE_PER_LAMBDA * regularisation))


def features(
    kernel: Kernel,
    arms: Floats,
    tolerance: float = TOLERANCE,
    pivots: Sequence[int] | None = None,
    largest_rank: int | None = None,
) -> Features:
    """Factorise the kernel on the arms until no residual variance exceeds the tolerance, or to the largest rank.

    The residual K - Phi Phi^T is positive semi-definite, so its largest entry is on its
    diagonal: bounding the diagonal bounds all entries. If `pivots` is passed, exactly those
    are used, in that order, which reproduces the basis of an earlier factorisation.

    >>> from softbandit.gp.kernels import SquaredExponential
    >>> arms = np.linspace(0, 1, 1000)[:, None]
    >>> features(SquaredExponential(0.2), arms).phi.shape
    (1000, 20)
    """
    kernel, arms = checked_kernel("kernel", kernel), validation.points("arms", arms)
    tolerance, chosen = validation.nonnegative("tolerance", tolerance), _checked_pivots(pivots, len(arms))
    diag = checked_diag(kernel, arms)
    n, largest = len(arms), diag.max()
    residual, used = diag.copy(), []
    basis = np.empty((_rows(n, 32), n))
    most = n if largest_rank is None else min(validation.whole("largest_rank", largest_rank, least=0), n)
    for r in range(most if chosen is None else len(chosen)):
        p = int(residual.argmax()) if chosen is None else chosen[r]
        if residual[p] <= (tolerance * largest if chosen is None else 0.0):
            break
        if r == len(basis):
            basis = _grown(basis)
        column = kernel(arms, arms[p : p + 1])[:, 0] - basis[:r].T @ basis[:r, p]
        basis[r] = column / np.sqrt(residual[p])
        residual -= basis[r] ** 2
        _check("a positive semi-definite function", residual, residual >= -NEGATIVE * largest)
        residual = np.maximum(residual, 0.0)
        residual[p] = 0.0
        used.append(p)
    rank = len(used)
    return Features(basis[:rank].copy(), diag, np.array(used, dtype=np.int64), float(residual.max()))


def checked_diag(kernel: Kernel, arms: Floats) -> Floats:
    """Return k(x, x) of every arm."""
    with np.errstate(over="ignore"):
        diag = kernel.diag(arms)
    _check("finite k(x, x) >= 0 at every arm", diag, np.isfinite(diag) & (diag >= 0))
    return diag


def _checked_pivots(pivots: object, n: int) -> list[int] | None:
    if pivots is None:
        return None
    given = validation.listed("pivots", pivots, "numbers of arms", "Pass those of an earlier factorisation.")
    return [validation.whole("pivots", p, 0, n - 1) for p in given]


def _check(expected: str, variance: Floats, valid: Bools) -> None:
    if not valid.all():
        bad = int(np.argmin(valid))
        got = Description(f"a variance of {variance[bad]:.3g} at arm {bad}")
        raise KernelError.of("kernel", expected, got, "Check its formula, and its scale against the features.")


def _grown(basis: Floats) -> Floats:
    r, n = basis.shape
    rows = _rows(n, 2 * r)
    if rows <= r:
        remedy = "Use fewer arms, a smoother kernel or a longer length scale."
        raise KernelError.of("kernel", f"a rank below {r} on {n} arms", Description("a higher one"), remedy)
    grown = np.empty((rows, n))
    grown[:r] = basis
    return grown


def _rows(n: int, wanted: int) -> int:
    """Return the wanted number of rows, limited by the largest rank n and by memory; at least 1."""
    return max(1, min(wanted, n, LARGEST_PHI // (8 * n)))
