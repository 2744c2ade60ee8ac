"""The bookkeeping of a tuner: a fold over all its events, which looks at no clock and learns nothing."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from softbandit import errors
from softbandit.domains import Values
from softbandit.tuner.events import DESCRIBES, Event
from softbandit.tuner.words.description import Description
from softbandit.tuner.words.values import from_json

Metrics = dict[str, float]

FOLLOWS = {"told": ("asked", "expired"), "failed": ("asked", "expired"), "expired": ("asked",)}
"""The statuses of a round in which an event about it may come: feedback may be late."""


@dataclass(frozen=True)
class Round:
    """One ask and what came of it."""

    id: int
    values: Values
    context: Values | None
    kind: str
    expected: dict[str, Any]
    asked: datetime
    status: str = "asked"  # or told, failed, expired
    metrics: Metrics | None = None
    reason: str | None = None  # of a failure
    told: datetime | None = None  # when its status last changed


@dataclass(frozen=True)
class Observation:
    """A measurement without an ask."""

    values: Values
    metrics: Metrics
    context: Values | None


class Rounds:
    """The rounds of a tuner so far, its description now, and whether it is paused."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.number = 0  # of the last event
        self.described = 0  # the number of the event with the description
        self.description: Description | None = None
        self.by_id: dict[int, Round] = {}
        self.pending: dict[int, Round] = {}  # in the order of their asks
        self.observed: list[Observation] = []
        self.paused = False
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> None:
        self._check((event.kind == "created") == (self.number == 0), event)
        if event.ask is not None:
            self._apply_to_round(event.ask, event)
        elif event.kind in DESCRIBES:
            self.description = _description(event)
            self.described = event.number
        elif event.kind == "observed":
            body = event.body
            row = Observation(from_json(body["values"]), body["metrics"], from_json(body["context"]))
            self.observed.append(row)
        else:
            self.paused = event.kind == "paused"
        self.number = event.number

    def overdue(self, now: float) -> list[int]:
        """Return the ids of the rounds whose deadline has passed."""
        deadline = self.description.deadline if self.description else None
        if deadline is None:
            return []
        return [id for id, round in self.pending.items() if round.asked.timestamp() + deadline <= now]

    def _apply_to_round(self, id: int, event: Event) -> None:
        time = datetime.fromtimestamp(event.at, UTC)
        if event.kind == "asked":
            self._check(id == len(self.by_id) + 1, event)
            body = event.body
            values, context = from_json(body["values"]), from_json(body["context"])
            self.pending[id] = self.by_id[id] = Round(id, values, context, body["kind"], body["expected"], time)
            return
        earlier = self.by_id.get(id)
        self._check(earlier is not None and earlier.status in FOLLOWS[event.kind], event)
        assert earlier is not None
        self.pending.pop(id, None)
        self.by_id[id] = replace(earlier, status=event.kind, told=time, **event.body)

    def _check(self, follows: bool, event: Event) -> None:
        if not follows:
            got = errors.Description(event.kind if event.ask is None else f"{event.kind} of ask {event.ask}")
            remedy = "The log is damaged: restore the tuner from an export."
            raise errors.StoreError.of(f"event {event.number}", "one that can follow those before", got, remedy)


def _description(event: Event) -> Description:
    try:
        return Description.from_json(event.body["description"])
    except errors.ArgumentError as error:
        raise errors.StoreError(f"event {event.number}: {error}") from error
