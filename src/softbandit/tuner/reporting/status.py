"""The status of a tuner, in words and numbers: limits, reward against the baseline, and the recommended values.

Intervals of what was measured are plain 95% intervals of a mean over the rounds so far (`intervals.py`). Those of what
is expected of the recommended values come from the model, and hold with its probability 90%.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from softbandit.backend import Floats
from softbandit.backend.display import brief_probability
from softbandit.domains import Values
from softbandit.tuner.reporting.intervals import Interval
from softbandit.tuner.words.limits import Limit, Share
from softbandit.tuner.words.wording import assignments, short, signed, wrapped

MOST_IDS = 8  # of pending rounds that are listed


@dataclass(frozen=True)
class LimitStatus:
    """The state of a limit over the rounds that count for it."""

    limit: Limit
    rounds: int
    measured: Interval | None  # in the limit's units; None without rounds
    price: float | None  # the reward given up per unit, in the last decision; None before anything was learned

    @classmethod
    def of(cls, limit: Limit, costs: Floats, price: float | None) -> "LimitStatus":
        """Return the status of a limit, given the costs of all rounds since it counts."""
        values = [limit.measure(cost) for cost in costs[-(limit.window or 0) :].tolist()]  # the last 0 are all
        interval = Interval.of_share if isinstance(limit, Share) else Interval.of
        return cls(limit, len(values), interval(values), price)

    @property
    def used(self) -> float | None:
        """The share of the budget that is used; None if the limit is no budget: a lower bound, or at most 0."""
        if self.measured is None or self.limit.sign < 0 or self.limit.bound <= 0:
            return None
        return self.measured.mean / self.limit.bound

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "no rounds yet"
        excess = [self.limit.sign * (value - self.limit.bound) for value in self.measured]
        return "held" if excess[0] <= 0 else "at its limit" if min(excess) <= 0 else "exceeded"

    def __str__(self) -> str:
        if self.measured is None:
            return self.verdict
        used = [] if self.used is None else [f"{self.used:.0%} used"]
        price = [] if self.price is None else [f"price {short(self.price)}"]
        return ", ".join([self.measured.show(self.limit.show), *used, self.verdict, *price])


@dataclass(frozen=True)
class Recommended:
    """Values to keep, and what is expected of them by the model."""

    values: Values
    context: Values | None
    metric: Interval
    gain: Interval | None  # over the baseline; None without one
    limits: Sequence[Interval]  # of what each limit is on
    feasible: float  # the probability that all limits are met
    alternating: Interval | None = None  # the metric of values that alternate, if that is better


@dataclass(frozen=True)
class Status:
    """The status of a tuner. `print` it, or read its fields."""

    name: str
    goal: str
    metric: str
    paused: bool
    counts: Mapping[str, int]  # of rounds by status, and of other observations
    pending: Sequence[int]  # ids of rounds without a report, oldest first
    reward: Interval | None  # the metric, over the rounds with other values than the baseline
    baseline: Interval | None
    gain: Interval | None  # over the baseline; positive is better
    limits: Sequence[LimitStatus]
    recommended: Recommended | None
    notes: Sequence[str]  # what was noticed

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        counts = ", ".join(f"{count} {status}" for status, count in self.counts.items() if count)
        yield from wrapped(f"{self.name}: {self.goal}; {counts or 'no rounds yet'}")
        if self.paused:
            yield "paused: no new values are tried"
        if self.reward or self.baseline:
            yield from self._reward_lines()
        for status in self.limits:
            yield from wrapped(f"limit {status.limit.text}: {status}")
        if self.recommended is not None:
            yield from self._recommended_lines(self.recommended)
        if self.pending:
            more = len(self.pending) - MOST_IDS
            listed = [*map(str, self.pending[:MOST_IDS]), *([f"and {more} more"] if more > 0 else [])]
            yield from wrapped(f"pending rounds: {', '.join(listed)}")
        for note in self.notes:
            yield from wrapped(f"note: {note}")

    def _reward_lines(self) -> Iterator[str]:
        parts = [f"{name} {interval.show(short)}" for name, interval in self._means() if interval is not None]
        yield from wrapped("; ".join(parts))
        if self.gain is not None:
            base = self.baseline.mean if self.baseline else 0.0
            relative = f", {self.gain.mean / abs(base):+.1%}" if base else ""
            yield from wrapped(f"gain over the baseline {self.gain.show(signed)}{relative}")

    def _recommended_lines(self, best: Recommended) -> Iterator[str]:
        context = "" if best.context is None else f" if {assignments(best.context)}"
        yield from wrapped(f"recommended{context}: {assignments(best.values)}")
        gain = "" if best.gain is None else f", gain {best.gain.show(signed)}"
        yield from wrapped(f"  {self.metric} {best.metric.show(short)}{gain}")
        for status, interval in zip(self.limits, best.limits, strict=True):
            yield from wrapped(f"  {status.limit.name} {interval.show(status.limit.show)}")
        if self.limits:
            yield f"  all limits met with probability {brief_probability(best.feasible)}"
        if best.alternating is not None:
            shown = best.alternating.show(short)
            yield from wrapped(f"  {self.metric} {shown} if values may alternate: print(tuner.recommend())")

    def _means(self) -> Iterator[tuple[str, Interval | None]]:
        yield f"mean {self.metric}", self.reward
        yield "baseline", self.baseline

    def to_json(self) -> dict[str, Any]:
        """Return it as what JSON can hold; an end of an interval that is not known is None."""
        limits = [
            {
                "limit": status.limit.text,
                "rounds": status.rounds,
                "measured": status.measured,
                "used": status.used,
                "verdict": status.verdict,
                "price": status.price,
            }
            for status in self.limits
        ]
        plain: dict[str, Any] = _plain(asdict(self) | {"limits": limits})
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return {name: _plain(number) for name, number in value._asdict().items()}
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
