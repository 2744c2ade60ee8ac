"""Continuous and mixed domains, in place of a list of arms.

The points of a `Box` are their own features. A `Space` has named parameters, and its
features lie in the unit cube: floats in [0, 1] (log-floats by their logarithm), integers
on an evenly spaced grid, categories as one-hot vectors, cyclic numbers on a circle.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from typing import Any, TypeAlias

import numpy as np

from softbandit import validation
from softbandit.backend import Bools, Floats
from softbandit.domains.grids import Axis
from softbandit.domains.parameters import Parameter
from softbandit.errors import ArgumentError, Description, UnknownNameError

FINITE_LIMIT = 4096  # A space of at most this many points becomes finite arms, which need no search
ROUNDING = 1e-12  # how far from the domain, relative to its width, a point may be

Values: TypeAlias = dict[str, Any]  # the values of named parameters


class Domain(ABC):
    """A set of points that can be searched, in the coordinates that kernels see."""

    lower: Floats  # (d,)
    upper: Floats

    @property
    def dimension(self) -> int:
        return len(self.lower)

    @property
    @abstractmethod
    def free(self) -> Bools:
        """The coordinates that can be moved continuously, (d,)."""

    @property
    @abstractmethod
    def size(self) -> float:
        """The number of points, perhaps infinite."""

    @property
    @abstractmethod
    def axes(self) -> Sequence[Axis]:
        """The parameters as parts of a point."""

    @abstractmethod
    def snap(self, X: Floats) -> Floats:
        """Return the points of the domain nearest to X, (n, d)."""

    @abstractmethod
    def neighbours(self, x: Floats) -> Floats:
        """Return the points that differ from x in one parameter that is not free, by one step, (n, d)."""

    @abstractmethod
    def values(self, x: Floats) -> Values | None:
        """Return the named values at x; None if coordinates have no names."""

    def at(self, u: Floats) -> Floats:
        """Return the points at u (n, d) in the unit cube."""
        return self.snap(self.lower + u * (self.upper - self.lower))

    def corners(self) -> Floats:
        """Return up to 256 corners of the domain, among them the lowest and the highest, (n, d)."""
        varied = min(self.dimension, 8)
        bits = np.array(list(product([0.0, 1.0], repeat=varied)))
        return self.at(np.concatenate([bits, np.repeat(bits[:, -1:], self.dimension - varied, axis=1)], axis=1))

    def points(self, what: str, value: object) -> Floats:
        """Return `value` as rows of d numbers, inside the domain or not, (n, d), or raise an error about `what`."""
        X = validation.points(what, value)
        if X.shape[1] != self.dimension:
            got = Description(f"shape {X.shape}")
            raise ArgumentError.of(what, f"rows of {self.dimension} coordinates", got, "Check the shape.")
        return X

    def point(self, what: str, value: object) -> Floats:
        """Return `value` as a point of the domain (d,), or raise an error about `what`."""
        x = validation.numbers(what, value, self.dimension, single=False)
        if np.any(np.abs(self.snap(x[None])[0] - x) > ROUNDING * (self.upper - self.lower)):
            raise ArgumentError.of(what, "a point of the space", value, "Check its bounds.")
        return x


@dataclass(frozen=True, eq=False)
class Box(Domain):
    """The points between lower and upper, coordinate by coordinate.

    >>> Box([0, 0], [1, 2]).dimension
    2
    """

    lower: Any  # a number or sequence of numbers; kept as an array
    upper: Any

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            bound = np.atleast_1d(validation.array(name, getattr(self, name)))
            bound = validation.vector(name, bound)
            bound.flags.writeable = False
            object.__setattr__(self, name, bound)
            if np.abs(bound).max() > validation.LARGEST:
                raise ArgumentError.of(name, f"numbers up to {validation.LARGEST:g}", bound, "Rescale the box.")
        if len(self.lower) != len(self.upper) or not np.all(self.upper - self.lower >= validation.LEAST):
            got = (self.lower.tolist(), self.upper.tolist())
            raise ArgumentError.of("lower, upper", "lower < upper in each coordinate", got, "Check the order.")

    @property
    def free(self) -> Bools:
        return np.ones(self.dimension, dtype=bool)

    @property
    def size(self) -> float:
        return math.inf

    @property
    def axes(self) -> Sequence[Axis]:
        bounds = enumerate(zip(self.lower.tolist(), self.upper.tolist(), strict=True))
        return [Axis(slice(j, j + 1), low, high, math.inf) for j, (low, high) in bounds]

    def snap(self, X: Floats) -> Floats:
        return np.asarray(np.minimum(np.maximum(X, self.lower), self.upper))

    def neighbours(self, x: Floats) -> Floats:
        return np.empty((0, self.dimension))

    def values(self, x: Floats) -> None:
        return None


@dataclass(frozen=True, eq=False)
class Space(Domain):
    """Named parameters, such as a `LogFloat` and an `Integer`.

    >>> import softbandit as sb
    >>> space = sb.Space({"rate": sb.LogFloat(0.01, 1), "layers": sb.Integer(1, 5), "kind": sb.Categorical(["a", "b"])})
    >>> space.encode({"rate": 0.1, "layers": 2, "kind": "b"})
    array([0.5 , 0.25, 0.  , 1.  ])
    >>> space.values(np.array([0.5, 0.25, 0.0, 1.0]))
    {'rate': 0.1, 'layers': 2, 'kind': 'b'}
    """

    parameters: Any  # a mapping; kept as pairs
    lower: Floats = field(init=False, repr=False)
    upper: Floats = field(init=False, repr=False)
    parts: tuple[tuple[str, Parameter, slice], ...] = field(init=False, repr=False)  # with its place in the features

    def __post_init__(self) -> None:
        pairs = _pairs(self.parameters)
        ends = np.cumsum([parameter.width for _, parameter in pairs]).tolist()
        parts = ((name, p, slice(end - p.width, end)) for (name, p), end in zip(pairs, ends, strict=True))
        object.__setattr__(self, "parameters", pairs)
        object.__setattr__(self, "parts", tuple(parts))
        object.__setattr__(self, "lower", np.zeros(ends[-1]))
        object.__setattr__(self, "upper", np.ones(ends[-1]))

    @property
    def free(self) -> Bools:
        return np.concatenate([np.full(parameter.width, parameter.free) for _, parameter, _ in self.parts])

    @property
    def size(self) -> float:
        return float(math.prod(parameter.size for _, parameter, _ in self.parts))

    @property
    def axes(self) -> Sequence[Axis]:
        return [axis for _, parameter, place in self.parts for axis in parameter.axes(place)]

    def every(self) -> Floats:
        """Return all points of a finite space, (size, d)."""
        rows = product(*(parameter.every().tolist() for _, parameter, _ in self.parts))
        return np.array([list(chain.from_iterable(row)) for row in rows])

    def snap(self, X: Floats) -> Floats:
        return np.concatenate([parameter.snap(X[:, place]) for _, parameter, place in self.parts], axis=1)

    def neighbours(self, x: Floats) -> Floats:
        rows = [np.empty((0, self.dimension))]
        for _, parameter, place in self.parts:
            steps = parameter.steps(x[place])
            moved = np.tile(x, (len(steps), 1))
            moved[:, place] = steps
            rows.append(moved)
        return np.concatenate(rows)

    def values(self, x: Floats) -> Values:
        return {name: parameter.decode(x[place]) for name, parameter, place in self.parts}

    def encode(self, values: Mapping[str, object]) -> Floats:
        """Return the features of named values, (d,)."""
        _check_mapping(values)
        names = [name for name, _, _ in self.parts]
        unknown = [name for name in values if name not in names]
        if unknown:
            raise UnknownNameError.among("parameter", unknown[0], names)
        missing = [name for name in names if name not in values]
        if missing:
            raise ArgumentError.of("values", f"a value for {missing[0]!r}", dict(values), "Give every parameter.")
        return np.array([u for name, parameter, _ in self.parts for u in parameter.encode(name, values[name])])

    def encode_if_possible(self, values: Mapping[str, object]) -> Floats | None:
        """Return the features of values from an earlier form of the space, (d,); None if they have none here.

        Numbers outside the range have features outside [0, 1], and parameters that there are no longer are left out.
        A choice that was removed, another value of a fixed parameter, or no value of a new one cannot be encoded.
        """
        _check_mapping(values)
        try:
            rows = [parameter.extrapolate(name, values[name]) for name, parameter, _ in self.parts]
        except (ArgumentError, KeyError):
            return None
        return np.array([u for row in rows for u in row])


def _check_mapping(values: object) -> None:
    validation.instance("values", values, Mapping, "a value for each name", 'For example {"rate": 0.1}.')


def _pairs(given: object) -> tuple[tuple[str, Parameter], ...]:
    """Return the names and parameters of a mapping, or of a sequence of pairs."""
    expected, remedy = "names and parameters", 'For example {"rate": sb.LogFloat(1e-4, 1e-1)}.'
    listed = list(given.items()) if isinstance(given, Mapping) else given
    pairs = validation.listed("parameters", listed, expected, remedy)
    wrong = [pair for pair in pairs if not _is_named_parameter(pair)]
    if not pairs or wrong:
        raise ArgumentError.of("parameters", expected, wrong or given, remedy)
    if not any(parameter.width for _, parameter in pairs):
        got = Description("fixed ones only")
        raise ArgumentError.of("parameters", "at least one that varies", got, "Add one, such as sb.Float(0, 1).")
    return tuple((validation.text("name", name), parameter) for name, parameter in pairs)


def _is_named_parameter(pair: object) -> bool:
    return isinstance(pair, Sequence) and len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], Parameter)
