"""The answer to an ask."""

from dataclasses import dataclass
from typing import Any

from softbandit.domains import Values
from softbandit.tuner.events import Event
from softbandit.tuner.words.values import from_json


@dataclass(frozen=True)
class Suggestion:
    """The values to try next, and why.

    Attributes
    ----------
    id
        The number of the ask, from 1 on: any process may tell what came of it.
    values
        A value for each parameter.
    context
        The context that it was asked for, if the tuner has one.
    kind
        "baseline", "first rounds", "explore", "best" or "paused".
    expected
        What the model expects there, by metric.
    tuner
        The name of the tuner.
    """

    id: int
    values: Values
    context: Values | None
    kind: str
    expected: dict[str, Any]
    tuner: str

    @classmethod
    def of(cls, event: Event, tuner: str) -> "Suggestion":
        assert event.ask is not None
        body = event.body
        values, context = from_json(body["values"]), from_json(body["context"])
        return cls(event.ask, values, context, body["kind"], body["expected"], tuner)
