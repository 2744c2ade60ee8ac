"""Checks of arguments: each returns the value in one standard form, or raises an error about `what`."""

import math
import operator
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softbandit.errors import ArgumentError, Description, SoftbanditError, UnknownNameError

T = TypeVar("T")
Floats = NDArray[np.float64]


def number(what: str, value: Any, error: type[SoftbanditError] = ArgumentError) -> float:
    """Return a finite real number."""
    try:
        # float() would accept text, truth values and one-element arrays.
        if isinstance(value, (str, bytes, bool, np.bool_)) or np.ndim(value) or np.iscomplexobj(value):
            raise TypeError
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise error.of(what, "a number", value, "Pass one finite real number.") from None
    if not math.isfinite(result):
        raise error.of(what, "a finite number", value, "Check where the NaN or infinity comes from.")
    return result


def positive(what: str, value: object) -> float:
    result = number(what, value)
    if result <= 0:
        raise ArgumentError.of(what, "a number above 0", value, "Pass a positive number.")
    return result


def nonnegative(what: str, value: object) -> float:
    result = number(what, value)
    if result < 0:
        raise ArgumentError.of(what, "a number of at least 0", value, "Pass zero or a positive number.")
    return result


def whole(what: str, value: Any, least: int, most: int | None = None) -> int:
    """Return a whole number in [least, most]."""
    span = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        result = operator.index(value)
    except TypeError:
        raise ArgumentError.of(what, span, value, "Pass an int.") from None
    if result < least or (most is not None and result > most):
        raise ArgumentError.of(what, span, value, "Pass an int in that range.")
    return result


def numbers(
    what: str, value: Any, count: int, error: type[SoftbanditError] = ArgumentError, single: bool = True
) -> Floats:
    """Return `count` numbers, (count,); if `single` is allowed, one number means that many copies of it."""
    try:
        shape = np.shape(value)
    except (TypeError, ValueError):  # ragged
        shape = (-1, -1)
    if shape == () and single:
        return np.full(count, number(what, value, error))
    if shape != (count,):
        several = f"one number, or {count} of them" if single else f"{count} numbers"
        expected = "one number" if count == 1 else several
        raise error.of(what, expected, value, f"Pass exactly {count}{', in order' if count > 1 else ''}.")
    return np.array([number(f"{what}[{i}]", entry, error) for i, entry in enumerate(value)], dtype=np.float64)


def numbers_above(what: str, value: object, count: int, least: float, strict: bool) -> Floats:
    """Return `count` numbers, all above `least` (at least `least` unless strict)."""
    result = numbers(what, value, count)
    if np.any(result < least) or (strict and np.any(result == least)):
        bound = f"above {least:g}" if strict else f"of at least {least:g}"
        raise ArgumentError.of(what, f"numbers {bound}", value, f"Pass numbers {bound}.")
    return result


def marked(what: str, value: object, count: int) -> NDArray[np.bool_]:
    """Return a mask (count,), true at the numbers that are passed: one, several or none."""
    mask = np.zeros(count, dtype=bool)
    mask[[whole(what, i, 0, count - 1) for i in np.atleast_1d(np.asarray(value, dtype=object)).tolist()]] = True
    return mask


def named(what: str, value: object, options: Mapping[str, T]) -> T:
    """Return the option with that name."""
    if not isinstance(value, str) or value not in options:
        raise UnknownNameError.among(what, value, options)
    return options[value]


def points(what: str, value: object) -> Floats:
    """Return a non-empty matrix of finite numbers, one row per point, as a read-only copy."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "fiu" and not (raw.dtype == object and raw.size):
            raise TypeError
        result = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError.of(what, "a matrix of real numbers", value, "Pass one row per point.") from None
    if result.ndim != 2:
        remedy = f"Write {what}[:, None] for one feature per point." if result.ndim == 1 else "Pass one row per point."
        raise ArgumentError.of(what, "an n x d matrix", Description(f"an array of shape {result.shape}"), remedy)
    if result.size == 0:
        got = Description(f"shape {result.shape}")
        raise ArgumentError.of(what, "at least one row and column", got, "Pass one row per point.")
    if not np.isfinite(result).all():
        row = int(np.argmin(np.isfinite(result).all(axis=1)))
        got = Description(f"{result[row]} in row {row}")
        raise ArgumentError.of(what, "finite numbers", got, "Remove or repair that row.")
    result.flags.writeable = False
    return result
