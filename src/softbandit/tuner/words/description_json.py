"""Parameters and limits as JSON: the name of the class, and its settings."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from softbandit import validation
from softbandit.domains import (
    Categorical,
    Cyclic,
    Fixed,
    Float,
    Integer,
    LogFloat,
    LogInteger,
    Ordinal,
    Parameter,
    Space,
)
from softbandit.tuner.words.limits import Excess, Mean, Share

PARAMETERS = (Categorical, Cyclic, Fixed, Float, Integer, LogFloat, LogInteger, Ordinal)
KINDS: dict[str, Any] = {kind.__name__: kind for kind in (*PARAMETERS, Mean, Share, Excess)}


def packed(value: Any) -> Any:
    """Return a setting as what JSON can hold. A space is a list, so that its order is kept."""
    if isinstance(value, Space):
        return [[name, packed(parameter)] for name, parameter in value.parameters]
    if is_dataclass(value):
        return {"kind": type(value).__name__} | {f.name: packed(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, tuple):
        return list(map(packed, value))
    if isinstance(value, Mapping):
        return {name: packed(entry) for name, entry in value.items()}
    return value


def unpacked(data: Mapping[str, Any]) -> Any:
    """Return a parameter or a limit."""
    settings = dict(data)
    return validation.named("kind", settings.pop("kind"), KINDS)(**settings)


def unpacked_space(data: Any) -> Space | None:
    if data is None:
        return None
    pairs: list[tuple[str, Parameter]] = [(name, unpacked(parameter)) for name, parameter in data]
    return Space(pairs)
