"""The evidence of a tuner: what was measured so far, encoded for learning, and which rounds are pending.

A failed round is learned from as the worst of what was seen so far: the lowest reward, and the highest cost of each
limit. It counts in the limits the same way. A failure before anything was seen waits until something is.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from softbandit.backend import Floats
from softbandit.domains import Values
from softbandit.gp import GrowingRows
from softbandit.tuner.words.description import Description

EXPLORING = ("first rounds", "explore")  # kinds of asks


class Ask(NamedTuple):
    """A round that was asked for."""

    values: Values
    context: Values | None
    kind: str


class Row(NamedTuple):
    """One measurement as it was reported."""

    values: Values
    context: Values | None
    metrics: Mapping[str, Any] | None  # None if the round failed
    counts: bool  # in the limits


class Evidence:
    """A fold over what happens to a tuner, which learns nothing: each step is cheap.

    | buffer | one row per | columns |
    |---|---|---|
    | data | measurement that can be encoded | time, point (d), outputs (1 + m) |
    | costs | round that counts in the limits | cost of each limit (m) |
    """

    def __init__(self, description: Description) -> None:
        self.asks: dict[int, Ask] = {}
        self.pending: dict[int, Ask] = {}
        self.explored = 0  # asks that did not play the best configuration at the time
        self.rows: list[Row] = []
        self.describe(description)
        self.since = [0] * len(description.limits)  # the first row of costs that counts for each limit

    def describe(self, description: Description) -> None:
        """Encode all rows again by a description."""
        self.description, m = description, len(description.limits)
        self.dimension = description.space.dimension + (description.context.dimension if description.context else 0)
        self._data = GrowingRows.from_matrix(np.empty((0, 2 + self.dimension + m)))
        self._costs = GrowingRows.from_matrix(np.empty((0, m)))
        self._worst: Floats | None = None
        self._unvalued: list[Row] = []  # failures before anything was seen
        self.time = 0  # rows encoded, whether they are learned from or not
        for row in self.rows:
            self._encode(row)

    # -- Events. --

    def asked(self, id: int, values: Values, context: Values | None, kind: str) -> None:
        self.asks[id] = self.pending[id] = Ask(values, context, kind)
        self.explored += kind in EXPLORING

    def told(self, id: int, metrics: Mapping[str, Any]) -> None:
        self._settled(id, metrics)

    def failed(self, id: int) -> None:
        self._settled(id, None)

    def expired(self, id: int) -> None:
        self.pending.pop(id, None)

    def observed(self, values: Values, metrics: Mapping[str, Any], context: Values | None) -> None:
        self._add(Row(values, context, metrics, counts=False))

    def _settled(self, id: int, metrics: Mapping[str, Any] | None) -> None:
        self.pending.pop(id, None)
        self._add(Row(self.asks[id].values, self.asks[id].context, metrics, counts=True))

    def _add(self, row: Row) -> None:
        self.rows.append(row)
        self._encode(row)

    def changed(self, description: Description) -> None:
        """Use another description. Debts of limits that stay the same are kept; new limits count from now on."""
        before = dict(zip(self.description.limits, self.since, strict=True))
        self.describe(description)
        self.since = [before.get(limit, self._costs.rows) for limit in description.limits]

    def _encode(self, row: Row) -> None:
        if row.metrics is not None and not self._is_complete(row.metrics):
            self._count(row, self._known_costs(row.metrics))
        elif row.metrics is not None:
            y = self.description.outputs(row.metrics)
            self._worst = y if self._worst is None else worse(self._worst, y)
            failed, self._unvalued = self._unvalued, []
            for earlier in failed:
                self._append(earlier, self._worst)
            self._append(row, y)
        elif self._worst is None:
            self._unvalued.append(row)
        else:
            self._append(row, self._worst)

    def _append(self, row: Row, y: Floats) -> None:
        x = self.point(row.values, row.context)
        if x is not None:
            self._data.append(np.concatenate([[self.time], x, y]))
        self._count(row, y[1:])

    def _count(self, row: Row, costs: Floats) -> None:
        if row.counts:
            self._costs.append(costs)
        self.time += 1

    def _is_complete(self, metrics: Mapping[str, Any]) -> bool:
        """Return whether a row has a number for each metric: one from before a change may lack some."""
        return all(isinstance(metrics.get(name), float) for name in self.description.metrics)

    def _known_costs(self, metrics: Mapping[str, Any]) -> Floats:
        """Return the cost of each limit, (m,); zero where it was not measured, which was before the limit counted."""
        values = [(limit, metrics.get(limit.metric)) for limit in self.description.limits]
        return np.array([limit.cost(value) if isinstance(value, float) else 0.0 for limit, value in values])

    # -- Arrays. --

    def point(self, values: Values, context: Values | None) -> Floats | None:
        """Return a configuration and its context as features (d,); None if the space has changed too much for it."""
        space, contexts = self.description.space, self.description.context
        x = space.encode_if_possible(values)
        if x is None or contexts is None:
            return x
        z = None if context is None else contexts.encode_if_possible(context)
        return None if z is None else np.concatenate([x, z])

    def __len__(self) -> int:
        return self._data.rows

    @property
    def times(self) -> Floats:
        return self._data.buffer[: len(self), 0]

    @property
    def X(self) -> Floats:
        return self._data.buffer[: len(self), 1 : 1 + self.dimension]

    @property
    def Y(self) -> Floats:
        return self._data.buffer[: len(self), 1 + self.dimension :]

    @property
    def pending_points(self) -> Floats:
        """The points of pending rounds, (p, d)."""
        points = [self.point(ask.values, ask.context) for ask in self.pending.values()]
        return np.array([x for x in points if x is not None]).reshape(-1, self.dimension)

    @property
    def rounds(self) -> int:
        """The number of rounds that count in the limits: those measured, and those pending."""
        return self._costs.rows + len(self.pending)

    def costs_by_limit(self) -> list[Floats]:
        """Return the costs of each limit in the rounds since it counts."""
        costs = self._costs.buffer[: self._costs.rows]
        return [costs[first:, i] for i, first in enumerate(self.since)]

    def debts(self) -> Floats:
        """Return the total of each cost over the rounds that count for its limit, (m,)."""
        windows = [limit.window or 0 for limit in self.description.limits]  # the last 0 are all of them
        return np.array([float(c[-window:].sum()) for c, window in zip(self.costs_by_limit(), windows, strict=True)])


def worse(a: Floats, b: Floats) -> Floats:
    """Return the lower of two rewards, and the higher of each two costs, (1 + m,)."""
    return np.append(min(a[0], b[0]), np.maximum(a[1:], b[1:]))
