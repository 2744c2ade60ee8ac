"""Parameters that are a range of numbers: real or whole, evenly spread or by the logarithm, all of them or in steps."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.domains.grids import Axis
from softbandit.domains.levels import EvenLevels, Levels, LogLevels, clip
from softbandit.domains.parameters import Parameter
from softbandit.errors import ArgumentError, Description

LARGEST_WHOLE = 2**53  # whole numbers up to here are exact in float64
LARGEST_LOG_WHOLE = 2**40  # the features of whole numbers up to here differ in float64
MOST_STEPS = 2**30
LEAST_STEP = 1e-11  # relative to the numbers themselves, of which float64 holds 15 digits
FARTHEST = 1e3  # feature of a number outside the range
OFF_STEP = 1e-3  # of a step: how far from a level a number may be


class _Range(Parameter):
    low: float
    high: float
    logarithmic: ClassVar[bool] = False

    width = 1

    @property
    @abstractmethod
    def last(self) -> int | None:
        """The number of steps from low to high; None if all real numbers between them are values."""

    @property
    def size(self) -> float:
        return math.inf if self.last is None else self.last + 1

    @property
    def free(self) -> bool:
        return self.last is None

    @cached_property
    def levels(self) -> Levels:
        assert self.last is not None
        if self.logarithmic:
            return LogLevels(self.last, (self.high - self.low) / self.last / self.low)
        return EvenLevels(self.last)

    def extrapolate(self, what: str, value: object) -> list[float]:
        try:
            return self.encode(what, value)
        except ArgumentError:
            u = self._feature(what, validation.number(what, value))
        if not abs(u) <= FARTHEST:
            raise ArgumentError.of(what, "a number near the range", value, "It says nothing about the range.")
        return [u]

    def _feature(self, what: str, x: float) -> float:
        if self.logarithmic:
            return math.log(validation.positive(what, x) / self.low) / math.log(self.high / self.low)
        return (x - self.low) / (self.high - self.low)

    def snap(self, U: Floats) -> Floats:
        return clip(U) if self.free else self.levels.snap(U)

    def steps(self, u: Floats) -> Floats:
        return np.empty((0, 1)) if self.free else self.levels.steps(u)

    def every(self) -> Floats:
        return self.levels.every()

    def axes(self, columns: slice) -> list[Axis]:
        if self.free or self.logarithmic:
            return super().axes(columns)
        return [Axis(columns, 0.0, 1.0, self.size)]


class _RealRange(_Range):
    step: float | None

    @property
    def last(self) -> int | None:
        return None if self.step is None else round((self.high - self.low) / self.step)

    def encode(self, what: str, value: object) -> list[float]:
        x = validation.number(what, value)
        if not self.low <= x <= self.high:
            got = Description(f"{x:g}")
            raise ArgumentError.of(what, f"a number from {self.low:g} to {self.high:g}", got, "Pass one inside.")
        if self.last is None:
            return [self._feature(what, x)]
        place = (x - self.low) / (self.high - self.low) * self.last
        if abs(place - round(place)) > OFF_STEP:
            around = " or ".join(f"{self._value(i):g}" for i in (math.floor(place), math.ceil(place)))
            expected = f"{self.low:g} plus a multiple of {self.step:g}"
            raise ArgumentError.of(what, expected, Description(f"{x:g}"), f"Pass {around}.")
        return [self.levels.feature(round(place))]

    def decode(self, u: Floats) -> float:
        if self.last is not None:
            return self._value(self.levels.level(float(u[0])))
        x = self.low * (self.high / self.low) ** float(u[0]) if self.logarithmic else self._between(float(u[0]))
        return min(max(float(x), self.low), self.high)

    def _between(self, u: float) -> float:
        return self.low + u * (self.high - self.low)

    def _value(self, i: int) -> float:
        """Return the number at a level, without the rounding errors of a sum: 0.3 and not 0.30000000000000004."""
        assert self.last is not None
        digits = 14 - math.floor(math.log10(max(abs(self.low), abs(self.high))))
        return min(max(round(self._between(i / self.last), digits), self.low), self.high)

    def _check_step(self) -> None:
        if self.step is None:
            return
        step = validation.positive("step", self.step)
        steps = (self.high - self.low) / step
        size = max(abs(self.low), abs(self.high))
        divides = 0.5 < steps <= MOST_STEPS and abs(steps - round(steps)) <= OFF_STEP
        if not divides or step < LEAST_STEP * size:
            got = Description(f"{step:g} from {self.low:g} to {self.high:g}")
            nearest = self.low + step * max(1, round(min(steps, MOST_STEPS)))
            expected = f"a step that divides high - low into at most {MOST_STEPS} parts"
            raise ArgumentError.of("step", expected, got, f"For example high={nearest:.12g}.")
        validation.store(self, step=step)


@dataclass(frozen=True)
class Float(_RealRange):
    """A real number in [low, high]; with a step, one of low, low + step, ..., high."""

    low: float
    high: float
    step: float | None = None

    def __post_init__(self) -> None:
        validation.store(self, low=validation.number("low", self.low), high=validation.number("high", self.high))
        _check_order(self.low, self.high)
        self._check_step()


@dataclass(frozen=True)
class LogFloat(_RealRange):
    """A real number in [low, high], low > 0, searched by its logarithm; with a step, one of low, low + step, ..."""

    low: float
    high: float
    step: float | None = None

    logarithmic = True

    def __post_init__(self) -> None:
        validation.store(self, low=validation.positive("low", self.low), high=validation.positive("high", self.high))
        _check_order(self.low, self.high)
        self._check_step()


class _WholeRange(_Range):
    low: int
    high: int

    @property
    def last(self) -> int:
        return self.high - self.low

    def encode(self, what: str, value: object) -> list[float]:
        i = validation.whole(what, value, self.low, self.high) - self.low
        return [self.levels.feature(i)]

    def decode(self, u: Floats) -> int:
        return self.low + self.levels.level(float(u[0]))

    def _check_range(self, least: int, most: int) -> None:
        low, high = (validation.whole(name, getattr(self, name), least, most) for name in ("low", "high"))
        validation.store(self, low=low, high=high)
        _check_order(low, high)


@dataclass(frozen=True)
class Integer(_WholeRange):
    """A whole number from low to high, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        self._check_range(-LARGEST_WHOLE, LARGEST_WHOLE)


@dataclass(frozen=True)
class LogInteger(_WholeRange):
    """A whole number from low to high, low > 0, searched by its logarithm: 1, 2, 4 and 8 are equally far apart."""

    low: int
    high: int

    logarithmic = True

    def __post_init__(self) -> None:
        self._check_range(1, LARGEST_LOG_WHOLE)


def _check_order(low: float, high: float) -> None:
    if not (low < high and math.isfinite(high - low)):
        raise ArgumentError.of("low, high", "low < high", (low, high), "Check the order.")
