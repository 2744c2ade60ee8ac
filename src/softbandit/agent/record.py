"""The record of an agent's rounds: all that is needed to play them again, in the order in which they were told."""

import copy
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softbandit.backend import Floats
from softbandit.domains import Domain
from softbandit.gp import GrowingRows

NO_TICKET = -1.0  # of a round from a file of version 3, which has neither tickets nor estimates


class Entry(NamedTuple):
    """One round of a record; every part is flat."""

    arm: NDArray[Any]  # (1,), or on a continuous domain the point (d,)
    reward: Floats  # (1,)
    cost: Floats  # (m,), as it was told
    dual: Floats  # (m,), before the round's update
    estimates: Floats  # (1 + m,): those of the decision
    ticket: int


class Record:
    """One row per round. A record is a value: `appended` returns a longer one, and leaves this one as it is.

    Both share one buffer, to which rows are appended in place. A second record that is appended to the same
    one gets a copy. So any thread may read a record, but only one at a time may append to those that share rows.
    """

    def __init__(
        self, arms: Floats | Domain, constraints: int, rows: Floats | None = None, raises: Floats | None = None
    ) -> None:
        """Continue from `rows`, and `raises` (k, 1 + m) of the limits: after how many rounds, and by how much."""
        d, m = arms.dimension if isinstance(arms, Domain) else 1, constraints
        ends = np.cumsum([d, 1, m, m, 1 + m, 1]).tolist()
        self._parts = [slice(*ends) for ends in pairwise([0, *ends])]  # of a row: those of an Entry
        self._arms = arms
        table = np.empty((0, ends[-1])) if rows is None else rows
        self._raises = np.empty((0, 1 + m)) if raises is None else raises
        if table.ndim != 2 or table.shape[1] != ends[-1] or not np.isfinite(table).all():
            raise ValueError(f"expected a record of finite rows of {ends[-1]} numbers, got shape {table.shape}")
        self._check_raises(len(table), m)
        self._table, self._length = GrowingRows.from_matrix(table), len(table)

    @classmethod
    def of_version_3(cls, arms: Floats | Domain, constraints: int, rows: Floats) -> "Record":
        """Return the record in a file of version 3, whose rows end with the dual."""
        blank = np.zeros((len(rows), 1 + constraints)), np.full((len(rows), 1), NO_TICKET)
        return cls(arms, constraints, np.concatenate([rows, *blank], axis=1))

    def appended(self, entry: Entry) -> "Record":
        """Return the record with one more round."""
        shared = self._table.rows == self._length  # no other record was appended to this one
        table = self._table if shared else GrowingRows.from_matrix(self.rows)
        table.append(np.concatenate([*entry[:-1], [entry.ticket]]))
        record = copy.copy(self)
        record._table, record._length = table, self._length + 1
        return record

    def with_limits_raised(self, by: Floats) -> "Record":
        """Return a record of the same rounds in which every cost so far is lower by (m,)."""
        record = copy.copy(self)
        record._raises = np.concatenate([self._raises, np.append(len(self), by)[None]])
        return record

    def row_of(self, ticket: int, first: int) -> int | None:
        """Return the row of a ticket, from row `first` on; None if it is not there."""
        rows = np.flatnonzero(self._table.buffer[first : self._length, -1] == ticket)
        return first + int(rows[0]) if len(rows) else None

    def entries(self) -> Iterator[Entry]:
        """Iterate over the rounds as they were told."""
        for row in self.rows:
            arm, reward, cost, dual, estimates, ticket = (row[part] for part in self._parts)
            yield Entry(self._as_arms(arm), reward, cost, dual, estimates, int(ticket[0]))

    def __len__(self) -> int:
        return self._length

    @property
    def rows(self) -> Floats:
        """All of it, as a read-only view."""
        rows = self._table.buffer[: self._length]
        rows.flags.writeable = False
        return rows

    @property
    def raises(self) -> Floats:
        """(k, 1 + m): after how many rounds the limits were raised, and by how much."""
        return self._raises

    @property
    def arms(self) -> NDArray[Any]:
        """The arms (T,), or on a continuous domain the points (T, d)."""
        arms = self._as_arms(self._part(0))
        return arms if isinstance(self._arms, Domain) else arms[:, 0]

    @property
    def points(self) -> Floats:
        """The features of the arms, or the points: (T, d)."""
        return self.arms if isinstance(self._arms, Domain) else self._arms[self.arms]

    @property
    def rewards(self) -> Floats:
        """(T,)."""
        return self._part(1)[:, 0]

    @property
    def costs(self) -> Floats:
        """(T, m), by the present limits."""
        if not len(self._raises):
            return self._part(2)
        costs = self._part(2).copy()
        for after, *by in self._raises:
            costs[: int(after)] -= by
        costs.flags.writeable = False
        return costs

    @property
    def dual(self) -> Floats:
        """(T, m)."""
        return self._part(3)

    @property
    def tickets(self) -> Floats:
        """(T,): those of the decisions."""
        return self._part(5)[:, 0]

    def _part(self, i: int) -> Floats:
        return self.rows[:, self._parts[i]]

    def _as_arms(self, part: Floats) -> NDArray[Any]:
        return part if isinstance(self._arms, Domain) else part.astype(np.int64)

    def _check_raises(self, rounds: int, m: int) -> None:
        raises = self._raises
        if raises.ndim != 2 or raises.shape[1] != 1 + m or not np.isfinite(raises).all():
            raise ValueError(f"expected finite raises of {m} limits, got shape {raises.shape}")
        if not np.isin(raises[:, 0], np.arange(rounds + 1)).all() or (np.diff(raises[:, 0]) < 0).any():
            raise ValueError(f"expected raises after 0 to {rounds} rounds, in order")
