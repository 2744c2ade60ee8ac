"""Parameters of a `Space`: real numbers, whole numbers, choices.

A parameter takes `size` values, each shown to kernels as `width` features in [0, 1]:

    encode(what, value)    the features of a value, or an error about `what`
    decode(u)              the value at features u, (width,)
    snap(U)                the nearest features that encode a value, for each row of U, (n, width)
    steps(u)               the features one step away from u, (n, width), if it is discrete
    every()                the features of all values, if it is discrete
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.errors import ArgumentError, Description

MOST_CHOICES = 4096  # each is a feature


class _RealNumber:
    low: float
    high: float

    width = 1
    size = math.inf

    def snap(self, U: Floats) -> Floats:
        return _clip(U)

    def _checked(self, what: str, value: object) -> float:
        x = validation.number(what, value)
        if not self.low <= x <= self.high:
            got = Description(f"{x:g}")
            raise ArgumentError.of(what, f"a number from {self.low:g} to {self.high:g}", got, "Pass one inside.")
        return x


@dataclass(frozen=True)
class Float(_RealNumber):
    """A real number in [low, high]."""

    low: float
    high: float

    def __post_init__(self) -> None:
        validation.store(self, low=validation.number("low", self.low), high=validation.number("high", self.high))
        _check_order(self.low, self.high)

    def encode(self, what: str, value: object) -> list[float]:
        return [(self._checked(what, value) - self.low) / (self.high - self.low)]

    def decode(self, u: Floats) -> float:
        return min(max(self.low + float(u[0]) * (self.high - self.low), self.low), self.high)


@dataclass(frozen=True)
class LogFloat(_RealNumber):
    """A real number in [low, high], low > 0, searched by its logarithm."""

    low: float
    high: float

    def __post_init__(self) -> None:
        validation.store(self, low=validation.positive("low", self.low), high=validation.positive("high", self.high))
        _check_order(self.low, self.high)

    def encode(self, what: str, value: object) -> list[float]:
        return [math.log(self._checked(what, value) / self.low) / math.log(self.high / self.low)]

    def decode(self, u: Floats) -> float:
        return min(max(float(self.low * (self.high / self.low) ** float(u[0])), self.low), self.high)


@dataclass(frozen=True)
class Integer:
    """A whole number from low to high, both included."""

    low: int
    high: int

    width = 1

    def __post_init__(self) -> None:
        limit = 2**53  # whole numbers up to here are exact in float64
        low, high = (validation.whole(name, getattr(self, name), -limit, limit) for name in ("low", "high"))
        validation.store(self, low=low, high=high)
        _check_order(low, high)

    @property
    def size(self) -> float:
        return self.high - self.low + 1

    def encode(self, what: str, value: object) -> list[float]:
        return [(validation.whole(what, value, self.low, self.high) - self.low) / (self.high - self.low)]

    def decode(self, u: Floats) -> int:
        return min(max(self.low + round(float(u[0]) * (self.high - self.low)), self.low), self.high)

    def snap(self, U: Floats) -> Floats:
        steps = self.high - self.low
        return np.round(_clip(U) * steps) / steps

    def steps(self, u: Floats) -> Floats:
        i, last = self.decode(u) - self.low, self.high - self.low
        return np.array([[j / last] for j in (i - 1, i + 1) if 0 <= j <= last])

    def every(self) -> list[list[float]]:
        return [self.encode("", i) for i in range(self.low, self.high + 1)]


@dataclass(frozen=True)
class Categorical:
    """One of several choices, with no order among them; its features are a one-hot vector.

    A choice is text, a number, True, False, None, or a tuple of these, so that a file can hold it.
    """

    choices: Sequence[object]

    def __post_init__(self) -> None:
        expected, remedy = f"2 to {MOST_CHOICES} different choices", "Pass them as a list."
        given = validation.listed("choices", self.choices, expected, remedy)[: MOST_CHOICES + 1]
        choices = tuple(_storable(f"choices[{i}]", choice) for i, choice in enumerate(given))
        different = {(type(choice), choice) for choice in choices}
        if not 2 <= len(different) == len(choices) <= MOST_CHOICES:
            raise ArgumentError.of("choices", expected, self.choices, remedy)
        validation.store(self, choices=choices)

    @property
    def width(self) -> int:
        return len(self.choices)

    size = width

    def encode(self, what: str, value: object) -> list[float]:
        given = _as_choice(value)
        one_hot = [float(_identical(choice, given)) for choice in self.choices]
        if not any(one_hot):
            raise ArgumentError.of(what, f"one of {list(self.choices)}", value, "Choose one of them.")
        return one_hot

    def decode(self, u: Floats) -> Any:
        return self.choices[int(np.argmax(u))]

    def snap(self, U: Floats) -> Floats:
        return np.asarray(np.eye(self.width)[np.argmax(U, axis=1)])

    def steps(self, u: Floats) -> Floats:
        return np.asarray(np.eye(self.width)[np.arange(self.width) != np.argmax(u)])

    def every(self) -> list[list[float]]:
        return np.eye(self.width).tolist()


Parameter: TypeAlias = Float | LogFloat | Integer | Categorical


def _check_order(low: float, high: float) -> None:
    if not (low < high and math.isfinite(high - low)):
        raise ArgumentError.of("low, high", "low < high", (low, high), "Check the order.")


def _clip(U: Floats) -> Floats:
    return np.minimum(np.maximum(U, 0.0), 1.0)


def _as_choice(value: Any) -> Any:
    """Return a choice with tuples in place of lists, and Python's numbers in place of NumPy's."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_as_choice, value))
    return value.item() if isinstance(value, (np.number, np.bool_)) else value


def _storable(what: str, value: object) -> Any:
    """Return a choice that is the same after it was stored: no object of a class that a file does not know."""
    try:
        choice = _as_choice(value)
        pending = [choice]
        while pending:
            entry = pending.pop()
            if type(entry) is tuple:
                pending += entry
            elif type(entry) not in (str, int, float, bool, type(None)) or entry != entry:
                raise TypeError
    except (TypeError, RecursionError):
        remedy = "Pass a name for each of your objects, and look the object up by it."
        raise ArgumentError.of(what, "text, a number, True, False, None, or a tuple", value, remedy) from None
    return choice


def _identical(a: object, b: object) -> bool:
    """Return whether two choices are equal and of one type: 1, 1.0 and True are three choices."""
    return type(a) is type(b) and bool(a == b)
