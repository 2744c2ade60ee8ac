"""The exact posterior on a continuous domain, by a Cholesky factor that grows by a row per round.

| symbol | meaning | shape |
|---|---|---|
| X, Y | the observed points, and the k outputs there | t x d, t x k |
| L | L L^T = K_t + lambda I | t x t |
| v | L^-1 Y | t x k |
| alpha | (K_t + lambda I)^-1 Y = L^-T v | t x k |
| gain | realised information gain, 1/2 ln det(I + K_t / lambda) | |

    mu_t(x) = k_t(x)^T alpha            k_t(x, x) = k(x, x) - |L^-1 k_t(x)|^2

Outputs that share a kernel and lambda share L. A round costs O(t^2). Any posterior of this
form, mean = K(x, anchors) coefficients and variance = k(x, x) - explained, can replace it
(`Anchored`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from softbandit.backend.shapes import Floats
from softbandit.gp.growing_cholesky import GrowingCholesky
from softbandit.gp.kernel import Kernel

JITTER = 1e-10
"""lambda is at least this fraction of k(x, x), so that repeated points do not make K_t + lambda I singular."""


class Anchored(Protocol):
    """A posterior of k outputs that depends on a point only through the kernel between it and the anchors."""

    @property
    def kernel(self) -> Kernel: ...
    @property
    def gain(self) -> float: ...
    @property
    def anchors(self) -> Floats:
        """(a, d)"""

    @property
    def coefficients(self) -> Floats:
        """(a, k): mu(x) = k(x, anchors) @ coefficients."""

    def explained(self, K: Floats) -> tuple[Floats, Floats]:
        """Return k(x, x) minus the variance (n,), and half of its derivative by K (n, a), for K = k(X, anchors)."""

    def explained_only(self, K: Floats) -> Floats:
        """Return the same without the derivative, at half the cost."""

    def deviation(self, path: Floats, rng: np.random.Generator) -> Floats:
        """Return w (a,) with path(x) + k(x, anchors) @ w ~ GP(0, k_t), from a prior sample's values at the anchors."""

    @property
    def points(self) -> Floats:
        """The observed points (t, d)."""

    @property
    def fitted(self) -> Floats:
        """mu at the observed points (t, k)."""

    def condition(self, x: Floats, y: Floats) -> Self:
        """Return the posterior after observing y (k,) at x (d,)."""

    def arrays(self) -> Iterator[Floats | float]:
        """Return all that observations changed, for a file."""

    def refilled(self, values: Iterator[Floats]) -> Self:
        """Return a posterior with the same settings and the state that `arrays` returned."""


@dataclass(eq=False)
class GrowingRows:
    """Rows that are appended in place, in a buffer that doubles when it is full."""

    buffer: Floats
    rows: int = 0

    @classmethod
    def from_matrix(cls, matrix: Floats) -> "GrowingRows":
        t, width = matrix.shape
        buffer = np.zeros((max(16, t), width))
        buffer[:t] = matrix
        return cls(buffer, t)

    def append(self, row: Floats) -> None:
        if self.rows == len(self.buffer):
            self.buffer = np.concatenate([self.buffer, np.empty_like(self.buffer)])
        self.buffer[self.rows] = row
        self.rows += 1

    def copy(self, rows: int) -> "GrowingRows":
        return GrowingRows(self.buffer.copy(), rows)


@dataclass(frozen=True, eq=False)
class Exact:
    """The posterior after t rounds. Conditioning returns a new value.

    The new value shares its rows with the old one and appends to them in place. A second new
    value from the same old one gets a copy, so that neither changes the other.
    """

    kernel: Kernel
    regularisation: float
    outputs: int
    dimension: int
    gain: float = 0.0
    t: int = 0
    _factor: GrowingCholesky = field(default_factory=GrowingCholesky)
    _table: GrowingRows = None  # type: ignore[assignment]  # columns x, y, v and lambda; built below

    def __post_init__(self) -> None:
        if self._table is None:
            blank = np.empty((0, self.dimension + 2 * self.outputs + 1))
            object.__setattr__(self, "_table", GrowingRows.from_matrix(blank))

    @classmethod
    def of(cls, kernel: Kernel, regularisation: float, X: Floats, Y: Floats) -> "Exact":
        """Return the posterior after observing Y (t, k) at X (t, d), all at once."""
        t, k = Y.shape
        lam = np.maximum(regularisation, JITTER * kernel.diag(X))
        L = np.linalg.cholesky(kernel(X, X) + np.diag(lam))
        factor = GrowingCholesky.from_matrix(L)
        table = GrowingRows.from_matrix(np.concatenate([X, Y, factor.solve(Y, t), lam[:, None]], axis=1))
        gain = float(np.log(np.diagonal(L)).sum() - 0.5 * np.log(lam).sum())
        return cls(kernel, regularisation, k, X.shape[1], gain, t, factor, table)

    def _columns(self, first: int, count: int) -> Floats:
        return self._table.buffer[: self.t, first : first + count]

    @property
    def points(self) -> Floats:
        return self._columns(0, self.dimension)

    anchors = points

    @property
    def y(self) -> Floats:
        return self._columns(self.dimension, self.outputs)

    @property
    def _whitened(self) -> Floats:
        return self._columns(self.dimension + self.outputs, self.outputs)

    @property
    def _lambda(self) -> Floats:
        return self._columns(self.dimension + 2 * self.outputs, 1)

    @cached_property
    def coefficients(self) -> Floats:
        return self._factor.solve_transposed(self._whitened, self.t)

    @property
    def fitted(self) -> Floats:
        """K alpha = Y - lambda alpha."""
        return self.y - self._lambda * self.coefficients

    def explained(self, K: Floats) -> tuple[Floats, Floats]:
        V = self._factor.solve(K.T, self.t)
        return np.einsum("tn,tn->n", V, V), self._factor.solve_transposed(V, self.t).T

    def explained_only(self, K: Floats) -> Floats:
        V = self._factor.solve(K.T, self.t)
        return np.asarray(np.einsum("tn,tn->n", V, V))

    def deviation(self, path: Floats, rng: np.random.Generator) -> Floats:
        """Apply Matheron's rule: w = -(K + lambda I)^-1 (path + noise), noise ~ N(0, lambda)."""
        noisy = path[:, None] + np.sqrt(self._lambda) * rng.standard_normal((self.t, 1))
        whitened = self._factor.solve(noisy, self.t)
        return -self._factor.solve_transposed(whitened, self.t)[:, 0]

    def condition(self, x: Floats, y: Floats) -> Self:
        X = x[None, :]
        prior = float(self.kernel.diag(X)[0])
        lam = max(self.regularisation, JITTER * prior)
        row = self._factor.solve(self.kernel(self.points, X), self.t)[:, 0]
        pivot = float(np.sqrt(lam + max(prior - float(row @ row), 0.0)))  # a negative variance is rounding
        v = (y - row @ self._whitened) / pivot
        factor, table = self._factor, self._table
        if factor.rows != self.t:  # another value has appended to them
            factor, table = factor.copy(self.t), table.copy(self.t)
        factor.append(row, pivot)
        table.append(np.concatenate([x, y, v, [lam]]))
        gain = self.gain + float(np.log(pivot) - 0.5 * np.log(lam))
        return replace(self, gain=gain, t=self.t + 1, _factor=factor, _table=table)

    def arrays(self) -> Iterator[Floats | float]:
        yield np.array(self._table.buffer[: self.t])
        yield self._factor.packed(self.t)
        yield self.gain

    def refilled(self, values: Iterator[Floats]) -> Self:
        rows, packed, gain = next(values), next(values), next(values)
        t, width = len(rows), self._table.buffer.shape[1]
        if rows.shape != (t, width) or packed.shape != (t * (t + 1) // 2,) or np.shape(gain) != ():
            raise ValueError(f"expected {width} columns and their factor, got {rows.shape} and {packed.shape}")
        if np.isnan(rows).any() or np.isnan(packed).any():
            raise ValueError("NaN in the posterior")
        factor, table = GrowingCholesky.unpacked(packed, t), GrowingRows.from_matrix(rows)
        return replace(self, gain=float(gain), t=t, _factor=factor, _table=table)
