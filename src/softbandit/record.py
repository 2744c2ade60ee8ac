"""The record of an agent's rounds: what was played, and what was observed, in the order in which it was told."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softbandit.backend import Floats
from softbandit.domains import Domain
from softbandit.gp import GrowingRows


class Record:
    """One row per round: the arm or point, the reward, each cost, and the dual before the round's update."""

    def __init__(self, arms: Floats | Domain, constraints: int, rows: Floats | None = None) -> None:
        self._arms = arms
        self._dimension = arms.dimension if isinstance(arms, Domain) else None
        self._constraints = constraints
        width = (self._dimension or 1) + 1 + 2 * constraints
        table = np.empty((0, width)) if rows is None else rows
        if table.ndim != 2 or table.shape[1] != width or not np.isfinite(table).all():
            raise ValueError(f"expected a record of finite rows of {width} numbers, got shape {table.shape}")
        self._table = GrowingRows.from_matrix(table)

    def append(self, arm: Floats, reward: Floats, cost: Floats, dual: Floats) -> None:
        """Add a round; each argument is flat."""
        self._table.append(np.concatenate([arm, reward, cost, dual]))

    def with_costs_lowered(self, by: Floats) -> "Record":
        """Return a record of the same rounds with each cost lower by (m,)."""
        record, first = copy.copy(self), (self._dimension or 1) + 1
        record._table = GrowingRows.from_matrix(self.rows)
        record._table.buffer[: len(self), first : first + self._constraints] -= by
        return record

    def __len__(self) -> int:
        return self._table.rows

    @property
    def rows(self) -> Floats:
        """All of it, as a read-only view."""
        rows = self._table.buffer[: len(self)]
        rows.flags.writeable = False
        return rows

    @property
    def arms(self) -> NDArray[Any]:
        """The arms (T,), or on a continuous domain the points (T, d)."""
        if self._dimension is None:
            return self.rows[:, 0].astype(np.int64)
        return self.rows[:, : self._dimension]

    @property
    def points(self) -> Floats:
        """The features of the arms, or the points: (T, d)."""
        return self.arms if isinstance(self._arms, Domain) else self._arms[self.arms]

    @property
    def rewards(self) -> Floats:
        """(T,)."""
        return self.rows[:, self._dimension or 1]

    @property
    def costs(self) -> Floats:
        """(T, m)."""
        first = (self._dimension or 1) + 1
        return self.rows[:, first : first + self._constraints]

    @property
    def dual(self) -> Floats:
        """(T, m)."""
        return self.rows[:, (self._dimension or 1) + 1 + self._constraints :]
