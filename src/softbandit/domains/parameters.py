"""Named parameters, each with its features in the unit cube: real numbers, whole numbers, choices."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from softbandit import validation
from softbandit.backend.shapes import Floats
from softbandit.errors import ArgumentError, Description


@dataclass(frozen=True)
class Float:
    """A real number in [low, high]."""

    low: float
    high: float

    width = 1  # features
    size = math.inf

    def __post_init__(self) -> None:
        _ordered(validation.number("low", self.low), validation.number("high", self.high))

    def encode(self, what: str, value: Any) -> list[float]:
        return [(_within(what, validation.number(what, value), self) - self.low) / (self.high - self.low)]

    def decode(self, u: Floats) -> float:
        return min(max(self.low + float(u[0]) * (self.high - self.low), self.low), self.high)

    def snap(self, U: Floats) -> Floats:
        return np.minimum(np.maximum(U, 0.0), 1.0)


@dataclass(frozen=True)
class LogFloat:
    """A real number in [low, high], low > 0, searched by its logarithm."""

    low: float
    high: float

    width = 1
    size = math.inf

    def __post_init__(self) -> None:
        _ordered(validation.positive("low", self.low), validation.positive("high", self.high))

    def encode(self, what: str, value: Any) -> list[float]:
        v = _within(what, validation.number(what, value), self)
        return [math.log(v / self.low) / math.log(self.high / self.low)]

    def decode(self, u: Floats) -> float:
        return min(max(float(self.low * (self.high / self.low) ** float(u[0])), self.low), self.high)

    def snap(self, U: Floats) -> Floats:
        return np.minimum(np.maximum(U, 0.0), 1.0)


@dataclass(frozen=True)
class Integer:
    """A whole number from low to high, both included."""

    low: int
    high: int

    width = 1

    def __post_init__(self) -> None:
        limit = 2**53  # whole numbers up to here are exact in float64
        _ordered(validation.whole("low", self.low, -limit, limit), validation.whole("high", self.high, -limit, limit))

    @property
    def size(self) -> float:
        return self.high - self.low + 1

    def encode(self, what: str, value: Any) -> list[float]:
        return [(validation.whole(what, value, self.low, self.high) - self.low) / (self.high - self.low)]

    def decode(self, u: Floats) -> int:
        return min(max(self.low + round(float(u[0]) * (self.high - self.low)), self.low), self.high)

    def snap(self, U: Floats) -> Floats:
        steps = self.high - self.low
        return np.round(np.minimum(np.maximum(U, 0.0), 1.0) * steps) / steps

    def steps(self, u: Floats) -> Floats:
        """One up and one down, where there is one."""
        i, last = self.decode(u) - self.low, self.high - self.low
        return np.array([[j / last] for j in (i - 1, i + 1) if 0 <= j <= last])

    def every(self) -> list[list[float]]:
        return [self.encode("", i) for i in range(self.low, self.high + 1)]


@dataclass(frozen=True)
class Categorical:
    """One of some choices, with no order among them."""

    choices: Sequence[Any]

    def __post_init__(self) -> None:
        given = self.choices
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) < 2 or _repeats(given):
            raise ArgumentError.of("choices", "two or more different choices", given, "Pass them as a list.")
        object.__setattr__(self, "choices", tuple(given))

    @property
    def width(self) -> int:
        return len(self.choices)

    @property
    def size(self) -> float:
        return len(self.choices)

    def encode(self, what: str, value: Any) -> list[float]:
        found = [float(type(choice) is type(value) and choice == value) for choice in self.choices]
        if not any(found):
            raise ArgumentError.of(what, f"one of {list(self.choices)}", value, "Choose one of them.")
        return found

    def decode(self, u: Floats) -> Any:
        return self.choices[int(np.argmax(u))]

    def snap(self, U: Floats) -> Floats:
        return np.asarray(np.eye(self.width)[np.argmax(U, axis=1)])

    def steps(self, u: Floats) -> Floats:
        return np.asarray(np.eye(self.width)[np.arange(self.width) != np.argmax(u)])

    def every(self) -> list[list[float]]:
        return np.eye(self.width).tolist()


Parameter: TypeAlias = Float | LogFloat | Integer | Categorical


def _ordered(low: float, high: float) -> None:
    if not (low < high and math.isfinite(high - low)):
        raise ArgumentError.of("low, high", "low < high", (low, high), "Check the order.")


def _within(what: str, value: float, span: Any) -> float:
    if not span.low <= value <= span.high:
        got = Description(f"{value:g}")
        raise ArgumentError.of(what, f"a number from {span.low:g} to {span.high:g}", got, "Pass one inside.")
    return value


def _repeats(values: Sequence[Any]) -> bool:
    return any(type(a) is type(b) and a == b for i, a in enumerate(values) for b in values[:i])
