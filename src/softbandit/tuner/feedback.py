"""What is appended to the log for a report about an ask: once, if it fits what was reported before."""

from typing import TYPE_CHECKING, Any

from softbandit import validation
from softbandit.errors import DecisionError, Description, FeedbackError
from softbandit.tuner.events import Draft, Event
from softbandit.tuner.rounds import Metrics

if TYPE_CHECKING:
    from softbandit.tuner.store import Log

OPEN = ("asked", "expired")  # feedback may be late
LONGEST_REASON = 500


def append_metrics(log: "Log", ask: int, metrics: Metrics) -> list[Event]:
    """Append what was measured. The same report again has no effect; another one is refused."""
    last = _last_event(log, ask)
    if last.kind in OPEN:
        return log.append(Draft("told", {"metrics": metrics}, ask))
    if last.kind == "told" and last.body["metrics"] == metrics:
        return []
    raise _contradiction(last, _in_words(metrics))


def append_failure(log: "Log", ask: int, reason: str) -> list[Event]:
    """Append that a round failed. Another failure of it has no effect: the first reason stays."""
    last = _last_event(log, ask)
    if last.kind in OPEN:
        return log.append(Draft("failed", {"reason": reason}, ask))
    if last.kind == "failed":
        return []
    raise _contradiction(last, f"failed: {reason}")


def append_expiry(log: "Log", ask: int) -> list[Event]:
    """Append that a round is no longer waited for, unless something was reported about it."""
    return log.append(Draft("expired", {}, ask)) if _last_event(log, ask).kind == "asked" else []


def checked_reason(reason: Any) -> str:
    return validation.text("reason", reason)[:LONGEST_REASON]


def _last_event(log: "Log", ask: int) -> Event:
    events = log.of_ask(ask)
    if not events:
        asks = log.asks()
        expected = f"an ask of this tuner, 1 to {asks}" if asks else "an ask of this tuner, which has none yet"
        raise DecisionError.of("suggestion", expected, ask, "Pass what ask() returned, or its id.")
    return events[-1]


def _contradiction(last: Event, given: str) -> FeedbackError:
    before = _in_words(last.body["metrics"]) if last.kind == "told" else f"failed: {last.body['reason']}"
    remedy = "A round is reported once; use observe() for a second measurement."
    return DecisionError.of(f"ask {last.ask}", f"what was reported before, {before}", Description(given), remedy)


def _in_words(metrics: Metrics) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in metrics.items())
