"""The exact posterior at points that many rounds evaluate, such as the candidates of a search.

L^-1 k(anchors, points) is solved block by block of L, and a full block never changes. So what was solved is kept, and
a round solves the last block alone: O(t) per point in place of O(t^2), with the same numbers to the bit.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats
from softbandit.gp.growing_cholesky import ROWS, GrowingCholesky
from softbandit.gp.kernel import Kernel


class Solved(NamedTuple):
    """The rows of the first full blocks, for n points."""

    points: Floats  # (n, d)
    K: Floats  # (rows, n): k(anchors, points)
    V: Floats  # (rows, n): L^-1 K
    explained: Floats  # (n,): the sum of V^2

    @classmethod
    def nothing(cls, points: Floats) -> "Solved":
        n = len(points)
        return cls(points, np.empty((0, n)), np.empty((0, n)), np.zeros(n))

    def plus(self, K: Floats, factor: GrowingCholesky) -> "Solved":
        """Return these and the rows K (k, n) of the next block."""
        V = factor.solve_block(len(self.V) // ROWS, self.V, K)
        explained = self.explained + np.einsum("tn,tn->n", V, V)
        return Solved(self.points, np.concatenate([self.K, K]), np.concatenate([self.V, V]), explained)


@dataclass(eq=False)
class FixedPoints:
    """What is kept from round to round: nothing at first."""

    solved: Solved = field(default_factory=lambda: Solved.nothing(np.empty((0, 0))))

    def evaluate(
        self, kernel: Kernel, factor: GrowingCholesky, anchors: Floats, a: Floats, points: Floats
    ) -> tuple[Floats, Floats]:
        """Return k(points, anchors) @ a (n, k), and the explained variance (n,)."""
        full = len(anchors) - len(anchors) % ROWS
        solved = self._at(points, full)
        while (first := len(solved.V)) < full:
            solved = solved.plus(kernel(anchors[first : first + ROWS], points), factor)
        self.solved = solved
        K = kernel(anchors[full:], points)
        V = factor.solve_block(full // ROWS, solved.V, K) if len(K) else K
        return solved.K.T @ a[:full] + K.T @ a[full:], solved.explained + np.einsum("tn,tn->n", V, V)

    def _at(self, points: Floats, full: int) -> Solved:
        """Return what is kept, or nothing if it is of other points or of a later round."""
        kept = self.solved
        return kept if len(kept.V) <= full and np.array_equal(kept.points, points) else Solved.nothing(points)
