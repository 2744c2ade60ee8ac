"""Continuous and mixed domains, in place of a list of arms.

A `Box` is its own feature space: kernels see the points themselves. A `Space` has named
parameters and shows a kernel the unit cube: floats on [0, 1] (log-floats by their
logarithm), integers on an evenly spaced grid of it, categories as one-hot vectors.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend.shapes import Floats
from softbandit.domains.parameters import Categorical, Float, Integer, LogFloat, Parameter
from softbandit.errors import ArgumentError, UnknownNameError

FINITE_LIMIT = 4096
"""A space with no more points than this is turned into finite arms, where nothing need be searched for."""

LARGEST = 1e100  # coordinate of a box: its square must be a number
SLACK = 1e-12  # how far outside, relative to its width, rounding may put a point


class Domain(ABC):
    """What a search needs to know of a domain, in the coordinates that kernels see."""

    lower: Floats  # (d,)
    upper: Floats

    @property
    def dimension(self) -> int:
        return len(self.lower)

    @property
    @abstractmethod
    def free(self) -> Any:
        """(d,): whether a coordinate can be moved continuously."""

    @property
    @abstractmethod
    def size(self) -> float:
        """The number of points."""

    @abstractmethod
    def snap(self, X: Floats) -> Floats:
        """The points of the domain nearest to X, (n, d)."""

    @abstractmethod
    def neighbours(self, x: Floats) -> Floats:
        """The points that differ from x in one discrete parameter, by one step, (n, d)."""

    @abstractmethod
    def values(self, x: Floats) -> dict[str, Any] | None:
        """The named values at x; None where coordinates have no names."""

    def at(self, u: Floats) -> Floats:
        """The points at u (n, d) in the unit cube."""
        return self.snap(self.lower + u * (self.upper - self.lower))

    def corners(self) -> Floats:
        """Some of the domain's corners, among them the lowest and the highest (n, d)."""
        few = min(self.dimension, 8)
        bits = np.array(list(product([0.0, 1.0], repeat=few)))
        return self.at(np.concatenate([bits, np.repeat(bits[:, -1:], self.dimension - few, axis=1)], axis=1))

    def point(self, what: str, value: Any) -> Floats:
        """A point of the domain (d,), or an error."""
        x = validation.each(what, value, self.dimension, single=False)
        if np.any(np.abs(self.snap(x[None])[0] - x) > SLACK * (self.upper - self.lower)):
            raise ArgumentError.of(what, "a point of the space", value, "Check its bounds.")
        return x


@dataclass(frozen=True, eq=False)
class Box(Domain):
    """The points between lower and upper, coordinate by coordinate.

    >>> Box([0, 0], [1, 2]).dimension
    2
    """

    lower: Any
    upper: Any

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            given = np.atleast_1d(getattr(self, name))
            edge = validation.each(name, given, given.shape[0] or 1, single=False)
            edge.flags.writeable = False
            object.__setattr__(self, name, edge)
        if len(self.lower) != len(self.upper) or not np.all(self.lower < self.upper):
            got = (self.lower.tolist(), self.upper.tolist())
            raise ArgumentError.of("lower, upper", "lower < upper in each coordinate", got, "Check the order.")
        if not np.all(np.abs([self.lower, self.upper]) <= LARGEST):
            raise ArgumentError.of("lower, upper", f"numbers up to {LARGEST:g}", self.upper, "Rescale the box.")

    @property
    def free(self) -> Any:
        return np.ones(self.dimension, dtype=bool)

    @property
    def size(self) -> float:
        return math.inf

    def snap(self, X: Floats) -> Floats:
        return np.asarray(np.minimum(np.maximum(X, self.lower), self.upper))

    def neighbours(self, x: Floats) -> Floats:
        return np.empty((0, self.dimension))

    def values(self, x: Floats) -> dict[str, Any] | None:
        return None


@dataclass(frozen=True, eq=False)
class Space(Domain):
    """Named parameters: `Space({"rate": LogFloat(1e-4, 1e-1), "layers": Integer(1, 4)})`.

    >>> space = Space({"rate": LogFloat(0.01, 1), "layers": Integer(1, 5), "kind": Categorical(["a", "b"])})
    >>> space.encode({"rate": 0.1, "layers": 2, "kind": "b"})
    array([0.5 , 0.25, 0.  , 1.  ])
    >>> space.values(np.array([0.5, 0.25, 0.0, 1.0]))
    {'rate': 0.1, 'layers': 2, 'kind': 'b'}
    """

    parameters: Any  # a mapping; kept as pairs
    lower: Floats = field(init=False, repr=False)
    upper: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        given = self.parameters
        pairs = tuple(given.items() if isinstance(given, Mapping) else given if isinstance(given, Sequence) else ())
        wrong = [pair for pair in pairs if not _is_named(pair)]
        if not pairs or wrong:
            remedy = 'For example {"rate": sb.LogFloat(1e-4, 1e-1)}.'
            raise ArgumentError.of("parameters", "names and parameters", wrong or given, remedy)
        object.__setattr__(self, "parameters", tuple(map(tuple, pairs)))
        d = sum(each.width for _, each in pairs)
        object.__setattr__(self, "lower", np.zeros(d))
        object.__setattr__(self, "upper", np.ones(d))

    @property
    def free(self) -> Any:
        return np.concatenate([np.full(each.width, math.isinf(each.size)) for _, each in self.parameters])

    @property
    def size(self) -> float:
        return float(math.prod(each.size for _, each in self.parameters))

    def every(self) -> Floats:
        """All points of a finite space, (size, d)."""
        rows = product(*(each.every() for _, each in self.parameters if not isinstance(each, (Float, LogFloat))))
        return np.array([list(chain.from_iterable(row)) for row in rows])

    def snap(self, X: Floats) -> Floats:
        return np.concatenate([each.snap(X[:, own]) for _, each, own in self._parts()], axis=1)

    def neighbours(self, x: Floats) -> Floats:
        rows = [np.empty((0, self.dimension))]
        for _, each, own in self._parts():
            if isinstance(each, (Integer, Categorical)):
                steps = each.steps(x[own])
                moved = np.tile(x, (len(steps), 1))
                moved[:, own] = steps
                rows.append(moved)
        return np.concatenate(rows)

    def values(self, x: Floats) -> dict[str, Any]:
        return {name: each.decode(x[own]) for name, each, own in self._parts()}

    def encode(self, values: Mapping[str, Any]) -> Floats:
        """The features of named values (d,)."""
        names = [name for name, _ in self.parameters]
        unknown = [name for name in values if name not in names]
        if unknown:
            raise UnknownNameError.among("parameter", unknown[0], names)
        missing = [name for name in names if name not in values]
        if missing:
            raise ArgumentError.of("values", f"a value for {missing[0]!r}", dict(values), "Give every parameter.")
        parts = [each.encode(name, values[name]) for name, each in self.parameters]
        return np.array(list(chain.from_iterable(parts)))

    def _parts(self) -> list[tuple[str, Parameter, slice]]:
        """Each parameter's name, itself, and its place among the features."""
        ends = np.cumsum([each.width for _, each in self.parameters])
        return [
            (name, each, slice(int(end) - each.width, int(end)))
            for (name, each), end in zip(self.parameters, ends, strict=True)
        ]


def _is_named(pair: Any) -> bool:
    """Whether it is a name and its parameter."""
    two = isinstance(pair, Sequence) and len(pair) == 2
    return two and isinstance(pair[0], str) and isinstance(pair[1], Parameter)
