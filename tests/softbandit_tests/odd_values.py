"""Values that a caller may pass by mistake or on purpose: each entry builds a fresh one."""

import enum
import math
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import PurePosixPath

import numpy as np

import softbandit as sb


class Raising:
    """An object all of whose conversions fail."""

    def _fail(self, *_, **__):
        raise RuntimeError("no")

    __float__ = __index__ = __len__ = __array__ = __iter__ = __getitem__ = __repr__ = __str__ = __fspath__ = _fail
    __eq__ = __bool__ = _fail
    __hash__ = object.__hash__


class Colour(enum.Enum):
    RED = 1


class Size(enum.IntEnum):
    TWO = 2


class Word(str):
    __slots__ = ()


class Text(enum.StrEnum):
    UCB = "ucb"


def self_containing():
    items = [1.0]
    items.append(items)
    return items


def nested(depth):
    items = 1.0
    for _ in range(depth):
        items = [items]
    return items


def huge_view():
    """An array whose copy could not be allocated."""
    return np.broadcast_to(1.0, (2**40, 2))


def matrix(values):
    """A np.matrix, without the warning of its constructor."""
    return np.asarray(values).view(np.matrix)


def data_frame():
    return __import__("pandas").DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.4]})


def series(values):
    return __import__("pandas").Series(values, index=[f"row {i}" for i in range(len(values))])


NUMBERS = [0, 1, 2, 3, -1, 7, 2**31, 2**53 + 1, 2**63, 2**64, -(2**64), 10**400, 10**5000, 0.0, -0.0, 0.5, 1.0, 2.5]
NUMBERS += [-1.5, 1e-320, 5e-324, 1e-308, 1e-160, 1e-101, 1e101, 1e160, 1e308, -1e308, math.nan, math.inf, -math.inf]
NUMBERS += [True, False, 1j, complex(math.nan), Decimal("0.5"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e400")]
NUMBERS += [Fraction(1, 2), Fraction(10**400), np.float32(0.5), np.longdouble("0.5"), np.longdouble("1e400")]
NUMBERS += [np.int8(3), np.uint64(2**64 - 1), np.bool_(True), np.float64(math.nan), np.complex128(1), np.float16(1)]

WORDS = ["", "ucb", "tight", "queue", "no such name", "1.0", "\0", "a" * 10_000, "\udcff", b"ucb", bytearray(b"1")]
WORDS += [Word("ucb"), Word("queue"), Text.UCB, Colour.RED, Size.TWO, PurePosixPath("/no/such/file")]

COLLECTIONS = [
    list,
    tuple,
    dict,
    set,
    partial(list, [1.0]),
    partial(list, [1.0, 2.0]),
    partial(list, [1, 2, 3]),
    partial(list, [0.5] * 30),
    partial(list, [math.nan]),
    partial(list, ["a", "b"]),
    partial(list, [None]),
    partial(list, [True, False]),
    partial(list, [[1.0, 2.0], [3.0]]),
    partial(list, [[0.1], [0.2]]),
    partial(list, [Decimal("0.5"), Fraction(1, 2)]),
    partial(list, [2**64, 0.5]),
    partial(list, [10**400, 0.5]),
    partial(list, [Raising()]),
    partial(list, [sb.Linear(), sb.Linear()]),
    partial(dict, a=1.0),
    partial(set, [1.0]),
    partial(range, 3),
    partial(range, 2**62),
    partial(iter, [1.0]),
    lambda: (x for x in (1.0, 2.0)),
    self_containing,
    partial(nested, 5),
    partial(nested, 100),
    partial(nested, 5000),
    partial(slice, 3),
]

ARRAYS = [
    np.empty(0),
    np.empty((0, 2)),
    np.empty((2, 0)),
    np.empty((1, 0, 1)),
    np.array(0.5),
    np.array(3),
    np.array([0.5]),
    np.array([[0.5]]),
    np.ones(30),
    np.ones((30, 1)),
    np.ones((30, 2)),
    np.ones((2, 2)),
    np.ones((2, 30, 2)),
    np.ones(3, dtype=int),
    np.ones(3, dtype=bool),
    np.ones((3, 3), dtype=complex),
    np.ones((3, 1), dtype=np.longdouble),
    np.full((30, 1), np.longdouble("1e400")),
    np.full((30, 1), 1e200),
    np.full((30, 2), 1e308),
    np.full((30, 1), 1e-320),
    np.full((3, 1), math.nan),
    np.array([[math.inf, 1.0]]),
    np.array(["a", "b"]),
    np.array([b"a"]),
    np.array([None, 1.0], dtype=object),
    np.array([["1.0"]], dtype=object),
    np.array([[10**400]], dtype=object),
    np.array(["2020-01-01"], dtype="datetime64[D]"),
    np.zeros(2, dtype=[("a", float), ("b", int)]),
    np.ma.masked,
    np.ma.array([0.1, 0.2], mask=[True, False]),
    np.ma.array([[0.1], [0.2]], mask=[[False], [False]]),
    np.broadcast_to(np.eye(2), (3, 2, 2)),
]

OBJECTS = [
    lambda: None,
    object,
    Raising,
    huge_view,
    partial(matrix, [[1.0, 2.0]]),
    partial(matrix, [[3]]),
    partial(matrix, np.eye(30)),
    data_frame,
    partial(series, [0.5]),
    partial(series, [1, 2]),
    partial(series, ["a"]),
    lambda: NotImplemented,
    lambda: Ellipsis,
    lambda: int,
    lambda: sb,
    lambda: sb.CKB,
    lambda: sb.UCB,
    sb.UCB,
    sb.Linear,
    sb.problems.GaussianNoise,
    partial(sb.Matern, [0.1, 0.2, 0.3]),
    partial(sb.Tabular, [[1.0]]),
    partial(sb.Box, 0, 1),
    partial(sb.Box, [0] * 12, [1] * 12),
    lambda: sb.Space({"n": sb.Integer(1, 3)}),
    lambda: sb.Space({"n": sb.Integer(1, 2**53), "k": sb.Categorical(["a", "b"])}),
]


def _fixed(value):
    return lambda: value


ODD = [*map(_fixed, NUMBERS), *map(_fixed, WORDS), *COLLECTIONS, *map(_fixed, ARRAYS), *OBJECTS]
"""One builder per odd value."""
