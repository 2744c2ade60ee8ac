"""A policy taken apart into its numbers and its form, so that one compilation serves all numbers.

Numbers are arrays of floats, truths or words, floats, and a policy's own whole numbers (its horizon,
say). All else is the form: classes, names, counts of draws, explorations. Policies that
differ in numbers only have equal forms.
"""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from softbandit.arrays import Array
from softbandit.policy import StepPolicy

PLAIN = {int, float, bool, str, type(None), slice, tuple, list}
"""Python's own kinds of values that can do nothing by themselves."""

UNUSED = {"given", "factors", "kernel", "cost_kernel", "pivots", "residual", "name", "source"}
"""Fields that no step uses, and that are left out."""


class Number(NamedTuple):
    """The place of a number."""

    place: int


class Made(NamedTuple):
    """An object, by its fields."""

    kind: type
    fields: tuple[tuple[str, Any], ...]


class Items(NamedTuple):
    """A tuple, a named one, or a list."""

    kind: type
    items: tuple[Any, ...]


class Fixed:
    """A value that is itself part of the form. It equals another by value if it has a hash for that."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = _key(value)
        self._hash = hash((type(value), self._key))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fixed) and type(self.value) is type(other.value) and bool(self._key == other._key)


def dissect(value: Any) -> tuple[list[Array], Any]:
    """The numbers of a value, and its form.

    >>> numbers, form = dissect((np.array([1.0]), "kept", 2.5))
    >>> assemble(form, [3.0, 4.0])
    (3.0, 'kept', 4.0)
    >>> form == dissect((np.array([7.0]), "kept", 0.1))[1]
    True
    """
    numbers: list[Array] = []
    places: dict[int, Number] = {}  # an array that stands in several places is one number

    def number(part: Any) -> Number:
        numbers.append(part if _is_array(part) else np.asarray(part))
        return Number(len(numbers) - 1)

    def walk(part: Any, floats: bool = True, whole: bool = False) -> Any:
        if _is_array(part) and part.dtype.kind in "fbu":
            return places[id(part)] if id(part) in places else places.setdefault(id(part), number(part))
        if (floats and isinstance(part, (float, np.floating))) or (whole and type(part) is int):
            return number(part)
        if isinstance(part, (tuple, list)):
            return Items(type(part), tuple(walk(item, floats) for item in part))
        if is_dataclass(part) and not isinstance(part, type) and not _is_constant(part):
            floats, policy = _by_identity(part), isinstance(part, StepPolicy)
            names = [f.name for f in fields(part) if f.name not in UNUSED and hasattr(part, f.name)]
            # The number of constraints is not a number here: arrays have it in their shapes.
            parts = ((name, walk(getattr(part, name), floats, policy and name != "constraints")) for name in names)
            return Made(type(part), tuple(parts))
        return Fixed(part)

    form = walk(value)
    return numbers, form


def assemble(form: Any, numbers: Sequence[Array]) -> Any:
    """The value of that form with these numbers."""
    if isinstance(form, Number):
        return numbers[form.place]
    if isinstance(form, Fixed):
        return form.value
    if isinstance(form, Items):
        items = [assemble(item, numbers) for item in form.items]
        return form.kind(*items) if hasattr(form.kind, "_fields") else form.kind(items)
    made = object.__new__(form.kind)
    for name, part in form.fields:
        object.__setattr__(made, name, assemble(part, numbers))
    return made


def is_ours(part: Any) -> bool:
    """Whether nothing that it is made of was written by others, who may do what they like in each round."""
    kind = type(part)
    if kind not in PLAIN and kind.__module__.partition(".")[0] not in ("softbandit", "numpy"):
        return False
    if isinstance(part, (tuple, list)):
        return all(map(is_ours, part))
    if not is_dataclass(part):
        return not callable(part)
    held = {f.name for f in fields(part)}
    patched = any(callable(value) for name, value in vars(part).items() if name not in held)
    return not patched and all(is_ours(getattr(part, name, None)) for name in held - UNUSED)


def _is_array(part: Any) -> bool:
    """Whether it is an array of some namespace, and not a number of one."""
    return hasattr(part, "__array_namespace__") and not np.isscalar(part)


def _by_identity(part: Any) -> bool:
    """Whether it equals nothing but itself, like all that is built from settings here."""
    return getattr(type(part), "__eq__", None) is object.__eq__


def _is_constant(part: Any) -> bool:
    """Whether it is a value without arrays: an exploration, say, which may compute with what it holds in Python."""
    if _by_identity(part):
        return False
    try:
        hash(part)
    except TypeError:
        return False
    return True


def _key(value: Any) -> Any:
    """What a value is compared by."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, slice):
        return value.start, value.stop, value.step
    if _by_identity(value) and hasattr(value, "__dict__") and not callable(value):
        return id(value), tuple((name, Fixed(held)) for name, held in vars(value).items())  # it may change
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
