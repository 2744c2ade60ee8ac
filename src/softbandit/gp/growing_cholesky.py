"""A lower triangular matrix that grows by rows, and solves with it.

It is stored in blocks of rows that are never moved: appending copies nothing, and memory is half of
a square matrix's. Diagonal blocks are stored inverted, so that a solve consists of matrix products.
(A triangular solver would come from SciPy's BLAS, whose threads compete with those of NumPy's BLAS:
100x slower on two cores.) The columns of a right-hand side are contiguous: if they are few, products
are 1.3x faster so.
"""

from dataclasses import dataclass, field

import numpy as np

from softbandit.backend import Floats

ROWS = 128  # per block


@dataclass(frozen=True, eq=False)
class Block:
    """Rows first, ..., first + ROWS - 1: the columns before the diagonal block, and the inverse of that block."""

    before: Floats  # (ROWS, first)
    inverse: Floats  # (ROWS, ROWS), lower triangular


@dataclass(eq=False)
class GrowingCholesky:
    """L, of which `rows` rows are filled."""

    blocks: list[Block] = field(default_factory=list)
    rows: int = 0

    def append(self, row: Floats, pivot: float) -> None:
        """Append a row: its entries before the diagonal (rows,), and the one on it."""
        i = self.rows % ROWS
        first = self.rows - i
        inverse = self.blocks[-1].inverse[:i, :i] if i else np.empty((0, 0))
        self._store(np.concatenate([row[:first], row[first:] @ inverse / -pivot, [1 / pivot]]))

    @classmethod
    def from_matrix(cls, L: Floats) -> "GrowingCholesky":
        factor = cls()
        for first in range(0, len(L), ROWS):
            rows = L[first : first + ROWS]
            for i, inverse in enumerate(np.linalg.inv(rows[:, first : first + ROWS])):
                factor._store(np.concatenate([rows[i, :first], inverse[: i + 1]]))
        return factor

    def solve(self, B: Floats, rows: int) -> Floats:
        """Return L^-1 B with the first rows of L; B is (rows, n)."""
        columns = np.empty(B.T.shape)
        for first, last, block in self._spans(rows):
            k = last - first
            rest = B[first:last].T - columns[:, :first] @ block.before[:k].T if first else B[first:last].T
            columns[:, first:last] = rest @ block.inverse[:k, :k].T
        return columns.T

    def solve_transposed(self, B: Floats, rows: int) -> Floats:
        """Return L^-T B with the first rows of L; B is (rows, n)."""
        columns = np.array(B.T, order="C")
        for first, last, block in reversed(self._spans(rows)):
            k = last - first
            columns[:, first:last] = columns[:, first:last] @ block.inverse[:k, :k]
            if first:
                columns[:, :first] -= columns[:, first:last] @ block.before[:k]
        return columns.T

    def packed(self, rows: int) -> Floats:
        """Return the first rows as they are stored, without the zeros above the diagonal."""
        parts = [np.empty(0)]
        for first, last, block in self._spans(rows):
            for i in range(last - first):
                parts += [block.before[i], block.inverse[i, : i + 1]]
        return np.concatenate(parts)

    @classmethod
    def unpacked(cls, values: Floats, rows: int) -> "GrowingCholesky":
        """Return the matrix that `packed` stored."""
        factor = cls()
        for row in range(rows):
            start = row * (row + 1) // 2
            factor._store(values[start : start + row + 1])
        return factor

    def _store(self, row: Floats) -> None:
        """Append a row (rows + 1,) whose entries in the diagonal block are those of its inverse."""
        i = self.rows % ROWS
        first = self.rows - i
        if i == 0:
            self.blocks.append(Block(np.zeros((ROWS, first)), np.zeros((ROWS, ROWS))))
        self.blocks[-1].before[i] = row[:first]
        self.blocks[-1].inverse[i, : i + 1] = row[first:]
        self.rows += 1

    def _spans(self, rows: int) -> list[tuple[int, int, Block]]:
        starts = range(0, rows, ROWS)
        return [(first, min(first + ROWS, rows), block) for first, block in zip(starts, self.blocks, strict=False)]
