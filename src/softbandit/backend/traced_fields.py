"""Which fields of a policy are numbers, and which are part of its form.

A program is compiled for a form and serves all numbers. A dataclass declares its fields:

    V: Traced[Floats]           numbers: arguments of the compiled program
    settings: HostOnly[dict]    not used in a round, and left out
    ties: str                   anything else is part of the form, compared by value

A traced field may also hold a dataclass that declares traced fields itself, or a list or
tuple of them. A dataclass that declares none, such as a user's exploration, is part of the
form as a whole.
"""

from collections.abc import Sequence
from dataclasses import Field, fields, is_dataclass
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from softbandit.backend.shapes import Floats

T = TypeVar("T")
TRACED, HOST_ONLY = "traced", "host only"
Traced = Annotated[T, TRACED]
HostOnly = Annotated[T, HOST_ONLY]


class Number(NamedTuple):
    """The place of a number in the list of numbers."""

    place: int


class Instance(NamedTuple):
    """An object, as the forms of its fields."""

    kind: type
    fields: tuple[tuple[str, "Form"], ...]


class Items(NamedTuple):
    """A tuple, named tuple or list."""

    kind: type
    items: tuple["Form", ...]


class Static:
    """A value that is part of the form. It is compared by value if it can be hashed, else by identity."""

    def __init__(self, value: object) -> None:
        self.value = value
        self._key = _comparison_key(value)
        self._hash = hash((type(value), self._key))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and type(self.value) is type(other.value) and bool(self._key == other._key)


Form: TypeAlias = Number | Instance | Items | Static


def split(value: object) -> tuple[list[Floats], Form]:
    """Split a value into its numbers and its form.

    >>> numbers, form = split((np.array([1.0]), "kept", 2.5))
    >>> join(form, [3.0, 4.0])
    (3.0, 'kept', 4.0)
    >>> form == split((np.array([7.0]), "kept", 0.1))[1]
    True
    """
    numbers: list[Floats] = []
    places: dict[int, Number] = {}  # an array used in several places is one number

    def number(part: Any) -> Number:
        numbers.append(part if _is_array(part) else np.asarray(part))
        return Number(len(numbers) - 1)

    def walk(part: Any) -> Form:
        if _is_array(part):
            return places[id(part)] if id(part) in places else places.setdefault(id(part), number(part))
        if isinstance(part, (int, float, np.number)) and not isinstance(part, bool):
            return number(part)
        if isinstance(part, (tuple, list)):
            return Items(type(part), tuple(map(walk, part)))
        if not _declares(part):
            return Static(part)
        kept = [f for f in fields(part) if _role(f) != HOST_ONLY and hasattr(part, f.name)]
        values = ((f, getattr(part, f.name)) for f in kept)
        return Instance(type(part), tuple((f.name, walk(v) if _role(f) == TRACED else Static(v)) for f, v in values))

    form = walk(value)
    return numbers, form


def join(form: Form, numbers: Sequence[Floats]) -> Any:
    """Build the value of that form with these numbers."""
    if isinstance(form, Number):
        return numbers[form.place]
    if isinstance(form, Static):
        return form.value
    if isinstance(form, Items):
        items = [join(item, numbers) for item in form.items]
        return form.kind(*items) if hasattr(form.kind, "_fields") else form.kind(items)
    built: Any = object.__new__(form.kind)
    for name, part in form.fields:
        object.__setattr__(built, name, join(part, numbers))
    return built


def _role(field: Field[Any]) -> str | None:
    """Return what a field declares itself to be."""
    return next((word for word in getattr(field.type, "__metadata__", ()) if word in (TRACED, HOST_ONLY)), None)


def _declares(part: object) -> bool:
    """Return whether a dataclass declares what its fields are."""
    return is_dataclass(part) and not isinstance(part, type) and any(map(_role, fields(part)))


def _is_array(part: object) -> bool:
    """Return whether it is an array of some namespace, and not a scalar of one."""
    return hasattr(part, "__array_namespace__") and not np.isscalar(part)


def _comparison_key(value: Any) -> object:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, slice):
        return value.start, value.stop, value.step
    by_identity = getattr(type(value), "__eq__", None) is object.__eq__
    if by_identity and hasattr(value, "__dict__") and not callable(value):
        return id(value), tuple((name, Static(held)) for name, held in vars(value).items())  # it may change
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
