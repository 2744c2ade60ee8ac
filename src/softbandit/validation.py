"""Checks of arguments: each returns the value in one standard form, or raises an error about `what`.

Whatever a caller passes, nothing but that error is raised: an object of the caller's may fail in any way when it is
converted, so conversions catch every Exception.
"""

import math
import numbers as abstract
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softbandit.errors import ArgumentError, Description, SoftbanditError, UnknownNameError

T = TypeVar("T")
Floats = NDArray[np.float64]

LEAST, LARGEST = 1e-50, 1e50
"""The range of positive settings: float64 holds the products, quotients and squares of them that the methods need.

The largest is R^2 / (B^2 lambda), up to 1e250; rho and V are within 1e-160 and 1e110.
"""

NOT_NUMBERS = (str, bytes, bool, complex, np.ma.MaskedArray)  # float() or NumPy would accept some of them
MOST_SEED = 2**128 - 1  # as many bits as NumPy's generators use
DEEPEST = 8  # nesting of lists in a setting


# -- Numbers. --


def number(what: str, value: Any, error: type[SoftbanditError] = ArgumentError) -> float:
    """Return a finite real number."""
    try:
        kind = getattr(getattr(value, "dtype", None), "kind", "f")
        if isinstance(value, NOT_NUMBERS) or kind not in "fiu" or _length(value) is not None:
            raise TypeError
        result = float(value)
    except Exception:
        raise error.of(what, "a number", value, "Pass one finite real number.") from None
    if not math.isfinite(result):
        raise error.of(what, "a finite number", value, "Check where the NaN or infinity comes from.")
    return result


def above_zero(what: str, value: object) -> float:
    """Return a positive number of any size."""
    result = number(what, value)
    if result <= 0:
        raise ArgumentError.of(what, "a number above 0", value, "Pass a positive number.")
    return result


def positive(what: str, value: object) -> float:
    """Return a positive number of usable size."""
    return usable_size(what, above_zero(what, value))


def nonnegative(what: str, value: object) -> float:
    result = number(what, value)
    if result < 0:
        raise ArgumentError.of(what, "a number of at least 0", value, "Pass zero or a positive number.")
    return usable_size(what, result) if result >= LEAST else result


def share(what: str, value: object, remedy: str) -> float:
    """Return a number between 0 and 1, neither of them."""
    result = number(what, value)
    if not 0 < result < 1:
        raise ArgumentError.of(what, "a number in (0, 1)", value, remedy)
    return usable_size(what, result)


def usable_size(what: str, value: float) -> float:
    """Return a positive number, unless computations with it would overflow or vanish."""
    if not LEAST <= value <= LARGEST:
        expected = f"a number between {LEAST:g} and {LARGEST:g}"
        raise ArgumentError.of(what, expected, value, "Choose other units.")
    return value


def whole(what: str, value: Any, least: int, most: int | None = None) -> int:
    """Return a whole number in [least, most]."""
    span = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        result = operator.index(value)
    except Exception:
        raise ArgumentError.of(what, span, value, "Pass an int.") from None
    if result < least or (most is not None and result > most):
        raise ArgumentError.of(what, span, value, "Pass an int in that range.")
    return result


def seed(value: object) -> int:
    """Return the seed of one of NumPy's generators."""
    return whole("seed", value, least=0, most=MOST_SEED)


# -- Several numbers. --


def numbers(
    what: str, value: Any, count: int, error: type[SoftbanditError] = ArgumentError, single: bool = True
) -> Floats:
    """Return `count` numbers, (count,); if `single` is allowed, one number means that many copies of it."""
    length = _length(value)
    if length is None and single:
        return np.full(count, number(what, value, error))
    if length != count or not is_listed(value):
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
    for entry in result.tolist():
        usable_size(what, entry if strict else max(entry, LEAST))
    return result


def array(
    what: str, value: Any, expected: str = "an array of real numbers", remedy: str = "Pass finite numbers."
) -> Floats:
    """Return a copy of an array, or of nested sequences, of finite real numbers."""
    size = getattr(value, "size", None) if isinstance(value, np.ndarray) else _length(value)
    affordable(what, size or 0)
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "fiuO" or np.ma.is_masked(value):
            raise TypeError
        if raw.dtype == object:
            raw = np.array([number(what, entry) for entry in raw.flat]).reshape(raw.shape)
        with np.errstate(over="ignore"):
            result = np.array(raw, dtype=np.float64)
    except Exception:
        raise ArgumentError.of(what, expected, value, remedy) from None
    if not np.isfinite(result).all():
        got = Description(f"NaN or infinity at {np.argwhere(~np.isfinite(result))[0].tolist()}")
        raise ArgumentError.of(what, "finite numbers", got, "Remove or repair that entry.")
    return result


def vector(what: str, value: object, count: int | None = None) -> Floats:
    """Return a vector (count,), or of any length above 0."""
    result = array(what, value)
    if result.ndim != 1 or (len(result) != count if count is not None else not result.size):
        expected = "a vector" if count is None else f"a vector of {count} numbers"
        raise ArgumentError.of(what, expected, Description(f"an array of shape {result.shape}"), "Check the shape.")
    return result


def matrix(what: str, value: object) -> Floats:
    """Return a non-empty matrix of finite numbers, one row per point, as a read-only copy."""
    if isinstance(value, Mapping):
        expected, remedy = "a matrix of real numbers, or a space", "Wrap parameters by name: sb.Space({...})."
        raise ArgumentError.of(what, expected, value, remedy)
    result = array(what, value, "a matrix of real numbers", "Pass one row per point.")
    if result.ndim != 2:
        remedy = f"Write {what}[:, None] for one feature per point." if result.ndim == 1 else "Pass one row per point."
        raise ArgumentError.of(what, "an n x d matrix", Description(f"an array of shape {result.shape}"), remedy)
    if result.size == 0:
        got = Description(f"shape {result.shape}")
        raise ArgumentError.of(what, "at least one row and column", got, "Pass one row per point.")
    result.flags.writeable = False
    return result


def points(what: str, value: object) -> Floats:
    """Return such a matrix of numbers whose squares and products are finite."""
    result = matrix(what, value)
    if np.abs(result).max() > LARGEST:
        got = Description(f"{np.abs(result).max():g}")
        raise ArgumentError.of(what, f"numbers up to {LARGEST:g}", got, "Choose other units.")
    return result


def marked(what: str, value: object, count: int) -> NDArray[np.bool_]:
    """Return a mask (count,), true at the numbers that are passed: one, several or none."""
    mask = np.zeros(count, dtype=bool)
    for entry in value if is_listed(value) else [value]:  # type: ignore[attr-defined]
        mask[whole(what, entry, 0, count - 1)] = True
    return mask


def listed(what: str, value: Any, expected: str, remedy: str) -> list[Any]:
    """Return the entries of a list, a tuple, a range or a vector."""
    if not is_listed(value):
        raise ArgumentError.of(what, expected, value, remedy)
    affordable(what, len(value))
    return list(value)


def indices(what: str, value: object, count: int) -> NDArray[np.int64]:
    """Return whole numbers from 0 to count - 1, in an array of any shape that is not empty."""
    result = array(what, value)
    if not result.size or np.any((result != np.floor(result)) | (result < 0) | (result >= count)):
        remedy = "Pass the numbers of arms."
        raise ArgumentError.of(what, f"whole numbers from 0 to {count - 1}", value, remedy)
    return result.astype(np.int64)


def labels(what: str, value: object, count: int) -> NDArray[np.int64]:
    """Return labels (count,), which are numbers or text, numbered from 0 in ascending order."""
    length = _length(value)
    if length != count:
        got = value if length is None else Description(f"{length}")
        raise ArgumentError.of(what, f"{count} values, one per arm", got, "Check the shapes.")
    try:
        given = np.asarray(value)
        if given.ndim != 1 or given.dtype.kind not in "fiubU" or np.ma.is_masked(value):
            raise TypeError
        return np.unique(given, return_inverse=True)[1].astype(np.int64)
    except Exception:
        raise ArgumentError.of(what, "a vector of labels", value, "Pass numbers or text.") from None


def affordable(what: str, *shape: int) -> None:
    """Refuse an array of that shape that this machine could not hold."""
    size = math.prod(shape)
    if 8 * size > _memory():
        got = Description(f"{size:.3g}" if size < 1e300 else "more than 1e300")
        expected = f"at most {_memory() / 8:.3g} numbers, which fill this machine's memory"
        raise ArgumentError.of(what, expected, got, "Ask for fewer.")


# -- Other values. --


def named(what: str, value: object, options: Mapping[str, T]) -> T:
    """Return the option with that name."""
    if not isinstance(value, str) or value not in options:
        raise UnknownNameError.among(what, value, options)
    return options[value]


def instance(what: str, value: Any, kind: type[Any], expected: str, remedy: str) -> None:
    """Refuse a value of another class."""
    if not isinstance(value, kind):
        raise ArgumentError.of(what, expected, value, remedy)


def flag(what: str, value: object) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError.of(what, "True or False", value, "Pass one of them.")
    return bool(value)


def text(what: str, value: Any) -> str:
    instance(what, value, str, "text", "Pass a str.")
    return str.__str__(value)


def function(what: str, value: object) -> Callable[..., Any]:
    if not callable(value):
        raise ArgumentError.of(what, "a function", value, "Pass one that can be called.")
    return value


def result(what: str, function: Callable[..., Any], *arguments: object) -> Any:
    """Return what a user's function returns, or raise an error about it that shows the one it raised."""
    try:
        return function(*arguments)
    except Exception as error:
        got = Description(f"{type(error).__name__}: {error}"[:200])
        raise ArgumentError.of(what, "a function that accepts its arguments", got, "Call it yourself.") from error


def path(what: str, value: Any) -> Path:
    """Return a path: text, or an object such as pathlib.Path."""
    try:
        given = os.fspath(value)
        if not isinstance(given, str) or "\0" in given:
            raise TypeError
        given.encode("utf-8", "surrogateescape")
    except Exception:
        raise ArgumentError.of(what, "a path", value, "Pass text or a pathlib.Path.") from None
    return Path(given)


def plain(what: str, value: Any, depth: int = 0) -> Any:
    """Return a setting in a form that can be stored: built-in numbers and text, read-only arrays, tuples of these.

    Any other object, such as a kernel or a function, is returned as it is.
    """
    if value is None or type(value) in (bool, float, str) or isinstance(value, type):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (int, np.integer)):
        number(what, value)
        return operator.index(value)
    if isinstance(value, (abstract.Number, np.number)):
        return number(what, value)
    if type(value) in (list, tuple):  # a named tuple may be a user's exploration
        if depth == DEEPEST:
            raise ArgumentError.of(what, f"lists nested at most {DEEPEST} deep", value, "Pass numbers.")
        return tuple(plain(f"{what}[{i}]", entry, depth + 1) for i, entry in enumerate(value))
    return _plain_array(what, value, depth) if hasattr(value, "__array__") else value


def _plain_array(what: str, value: Any, depth: int) -> Any:
    """Return a read-only array of int64 or float64 (one number, if it has no axes); of objects, a tuple."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return plain(what, value.tolist(), depth)
    result = array(what, value)
    if not result.ndim:
        return float(result)
    if np.asarray(value).dtype.kind in "iu" and np.abs(result).max(initial=0.0) <= 2**53:
        result = result.astype(np.int64)
    result.flags.writeable = False
    return result


def store(value: object, /, **fields: object) -> None:
    """Set fields of a frozen dataclass while it is built."""
    for name, setting in fields.items():
        object.__setattr__(value, name, setting)


def _length(value: Any) -> int | None:
    """Return len(value); None if it has none."""
    try:
        return len(value)
    except Exception:
        return None


def is_listed(value: Any) -> bool:
    """Return whether a value has entries in an order: a sequence that is not text, or an array with axes."""
    if isinstance(value, (str, bytes, bytearray)) or _length(value) is None:
        return False
    return isinstance(value, (Sequence, np.ndarray)) or (hasattr(value, "__array__") and not isinstance(value, type))


def _memory() -> int:
    """Return this machine's memory in bytes; a terabyte if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return 2**40
