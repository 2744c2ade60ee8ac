"""Parameters that are a list of values: choices without an order, levels in an order, and one fixed value.

A value is text, a number, True, False, None, or a tuple of these, so that a file can hold it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.domains.grids import Axis
from softbandit.domains.levels import EvenLevels
from softbandit.domains.parameters import Parameter
from softbandit.errors import ArgumentError

MOST_CHOICES = 4096  # each is a feature


@dataclass(frozen=True)
class Categorical(Parameter):
    """One of several choices, with no order among them; its features are a one-hot vector."""

    choices: Sequence[object]

    def __post_init__(self) -> None:
        validation.store(self, choices=_different("choices", self.choices))

    @property
    def width(self) -> int:
        return len(self.choices)

    size = width

    def encode(self, what: str, value: object) -> list[float]:
        position = _position(what, value, self.choices)
        return [float(i == position) for i in range(self.width)]

    def decode(self, u: Floats) -> Any:
        return self.choices[int(np.argmax(u))]

    def snap(self, U: Floats) -> Floats:
        return np.asarray(np.eye(self.width)[np.argmax(U, axis=1)])

    def steps(self, u: Floats) -> Floats:
        return np.asarray(np.eye(self.width)[np.arange(self.width) != np.argmax(u)])

    def every(self) -> Floats:
        return np.eye(self.width)

    @property
    def ends(self) -> Floats:
        return np.eye(self.width)

    def axes(self, columns: slice) -> list[Axis]:
        return [Axis(columns, 0.0, 1.0, self.size)]


@dataclass(frozen=True)
class Ordinal(Parameter):
    """One of several values in an order, such as [1, 2, 4, 8] or ["small", "medium", "large"], evenly spaced."""

    values: Sequence[object]

    width = 1

    def __post_init__(self) -> None:
        validation.store(self, values=_different("values", self.values))

    @property
    def size(self) -> float:
        return len(self.values)

    @cached_property
    def _levels(self) -> EvenLevels:
        return EvenLevels(len(self.values) - 1)

    def encode(self, what: str, value: object) -> list[float]:
        return [self._levels.feature(_position(what, value, self.values))]

    def decode(self, u: Floats) -> Any:
        return self.values[self._levels.level(float(u[0]))]

    def snap(self, U: Floats) -> Floats:
        return self._levels.snap(U)

    def steps(self, u: Floats) -> Floats:
        return self._levels.steps(u)

    def every(self) -> Floats:
        return self._levels.every()

    def axes(self, columns: slice) -> list[Axis]:
        return [Axis(columns, 0.0, 1.0, self.size)]


@dataclass(frozen=True)
class Fixed(Parameter):
    """A parameter with one value, which is passed on but not tuned; it has no features."""

    value: object

    width = 0
    size = 1

    def __post_init__(self) -> None:
        validation.store(self, value=_storable("value", self.value))

    def encode(self, what: str, value: object) -> list[float]:
        _position(what, value, [self.value])
        return []

    def decode(self, u: Floats) -> Any:
        return self.value

    def snap(self, U: Floats) -> Floats:
        return U

    def steps(self, u: Floats) -> Floats:
        return np.empty((0, 0))

    def every(self) -> Floats:
        return np.empty((1, 0))

    @property
    def ends(self) -> Floats:
        return self.every()


def as_choice(value: Any) -> Any:
    """Return a value with tuples in place of lists, and Python's numbers in place of NumPy's."""
    if isinstance(value, (list, tuple)):
        return tuple(map(as_choice, value))
    return value.item() if isinstance(value, (np.number, np.bool_)) else value


def _different(what: str, given: object) -> tuple[Any, ...]:
    """Return 2 or more different values."""
    expected, remedy = f"2 to {MOST_CHOICES} different {what}", "Pass them as a list."
    listed = validation.listed(what, given, expected, remedy)[: MOST_CHOICES + 1]
    values = tuple(_storable(f"{what}[{i}]", value) for i, value in enumerate(listed))
    different = {(type(value), value) for value in values}
    if not 2 <= len(different) == len(values) <= MOST_CHOICES:
        raise ArgumentError.of(what, expected, given, remedy)
    return values


def _position(what: str, value: object, values: Sequence[object]) -> int:
    """Return the position of an equal value of the same type: 1, 1.0 and True are three values."""
    try:
        given = as_choice(value)
    except RecursionError:  # a list that contains itself
        given = value
    for i, known in enumerate(values):
        if type(known) is type(given) and known == given:
            return i
    expected = f"one of {list(values)}" if len(values) > 1 else repr(values[0])
    raise ArgumentError.of(what, expected, value, "Choose one of them." if len(values) > 1 else "It is fixed.")


def _storable(what: str, value: object) -> Any:
    """Return a choice that is the same after it was stored: no object of a class that a file does not know."""
    try:
        choice = as_choice(value)
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
