"""Limits on what is measured, in its own units. Each becomes one cost per round, whose mean may be at most zero.

| limit | cost of a round with value v |
|---|---|
| Mean(metric, at_most=a) | v - a |
| Mean(metric, at_least=a) | a - v |
| Share(metric, above=t, at_most=p) | 1 if v > t, else 0; less p |
| Share(metric, below=t, at_most=p) | 1 if v < t, else 0; less p |
| Excess(metric, above=t, at_most=e) | max(v - t, 0) - e |
"""

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass

from softbandit import validation
from softbandit.errors import ArgumentError, Description
from softbandit.tuner.words.wording import short

LARGEST = validation.LARGEST / 10  # metric or limit: the difference of two of them is a cost that policies accept
LONGEST = 2**53  # window


@dataclass(frozen=True)
class Limit(ABC):
    """A limit on the mean of something that each round measures, over all rounds or over the last so many."""

    metric: str
    _: KW_ONLY
    over: int | str = "all"

    def __post_init__(self) -> None:
        validation.store(self, metric=metric_name("metric", self.metric))
        if not isinstance(self.over, str):
            validation.store(self, over=validation.whole("over", self.over, 1, LONGEST))
        elif self.over != "all":
            raise ArgumentError.of("over", '"all" or a number of rounds', self.over, "For example over=500.")
        self._check()

    @abstractmethod
    def _check(self) -> None:
        """Check the other settings."""

    @abstractmethod
    def cost(self, value: float) -> float:
        """Return the cost of a round in which the metric had this value."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """The number that is not to be passed."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The quantity that is limited, such as "mean latency_ms"."""

    @property
    def sign(self) -> float:
        """1 if what is limited is at most the bound, -1 if it is at least the bound."""
        return 1.0

    @property
    def is_linear(self) -> bool:
        """Whether the cost is the value less a constant, up to its sign."""
        return False

    def cost_noise(self, noise: float | None) -> float | None:
        """Return the standard deviation of the cost's noise, given that of the metric, if they are known."""
        return noise if self.is_linear else None

    @property
    def window(self) -> int | None:
        """The number of last rounds that count; None if all do."""
        return None if isinstance(self.over, str) else self.over

    def measure(self, mean_cost: float) -> float:
        """Return what a mean cost means in the limit's own units: a mean, a share or an excess."""
        return self.bound + self.sign * mean_cost

    def show(self, measured: float) -> str:
        """Return such a number, or an end of its interval, as text."""
        return short(measured)

    @property
    def text(self) -> str:
        """The limit in words, such as "mean latency_ms <= 12"."""
        window = "" if self.window is None else f", last {self.window} rounds"
        return f"{self.name} {'<=' if self.sign > 0 else '>='} {self._bound_text}{window}"

    @property
    def _bound_text(self) -> str:
        return f"{self.bound:.12g}"


@dataclass(frozen=True)
class Mean(Limit):
    """The mean of a metric is at most, or at least, a number.

    >>> Mean("latency_ms", at_most=12).cost(11.5)
    -0.5
    >>> Mean("rows_per_s", at_least=1000).text
    'mean rows_per_s >= 1000'
    """

    _: KW_ONLY
    at_most: float | None = None
    at_least: float | None = None

    def _check(self) -> None:
        _check_one_number(self, "at_most", "at_least")

    @property
    def bound(self) -> float:
        return _given(self.at_most, self.at_least)

    @property
    def sign(self) -> float:
        return 1.0 if self.at_most is not None else -1.0

    @property
    def is_linear(self) -> bool:
        return True

    @property
    def name(self) -> str:
        return f"mean {self.metric}"

    def cost(self, value: float) -> float:
        return self.sign * (value - self.bound)


@dataclass(frozen=True)
class Share(Limit):
    """The metric is above, or below, a number in at most a share of the rounds.

    >>> Share("latency_ms", above=50, at_most=0.01).text
    'share of latency_ms > 50 <= 1%'
    """

    _: KW_ONLY
    above: float | None = None
    below: float | None = None
    at_most: float

    def _check(self) -> None:
        _check_one_number(self, "above", "below")
        share = validation.number("at_most", self.at_most)
        if not 0 <= share < 1:
            remedy = "For example at_most=0.01 for one round in a hundred."
            raise ArgumentError.of("at_most", "a share from 0 to 1, less than 1", self.at_most, remedy)
        validation.store(self, at_most=share)

    @property
    def bound(self) -> float:
        return self.at_most

    @property
    def name(self) -> str:
        side = ">" if self.above is not None else "<"
        return f"share of {self.metric} {side} {_given(self.above, self.below):.12g}"

    def cost_noise(self, noise: float | None) -> float | None:
        """Return that of a round which exceeds the number with the probability that is allowed."""
        return math.sqrt(self.at_most * (1 - self.at_most)) or None

    def cost(self, value: float) -> float:
        violated = value > self.above if self.above is not None else value < _given(self.below)
        return float(violated) - self.at_most

    def measure(self, mean_cost: float) -> float:
        return min(max(super().measure(mean_cost), 0.0), 1.0)  # an end of an interval may be beyond

    def show(self, measured: float) -> str:
        return f"{round(100 * min(max(measured, 0.0), 1.0), 2):g}%"

    @property
    def _bound_text(self) -> str:
        return f"{100 * self.at_most:.12g}%"


@dataclass(frozen=True)
class Excess(Limit):
    """The metric's mean excess over a number, counted as zero in rounds below it, is at most a number.

    >>> Excess("latency_ms", above=50, at_most=2).cost(53)
    1.0
    """

    _: KW_ONLY
    above: float
    at_most: float

    def _check(self) -> None:
        at_most = validation.nonnegative("at_most", self.at_most)
        validation.store(self, above=_sized("above", self.above), at_most=_sized("at_most", at_most))

    @property
    def bound(self) -> float:
        return self.at_most

    @property
    def name(self) -> str:
        return f"mean excess of {self.metric} over {self.above:.12g}"

    def cost(self, value: float) -> float:
        return max(value - self.above, 0.0) - self.at_most

    def measure(self, mean_cost: float) -> float:
        return max(super().measure(mean_cost), 0.0)  # an end of an interval may be below

    def show(self, measured: float) -> str:
        return short(max(measured, 0.0))


def metric_name(what: str, value: object) -> str:
    """Return the name of a metric; "failed" is left to `tell(suggestion, failed="timeout")`."""
    name = validation.text(what, value)
    if not name.strip() or name == "failed":
        raise ArgumentError.of(what, 'the name of a metric, other than "failed"', value, "Choose another name.")
    return name


def _check_one_number(limit: Limit, first: str, second: str) -> None:
    """Check that exactly one of two settings is given, and that it is a number."""
    given = {name: getattr(limit, name) for name in (first, second) if getattr(limit, name) is not None}
    if len(given) != 1:
        got = Description("both" if given else "neither")
        raise ArgumentError.of(f"{first}, {second}", "one of them", got, f"For example {first}=12.")
    name, number = next(iter(given.items()))
    validation.store(limit, **{name: _sized(name, number)})


def _sized(what: str, value: object) -> float:
    number = validation.number(what, value)
    if abs(number) > LARGEST:
        raise ArgumentError.of(what, f"a number of at most {LARGEST:g}", number, "Choose other units.")
    return number


def _given(*values: float | None) -> float:
    return next(value for value in values if value is not None)
