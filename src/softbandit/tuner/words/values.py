"""Values of named parameters, checked, and in a form that JSON holds exactly."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from softbandit.domains import Space, Values
from softbandit.errors import ArgumentError


def checked_values(space: Space, values: Any) -> Values:
    """Return a value of Python's own types for each parameter of the space."""
    space.encode(values)
    return {name: _plain(parameter, values[name]) for name, parameter, _ in space.parts}


def checked_context(space: Space | None, context: Any) -> Values | None:
    """Return the values of a context, which must be given if the tuner has one."""
    if space is None:
        if context is not None:
            remedy = "Leave it out, or create the tuner with context={...}."
            raise ArgumentError.of("context", "none: this tuner has no context", context, remedy)
        return None
    if not isinstance(context, Mapping):
        names = ", ".join(name for name, _, _ in space.parts)
        raise ArgumentError.of("context", f"a value for each of {names}", context, "Pass a dict.")
    return checked_values(space, context)


def _plain(parameter: Any, value: Any) -> Any:
    if math.isfinite(parameter.size):
        return parameter.decode(np.array(parameter.encode("value", value)))
    return float(value)


def from_json(value: Any) -> Any:
    """Return values as they were before they were stored: a choice may be a tuple, and never a list."""
    if isinstance(value, dict):
        return {name: from_json(entry) for name, entry in value.items()}
    return tuple(map(from_json, value)) if isinstance(value, list) else value
