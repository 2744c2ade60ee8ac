"""Events: all that ever happens to a tuner, numbered 1, 2, 3 ... The log of them is the truth.

    created, changed     description
    asked                values, context, kind, expected
    told                 metrics
    failed               reason
    expired              (the deadline has passed)
    observed             values, metrics, context
    paused, resumed

`asked`, `told`, `failed` and `expired` are about one ask, whose id is `ask`: asks are numbered 1, 2, 3 ... too.
"""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from softbandit.errors import Description, StoreError

Body = dict[str, Any]

FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    "created": {"description": (dict,)},
    "changed": {"description": (dict,)},
    "asked": {"values": (dict,), "context": (dict, type(None)), "kind": (str,), "expected": (dict,)},
    "told": {"metrics": (dict,)},
    "failed": {"reason": (str,)},
    "expired": {},
    "observed": {"values": (dict,), "metrics": (dict,), "context": (dict, type(None))},
    "paused": {},
    "resumed": {},
}
"""The fields of each kind of event, with their types."""

OF_AN_ASK = frozenset(("asked", "told", "failed", "expired"))
YEAR_5138 = 1e11  # in seconds since 1970
DESCRIBES = frozenset(("created", "changed"))


@dataclass(frozen=True)
class Event:
    """One thing that happened to a tuner."""

    number: int
    kind: str
    ask: int | None
    at: float  # seconds since 1970, by the writer's clock
    body: Body


class Draft(NamedTuple):
    """An event that is not in the log yet."""

    kind: str
    body: Body
    ask: int | None = None
    at: float | None = None  # now, by default

    def at_number(self, number: int) -> Event:
        return Event(number, self.kind, self.ask, time.time() if self.at is None else self.at, self.body)


def encode(body: Body) -> str:
    """Return a body as JSON text, which holds each float exactly."""
    return json.dumps(body)


def decode(number: Any, kind: Any, ask: Any, at: Any, text: Any) -> Event:
    """Return a stored event, or raise an error if no version of this library wrote it."""
    what = f"event {number}"
    if not isinstance(kind, str) or kind not in FIELDS:
        remedy = "Update softbandit if a newer version wrote it; otherwise restore the tuner from an export."
        raise StoreError.of(what, f"one of {', '.join(FIELDS)}", kind, remedy)
    try:
        body = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        body = None
    fields = FIELDS[kind]
    is_sound = isinstance(body, dict) and all(isinstance(body.get(name, ...), kinds) for name, kinds in fields.items())
    if not (is_sound and len(body) == len(fields) and _fits(kind, ask) and _is_time(at)):
        expected = f"{kind!r} with {', '.join(fields) or 'no fields'}{' of an ask' if kind in OF_AN_ASK else ''}"
        remedy = "It is damaged: restore the tuner from an export."
        raise StoreError.of(what, expected, Description(str(text)[:60]), remedy)
    return Event(number, kind, ask, float(at), body)


def in_order(events: Iterable[Event], after: int) -> Iterator[Event]:
    """Yield the events if their numbers follow `after` without gaps."""
    for expected, event in enumerate(events, start=after + 1):
        if event.number != expected:
            remedy = "Events were removed or repeated: restore the tuner from an export."
            raise StoreError.of("log", f"event {expected} next", Description(f"event {event.number}"), remedy)
        yield event


def _fits(kind: str, ask: object) -> bool:
    return type(ask) is int and ask > 0 if kind in OF_AN_ASK else ask is None


def _is_time(at: object) -> bool:
    return isinstance(at, (int, float)) and 0 <= at < YEAR_5138
