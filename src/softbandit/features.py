"""A kernel on finite arms as features: K = Phi Phi^T, by pivoted Cholesky factorisation.

Only the columns of K that are chosen as pivots are ever computed: time O(n r^2) and
memory O(n r) for n arms and rank r.
"""

from dataclasses import dataclass

import numpy as np

from softbandit.checks import Floats
from softbandit.errors import KernelError
from softbandit.kernels import Kernel

TOLERANCE = 1e-13
"""What Phi Phi^T may miss of any entry of K, relative to the largest k(x, x)."""

LARGEST_PHI = 4 * 2**30  # bytes


@dataclass(frozen=True, eq=False)
class Features:
    """Phi, and the diagonal of K as the kernel gives it (Phi has it up to the tolerance)."""

    phi: Floats  # (n, r), rows contiguous
    diag: Floats  # (n,)
    residual: float  # no entry of K - Phi Phi^T is larger

    @property
    def rank(self) -> int:
        return int(self.phi.shape[1])


def features(kernel: Kernel, arms: Floats, tolerance: float = TOLERANCE) -> Features:
    """Factorise the kernel on the arms until no residual variance exceeds the tolerance.

    The residual K - Phi Phi^T is positive semi-definite, so its largest entry stands on
    its diagonal: bounding the diagonal bounds them all.

    >>> from softbandit.kernels import SquaredExponential
    >>> arms = np.linspace(0, 1, 1000)[:, None]
    >>> phi = features(SquaredExponential(0.2), arms).phi
    >>> phi.shape
    (1000, 20)
    """
    with np.errstate(over="ignore"):
        diag = kernel.diag(arms)
    residual, largest = diag.copy(), diag.max()
    if not np.isfinite(diag).all() or diag.min() < 0:
        bad = int(np.argmin(np.where(np.isfinite(diag), diag, -np.inf)))
        remedy = "Check the kernel's scale against the size of the features."
        raise KernelError.of("kernel", "finite k(x, x) >= 0 at every arm", f"{diag[bad]} at arm {bad}", remedy)
    n = len(arms)
    phi = np.empty((n, min(n, 32)), order="F")  # columns contiguous while it grows
    r = 0
    while r < n and residual.max() > tolerance * largest:
        if r == phi.shape[1]:
            phi = _widened(phi)
        p = int(residual.argmax())
        column = kernel(arms, arms[p : p + 1])[:, 0] - phi[:, :r] @ phi[p, :r]
        phi[:, r] = column / np.sqrt(residual[p])
        residual = np.maximum(residual - phi[:, r] ** 2, 0.0)
        residual[p] = 0.0
        r += 1
    return Features(np.ascontiguousarray(phi[:, :r]), diag, float(residual.max()))


def _widened(phi: Floats) -> Floats:
    n, r = phi.shape
    wider = min(n, 2 * r)
    if 8 * n * wider > LARGEST_PHI:
        remedy = "Use fewer arms, a smoother kernel or a longer length scale."
        raise KernelError.of("kernel", f"a rank below {r} on {n} arms", "a higher one", remedy)
    grown = np.empty((n, wider), order="F")
    grown[:, :r] = phi
    return grown
