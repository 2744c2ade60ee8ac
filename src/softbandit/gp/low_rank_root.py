"""A square root of the weights' covariance while there are fewer rounds than features: U = I + sum_s a_s q_s^T.

Each round adds one term, so that a product with U costs O(t r) in round t, where one with the matrix costs O(r^2).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Union

import numpy as np

from softbandit.backend import Floats
from softbandit.gp.anchored import GrowingRows

FEW_FEATURES = 256  # for which the matrix is as fast
MOST_TERMS = 0.5  # per feature: with more, the terms take more memory than the matrix


@dataclass(frozen=True, eq=False)
class LowRankRoot:
    """U of b trials, as its terms. Adding one returns a new value.

    The new value shares the buffer of the terms with the old one, and appends to it in place. A second new value
    from the same old one gets a copy.
    """

    trials: int  # b
    rank: int  # r
    t: int
    _table: GrowingRows  # one row per term: a and q of every trial

    __array_ufunc__ = None  # x @ U calls __rmatmul__

    @classmethod
    def identity(cls, trials: int, rank: int) -> "LowRankRoot":
        return cls(trials, rank, 0, GrowingRows.from_matrix(np.empty((0, 2 * trials * rank))))

    @property
    def terms(self) -> Floats:
        """The vectors a and q: (t, 2, b, r)."""
        return self._table.buffer[: self.t].reshape(self.t, 2, self.trials, self.rank)

    def times(self, x: Floats) -> Floats:
        """Return U x for each row of x (b, k, r)."""
        a, q = self._by_trial()
        return np.asarray(x + (x @ np.matrix_transpose(q)) @ a)

    def __rmatmul__(self, x: Floats) -> Floats:
        """Return U^T x for each row of x (b, k, r)."""
        a, q = self._by_trial()
        return np.asarray(x + (x @ np.matrix_transpose(a)) @ q)

    def plus_outer(self, a: Floats, q: Floats) -> Union["LowRankRoot", Floats]:
        """Return U + a q^T for a and q (b, r): as a matrix, if there are many terms."""
        shared = self._table.rows > self.t  # another value has appended to it
        table = GrowingRows.from_matrix(self._table.buffer[: self.t]) if shared else self._table
        table.append(np.concatenate([a, q], axis=None))
        after = replace(self, t=self.t + 1, _table=table)
        return after if after.t < MOST_TERMS * self.rank else np.asarray(after)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        """Return U as a matrix: (b, r, r)."""
        a, q = self._by_trial()
        return np.eye(self.rank) + np.matrix_transpose(a) @ q

    def arrays(self) -> Iterator[Floats]:
        """Return the terms, for a file."""
        yield self.terms.copy()

    def refilled(self, values: Iterator[Floats]) -> Union["LowRankRoot", Floats]:
        """Return the root with the terms that `arrays` returned, or with the matrix that it has become."""
        stored, shape = next(values), (self.trials, self.rank)
        if stored.shape == (*shape, self.rank):
            return stored
        if stored.ndim != 4 or stored.shape[1:] != (2, *shape) or len(stored) >= MOST_TERMS * self.rank:
            raise ValueError(f"an array of shape {stored.shape} is not a root of {self.rank} features")
        table = GrowingRows.from_matrix(stored.reshape(len(stored), 2 * self.trials * self.rank))
        return replace(self, t=len(stored), _table=table)

    def _by_trial(self) -> tuple[Floats, Floats]:
        """Return a and q: (b, t, r) each."""
        a, q = self.terms.transpose(1, 2, 0, 3)
        return a, q
