"""A lower triangular matrix that grows by rows, and solves with it.

It is kept in blocks of rows that are never moved: appending costs no copy, and memory is
half of the square's. Blocks on the diagonal are kept inverted, so that a solve is matrix
products only. (A triangular solver would come from SciPy's linear algebra library, whose
threads and NumPy's get in each other's way: a hundred times slower on two cores.)
"""

from dataclasses import dataclass, field

import numpy as np

from softbandit.backend.shapes import Floats

ROWS = 128  # of a block


@dataclass(frozen=True, eq=False)
class Band:
    """Rows first, ..., first + ROWS - 1: what stands before the diagonal block, and the inverse of that block."""

    before: Floats  # (ROWS, first)
    inverse: Floats  # (ROWS, ROWS), lower triangular


@dataclass(eq=False)
class Triangle:
    """L, of which `rows` rows are filled."""

    bands: list[Band] = field(default_factory=list)
    rows: int = 0

    def append(self, row: Floats, pivot: float) -> None:
        """One more row: what stands before the diagonal (rows,), and the entry on it."""
        first, at = self.rows - self.rows % ROWS, self.rows % ROWS
        if at == 0:
            self.bands.append(Band(np.zeros((ROWS, first)), np.zeros((ROWS, ROWS))))
        band = self.bands[-1]
        band.before[at] = row[:first]
        band.inverse[at, :at] = row[first:] @ band.inverse[:at, :at] / -pivot
        band.inverse[at, at] = 1 / pivot
        self.rows += 1

    @classmethod
    def of(cls, L: Floats) -> "Triangle":
        """Of a lower triangular matrix as a whole."""
        found = cls(rows=len(L))
        for first in range(0, len(L), ROWS):
            k = min(ROWS, len(L) - first)
            band = Band(np.zeros((ROWS, first)), np.zeros((ROWS, ROWS)))
            band.before[:k] = L[first : first + k, :first]
            band.inverse[:k, :k] = np.tril(np.linalg.inv(L[first : first + k, first : first + k]))
            found.bands.append(band)
        return found

    def copy(self, rows: int) -> "Triangle":
        """The first rows, in memory of their own."""
        last = -(-rows // ROWS)
        return Triangle([Band(band.before.copy(), band.inverse.copy()) for band in self.bands[:last]], rows)

    def solve(self, B: Floats, rows: int) -> Floats:
        """L^-1 B with the first rows of L; B is (rows, n)."""
        X = np.empty(B.shape)
        for first, last, band in self._spans(rows):
            k = last - first
            rest = B[first:last] - band.before[:k] @ X[:first] if first else B[first:last]
            X[first:last] = band.inverse[:k, :k] @ rest
        return X

    def solve_transposed(self, B: Floats, rows: int) -> Floats:
        """L^-T B with the first rows of L; B is (rows, n)."""
        X = np.array(B, order="C")
        for first, last, band in reversed(self._spans(rows)):
            k = last - first
            X[first:last] = band.inverse[:k, :k].T @ X[first:last]
            if first:
                X[:first] -= band.before[:k].T @ X[first:last]
        return X

    def packed(self, rows: int) -> Floats:
        """The first rows as they are kept, without the zeros above the diagonal: all that makes them again."""
        parts = [np.empty(0)]
        for first, last, band in self._spans(rows):
            for i in range(last - first):
                parts += [band.before[i], band.inverse[i, : i + 1]]
        return np.concatenate(parts)

    @classmethod
    def unpacked(cls, values: Floats, rows: int) -> "Triangle":
        found, at = cls(rows=rows), 0
        for i in range(rows):
            first, k = i - i % ROWS, i % ROWS
            if k == 0:
                found.bands.append(Band(np.zeros((ROWS, first)), np.zeros((ROWS, ROWS))))
            found.bands[-1].before[k] = values[at : at + first]
            found.bands[-1].inverse[k, : k + 1] = values[at + first : at + i + 1]
            at += i + 1
        return found

    def _spans(self, rows: int) -> list[tuple[int, int, Band]]:
        return [
            (first, min(first + ROWS, rows), band)
            for first, band in zip(range(0, rows, ROWS), self.bands, strict=False)
        ]
