"""The interface of a posterior on a continuous domain, and how its state grows, is stored and is restored.

A posterior of k outputs depends on a point only through the kernel between it and the anchors:

    mu(x) = k(x, anchors) @ coefficients        var(x) = k(x, x) - explained
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np

from softbandit.backend import Floats
from softbandit.gp.growing_cholesky import GrowingCholesky
from softbandit.gp.kernel import Kernel


def no_rows() -> Floats:
    """Return a matrix without rows, of no width yet."""
    return np.empty((0, 0))


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
            full, self.buffer = self.buffer, np.empty((2 * self.rows, self.buffer.shape[1]))
            self.buffer[: self.rows] = full
        self.buffer[self.rows] = row
        self.rows += 1


@dataclass(frozen=True, eq=False)
class Anchored(ABC):
    """The posterior after t rounds. Conditioning returns a new value.

    The new value shares its table and factor with the old one, and appends to them in place. A
    second new value from the same old one gets a copy, so that neither changes the other.
    """

    kernel: Kernel
    regularisation: float
    outputs: int
    dimension: int
    _: KW_ONLY
    gain: float = 0.0
    t: int = 0
    _table: GrowingRows = field(default_factory=lambda: GrowingRows(no_rows()))  # one row per round
    _factor: GrowingCholesky = field(default_factory=GrowingCholesky)  # one row per anchor

    def __post_init__(self) -> None:
        if not self._table.buffer.size:  # of no width yet
            object.__setattr__(self, "_table", GrowingRows.from_matrix(np.empty((0, sum(self._widths())))))
            for name, shape in self._stored(0).items():
                if shape:
                    object.__setattr__(self, name, np.empty(shape))

    @property
    @abstractmethod
    def anchors(self) -> Floats:
        """The observed points that represent the posterior (a, d)."""

    @property
    @abstractmethod
    def coefficients(self) -> Floats:
        """(a, k): mu(x) = k(x, anchors) @ coefficients."""

    @property
    @abstractmethod
    def fitted(self) -> Floats:
        """mu at the anchors (a, k)."""

    @abstractmethod
    def explained(self, K: Floats) -> tuple[Floats, Callable[[], Floats]]:
        """Return k(x, x) minus the variance (n,), for K = k(X, anchors), and a function that computes
        half of its derivative by K (n, a), at the same cost again.
        """

    @abstractmethod
    def deviation(self, path: Floats, rng: np.random.Generator) -> Floats:
        """Return w (a,) with path(x) + k(x, anchors) @ w ~ GP(0, k_t), from a prior sample's values at the anchors."""

    @abstractmethod
    def condition(self, x: Floats, y: Floats) -> Self:
        """Return the posterior after observing y (k,) at x (d,)."""

    @abstractmethod
    def _widths(self) -> tuple[int, ...]:
        """Return the number of columns of each part of the table."""

    @abstractmethod
    def _stored(self, anchors: int) -> dict[str, tuple[int, ...]]:
        """Return the fields that a file holds besides the table and the factor, and their shapes."""

    def _part(self, i: int) -> Floats:
        """Return a part of the table: one row per round."""
        widths = self._widths()
        first = sum(widths[:i])
        return self._table.buffer[: self.t, first : first + widths[i]]

    def _unshared(self) -> Self:
        """Return this posterior with a table and a factor that no other has appended to."""
        anchors = len(self.anchors)
        if self._table.rows == self.t and self._factor.rows == anchors:
            return self
        table = GrowingRows.from_matrix(self._table.buffer[: self.t])
        return replace(self, _table=table, _factor=GrowingCholesky.unpacked(self._factor.packed(anchors), anchors))

    def arrays(self) -> Iterator[Floats | float]:
        """Return all that observations changed, for a file."""
        anchors = len(self.anchors)
        yield from (np.array(self._table.buffer[: self.t]), self._factor.packed(anchors))
        yield from (getattr(self, name) for name in self._stored(anchors))

    def refilled(self, values: Iterator[Floats]) -> Self:
        """Return a posterior with the same settings and the state that `arrays` returned."""
        rows, packed = next(values), next(values)
        anchors = (math.isqrt(8 * packed.size + 1) - 1) // 2
        expected = self._stored(anchors)
        state = {name: np.asarray(next(values)) for name in expected}
        shapes = [rows.shape[1:], packed.shape, *(array.shape for array in state.values())]
        if shapes != [(sum(self._widths()),), (anchors * (anchors + 1) // 2,), *expected.values()]:
            raise ValueError(f"arrays of shapes {shapes} are not those of a posterior of {anchors} points")
        if any(np.isnan(array).any() for array in (rows, packed, *state.values())):
            raise ValueError("NaN in the posterior")
        table, factor = GrowingRows.from_matrix(rows), GrowingCholesky.unpacked(packed, anchors)
        fields: dict[str, Any] = {name: array if array.ndim else array.item() for name, array in state.items()}
        posterior = replace(self, t=len(rows), _table=table, _factor=factor, **fields)
        if len(posterior.anchors) != anchors:
            raise ValueError(f"{len(rows)} rounds and a factor of {anchors} points")
        return posterior
