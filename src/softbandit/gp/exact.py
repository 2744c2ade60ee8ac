"""The exact posterior on a continuous domain, by a Cholesky factor that grows by a row per round.

| symbol | meaning | shape |
|---|---|---|
| X, Y | the observed points, and the k outputs there | t x d, t x k |
| L | L L^T = K_t + lambda I | t x t |
| v | L^-1 Y | t x k |
| alpha | (K_t + lambda I)^-1 Y = L^-T v | t x k |
| gain | realised information gain, 1/2 ln det(I + K_t / lambda) | |

    mu_t(x) = k_t(x)^T alpha            k_t(x, x) = k(x, x) - |L^-1 k_t(x)|^2

Outputs that share a kernel and lambda share L. A round costs O(t^2).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from softbandit.backend import Floats
from softbandit.gp.anchored import Anchored, GrowingRows
from softbandit.gp.growing_cholesky import GrowingCholesky
from softbandit.gp.kernel import Kernel

JITTER = 1e-10
"""lambda is at least this fraction of k(x, x), so that repeated points do not make K_t + lambda I singular."""


POINTS, OUTPUTS, WHITENED, LAMBDA = range(4)  # the parts of a row: x, y, v and lambda


@dataclass(frozen=True, eq=False)
class Exact(Anchored):
    """The exact posterior after t rounds, whose anchors are the observed points."""

    @classmethod
    def of(cls, kernel: Kernel, regularisation: float, X: Floats, Y: Floats) -> "Exact":
        """Return the posterior after observing Y (t, k) at X (t, d), all at once."""
        t, k = Y.shape
        lam = np.maximum(regularisation, JITTER * kernel.diag(X))
        L = np.linalg.cholesky(kernel(X, X) + np.diag(lam))
        factor = GrowingCholesky.from_matrix(L)
        table = GrowingRows.from_matrix(np.concatenate([X, Y, factor.solve(Y, t), lam[:, None]], axis=1))
        gain = float(np.log(np.diagonal(L)).sum() - 0.5 * np.log(lam).sum())
        return cls(kernel, regularisation, k, X.shape[1], gain=gain, t=t, _table=table, _factor=factor)

    def _widths(self) -> tuple[int, ...]:
        return self.dimension, self.outputs, self.outputs, 1

    def _stored(self, anchors: int) -> dict[str, tuple[int, ...]]:
        return {"gain": ()}

    @property
    def anchors(self) -> Floats:
        return self._part(POINTS)

    @property
    def y(self) -> Floats:
        return self._part(OUTPUTS)

    @cached_property
    def coefficients(self) -> Floats:
        return self._factor.solve_transposed(self._part(WHITENED), self.t)

    @property
    def fitted(self) -> Floats:
        """K alpha = Y - lambda alpha."""
        return self.y - self._part(LAMBDA) * self.coefficients

    def explained(self, K: Floats) -> tuple[Floats, Callable[[], Floats]]:
        V = self._factor.solve(K.T, self.t)
        return np.einsum("tn,tn->n", V, V), lambda: self._factor.solve_transposed(V, self.t).T

    def deviation(self, path: Floats, rng: np.random.Generator) -> Floats:
        """Apply Matheron's rule: w = -(K + lambda I)^-1 (path + noise), noise ~ N(0, lambda)."""
        noisy = path[:, None] + np.sqrt(self._part(LAMBDA)) * rng.standard_normal((self.t, 1))
        whitened = self._factor.solve(noisy, self.t)
        return -self._factor.solve_transposed(whitened, self.t)[:, 0]

    def condition(self, x: Floats, y: Floats) -> Self:
        X = x[None, :]
        prior = float(self.kernel.diag(X)[0])
        lam = max(self.regularisation, JITTER * prior)
        row = self._factor.solve(self.kernel(self.anchors, X), self.t)[:, 0]
        pivot = float(np.sqrt(lam + max(prior - float(row @ row), 0.0)))  # a negative variance is rounding
        v = (y - row @ self._part(WHITENED)) / pivot
        grown = self._unshared()
        grown._factor.append(row, pivot)
        grown._table.append(np.concatenate([x, y, v, [lam]]))
        return replace(grown, gain=self.gain + float(np.log(pivot) - 0.5 * np.log(lam)), t=self.t + 1)
