"""Reports about asks: one each, which later ones may repeat but not contradict."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from softbandit import errors, validation
from softbandit.errors import DecisionError, FeedbackError
from softbandit.tuner.events import Draft, Event
from softbandit.tuner.words.description import Description

if TYPE_CHECKING:
    from softbandit.tuner.storage.log import Log

OPEN = ("asked", "expired")  # feedback may be late
LONGEST_REASON = 500


def append_report(log: "Log", draft: Draft) -> list[Event]:
    """Append what was measured, or a failure. The same report again has no effect; another one is refused.

    A failure that is reported again keeps its first reason.
    """
    last = _last_event(log, draft.ask)
    if last.kind in OPEN:
        return log.append(draft)
    if last.kind == draft.kind and (last.kind == "failed" or last.body == draft.body):
        return []
    raise _contradiction(last, draft)


def append_expiry(log: "Log", ask: int) -> list[Event]:
    """Append that a round is no longer waited for, unless something was reported about it."""
    return log.append(Draft("expired", {}, ask)) if _last_event(log, ask).kind == "asked" else []


def report(description: Description, ask: int, failed: Any, metrics: Mapping[str, object]) -> Draft:
    """Return the event of what was measured in a round, or of its failure."""
    if failed is None:
        return Draft("told", {"metrics": description.check_metrics(metrics)}, ask)
    if metrics:
        raise FeedbackError.of("tell", "metrics or failed=, not both", dict(metrics), "A failed round has no metrics.")
    return Draft("failed", {"reason": validation.text("failed", failed)[:LONGEST_REASON]}, ask)


def _last_event(log: "Log", ask: int | None) -> Event:
    assert ask is not None
    events = log.of_ask(ask)
    if not events:
        asks = log.asks()
        expected = f"an ask of this tuner, 1 to {asks}" if asks else "an ask of this tuner, which has none yet"
        raise DecisionError.of("suggestion", expected, ask, "Pass what ask() returned, or its id.")
    return events[-1]


def _contradiction(last: Event, draft: Draft) -> DecisionError:
    remedy = "A round is reported once; use observe() for a second measurement."
    got = errors.Description(_in_words(draft))
    return DecisionError.of(f"ask {last.ask}", f"what was reported before, {_in_words(last)}", got, remedy)


def _in_words(report: Event | Draft) -> str:
    if report.kind == "failed":
        return f"failed={report.body['reason']!r}"
    return ", ".join(f"{name}={value!r}" for name, value in report.body["metrics"].items())
