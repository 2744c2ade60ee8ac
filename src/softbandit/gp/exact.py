"""The exact posterior on a continuous domain, by a Cholesky factor that grows a row a round.

| symbol | meaning | shape |
|---|---|---|
| X, Y | the points seen, and the k outputs there | t x d, t x k |
| L | L L^T = K_t + lambda I | t x t |
| v | L^-1 Y | t x k |
| alpha | (K_t + lambda I)^-1 Y = L^-T v | t x k |
| gain | realised information gain, 1/2 ln det(I + K_t / lambda) | |

    mu_t(x) = k_t(x)^T alpha            k_t(x, x) = k(x, x) - |L^-1 k_t(x)|^2

Outputs that share a kernel and lambda share L. A round costs O(t^2). Any posterior of this
form, mean = K(x, anchors) coefficients and variance = k(x, x) - explained, can take its place
(`Anchored`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from softbandit.backend.shapes import Floats
from softbandit.gp.growing_cholesky import Triangle
from softbandit.gp.kernels import Kernel

JITTER = 1e-10
"""lambda is at least this share of k(x, x): repeated points are normal, and rounding must not undo them."""


class Anchored(Protocol):
    """A posterior of k outputs that is known through the kernel between a point and its anchors."""

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
        """Of K = k(X, anchors) (n, a): what is taken off k(x, x), (n,), and half of its derivative by K, (n, a)."""

    def explained_only(self, K: Floats) -> Floats:
        """The same without the derivative, at half the price."""

    def deviation(self, path: Floats, rng: np.random.Generator) -> Floats:
        """Of a sample of the prior at the anchors (a,): w (a,) with path(x) + k(x, anchors) @ w ~ GP(0, k_t)."""

    @property
    def points(self) -> Floats:
        """The points seen (t, d)."""

    @property
    def fitted(self) -> Floats:
        """mu at the points seen (t, k)."""

    def condition(self, x: Floats, y: Floats) -> Self:
        """The posterior after seeing y (k,) at x (d,)."""

    def arrays(self) -> Iterator[Any]:
        """All that it has learned, for a file."""

    def refilled(self, values: Iterator[Any]) -> Self:
        """One of the same settings that has learned what `arrays` gave."""


@dataclass(eq=False)
class Table:
    """Rows that are appended in place, with room to grow that doubles when it is used up."""

    buffer: Floats
    rows: int = 0

    def append(self, row: Sequence[float] | Floats) -> None:
        if self.rows == len(self.buffer):
            self.buffer = np.concatenate([self.buffer, np.empty_like(self.buffer)])
        self.buffer[self.rows] = row
        self.rows += 1

    def copy(self, rows: int) -> "Table":
        return Table(self.buffer.copy(), rows)


@dataclass(frozen=True, eq=False)
class Exact:
    """What t rounds have taught. Conditioning gives a new value.

    The new value shares its rows with the old one and appends to them in place; a second
    new value from the same old one gets a copy, so neither can disturb the other.
    """

    kernel: Kernel
    regularisation: float
    outputs: int
    dimension: int
    gain: float = 0.0
    t: int = 0
    _factor: Triangle = field(default_factory=Triangle)
    _table: Any = None  # columns x, y, v and lambda

    def __post_init__(self) -> None:
        if self._table is None:
            object.__setattr__(self, "_table", Table(np.empty((16, self.dimension + 2 * self.outputs + 1))))

    @classmethod
    def of(cls, kernel: Kernel, regularisation: float, X: Floats, Y: Floats) -> "Exact":
        """After seeing Y (t, k) at X (t, d), all at once."""
        t, k = Y.shape
        lam = np.maximum(regularisation, JITTER * kernel.diag(X))
        L = np.linalg.cholesky(kernel(X, X) + np.diag(lam))
        factor = Triangle.of(L)
        table = Table(np.empty((max(16, t), X.shape[1] + 2 * k + 1)))
        table.buffer[:t], table.rows = np.concatenate([X, Y, factor.solve(Y, t), lam[:, None]], axis=1), t
        gain = float(np.log(np.diagonal(L)).sum() - 0.5 * np.log(lam).sum())
        return cls(kernel, regularisation, k, X.shape[1], gain, t, factor, table)

    def _columns(self, first: int, count: int) -> Floats:
        rows: Floats = self._table.buffer[: self.t]
        return rows[:, first : first + count]

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
        """Matheron's rule: -(K + lambda I)^-1 (path + noise), noise ~ N(0, lambda)."""
        noisy = path[:, None] + np.sqrt(self._lambda) * rng.standard_normal((self.t, 1))
        whitened = self._factor.solve(noisy, self.t)
        return -self._factor.solve_transposed(whitened, self.t)[:, 0]

    def condition(self, x: Floats, y: Floats) -> Self:
        X = x[None, :]
        prior = float(self.kernel.diag(X)[0])
        lam = max(self.regularisation, JITTER * prior)
        row = self._factor.solve(self.kernel(self.points, X), self.t)[:, 0]
        pivot = float(np.sqrt(lam + max(prior - float(row @ row), 0.0)))  # less than lambda is rounding
        v = (y - row @ self._whitened) / pivot
        own = self._factor.rows == self.t
        factor = self._factor if own else self._factor.copy(self.t)
        table = self._table if own else self._table.copy(self.t)
        factor.append(row, pivot)
        table.append(np.concatenate([x, y, v, [lam]]))
        gain = self.gain + float(np.log(pivot) - 0.5 * np.log(lam))
        return replace(self, gain=gain, t=self.t + 1, _factor=factor, _table=table)

    def arrays(self) -> Iterator[Any]:
        yield np.array(self._table.buffer[: self.t])
        yield self._factor.packed(self.t)
        yield self.gain

    def refilled(self, values: Iterator[Any]) -> Self:
        rows, packed, gain = next(values), next(values), next(values)
        t, width = len(rows), self._table.buffer.shape[1]
        if rows.shape != (t, width) or packed.shape != (t * (t + 1) // 2,) or np.shape(gain) != ():
            raise ValueError(f"expected {width} columns and their factor, got {rows.shape} and {packed.shape}")
        if np.isnan(rows).any() or np.isnan(packed).any():
            raise ValueError("NaN in the posterior")
        table = Table(np.empty((16, width)))
        for row in rows:
            table.append(row)
        return replace(self, gain=float(gain), t=t, _factor=Triangle.unpacked(packed, t), _table=table)
