"""The file format of a saved agent: a NumPy archive without pickle, written as a whole or not at all.

Settings are stored by value: numbers, names, arrays, and softbandit's own frozen classes,
which are looked up by name in a fixed list. Nothing in a file is ever executed.
"""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softbandit import baselines
from softbandit.atomic_write import replacing
from softbandit.domains import parameters, spaces
from softbandit.errors import Description, FileError
from softbandit.gp import kernel, kernels
from softbandit.model import explorations
from softbandit.policies import Autopilot, StepPolicy, autopilot, ckb, doubling, practical

FORMAT, VERSION = "softbandit agent", 4
READABLE = (2, 3, 4)  # 2 has no record of the rounds; 3 has one without estimates and tickets

CLASSES: dict[str, Callable[..., object]] = {
    name: value
    for module in (kernel, kernels, explorations, parameters, spaces, ckb, doubling, practical, autopilot, baselines)
    for name, value in vars(module).items()
    if isinstance(value, type) and is_dataclass(value) and value.__module__.startswith(module.__name__)
}
"""The classes that a file may name."""

LACKING: dict[str, dict[str, object]] = {
    "SafeOpt": {"intersect": True, "expanders": "all"},
    "StageOpt": {"intersect": True, "expanders": "all"},
}
"""Settings that files from before their introduction lack, with the values that were fixed then."""

ARCHIVE_ERRORS = (OSError, EOFError, struct.error, zlib.error, zipfile.BadZipFile)
CONTENT_ERRORS = (ValueError, KeyError, TypeError, AttributeError, RuntimeError, MemoryError, OverflowError)
DAMAGE = ARCHIVE_ERRORS + CONTENT_ERRORS
"""The exceptions that loading a damaged file may raise, depending on the damage."""

Array: TypeAlias = NDArray[Any]
Arrays: TypeAlias = dict[str, Array]


class Header(NamedTuple):
    """The part of a file that is not arrays."""

    seed: int
    round: int
    identity: int
    policy: object  # as `encode` returned it; None if it cannot be stored
    code: str | None  # the setting that cannot be stored, for the error message
    version: int = VERSION


class NotStorable(Exception):
    """A setting that cannot be stored by value, such as a function."""


class Outdated(Exception):
    """A policy whose rule has changed since, so that its state means nothing to the present one."""


def encode(value: object, arrays: Arrays) -> object:
    """Return settings as JSON. Arrays are added to `arrays`, and referred to by name."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return encode(value.item(), arrays)
    if isinstance(value, np.ndarray) and value.dtype != object:
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, (list, tuple)):
        return [encode(item, arrays) for item in value]
    if CLASSES.get(type(value).__name__) is type(value):
        return {"class": type(value).__name__, "settings": _encode_settings(value, arrays)}
    raise NotStorable(repr(value))


def _encode_settings(value: Any, arrays: Arrays) -> dict[str, object]:
    names = [f.name for f in fields(value) if f.init]
    own = isinstance(value, (Autopilot, StepPolicy))
    settings = value.given if own else {name: getattr(value, name) for name in names}
    # Factors are computed again: an agent's file has their pivots, which determine them.
    return {name: encode(setting, arrays) for name, setting in settings.items() if name != "factors"}


def decode(value: Any, arrays: Arrays) -> Any:
    """Return the settings that `encode` stored."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    name, settings = value["class"], {key: decode(item, arrays) for key, item in value["settings"].items()}
    if name == "POBO" and "hard" not in settings:
        raise Outdated("POBO without hard and soft constraints")
    return CLASSES[name](**LACKING.get(name, {}) | settings)


def same_settings(a: object, b: object) -> bool:
    """Return whether two policies have the same settings; False if they cannot be stored."""
    arrays: tuple[Arrays, Arrays] = ({}, {})
    try:
        encoded = [encode(policy, stored) for policy, stored in zip((a, b), arrays, strict=True)]
    except NotStorable:
        return False
    return encoded[0] == encoded[1] and all(np.array_equal(x, arrays[1][name]) for name, x in arrays[0].items())


def leaves(tree: Any) -> Iterator[object]:
    """Iterate over the entries of nested tuples; those of a posterior that grows are its arrays."""
    if isinstance(tree, tuple):
        for branch in tree:
            yield from leaves(branch)
    elif hasattr(tree, "refilled"):
        yield from tree.arrays()
    else:
        yield tree


def refill(tree: Any, values: Iterator[Array]) -> Any:
    """Return a tree of the same shape with other leaves. Their dtypes and shapes must stay the same."""
    if isinstance(tree, tuple):
        branches = [refill(branch, values) for branch in tree]
        return type(tree)(*branches) if hasattr(tree, "_fields") else tuple(branches)
    if hasattr(tree, "refilled"):
        return tree.refilled(values)
    value = next(values)
    if value.shape != np.shape(tree) or value.dtype != np.asarray(tree).dtype:
        expected = f"{np.asarray(tree).dtype} of shape {np.shape(tree)}"
        raise ValueError(f"expected {expected}, got {value.dtype} of shape {value.shape}")
    if np.isnan(value).any():
        raise ValueError("NaN in the state")
    return value if isinstance(tree, np.ndarray) else value.item()


def write(path: str | PathLike[str], header: Header, arrays: Arrays) -> None:
    """Write the archive, as a whole or not at all."""
    with replacing(path) as file:
        text = json.dumps({"format": FORMAT, **header._asdict()})
        np.savez(file, allow_pickle=False, header=np.array(text), **arrays)


def read(path: str | PathLike[str]) -> tuple[Header, Arrays]:
    """Return the header and the arrays of an archive, all of them read and checked for damage."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise FileError(f"{path}: expected a saved agent, got no such file. Check the path.") from None
    except OSError as error:
        raise FileError(f"{path} could not be read: {error}. Check the path.") from error
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop("header")))
        if header["format"] != FORMAT:
            raise ValueError(f"its format is {header['format']!r}")
        if header["version"] in READABLE:
            return Header(*(header[name] for name in Header._fields)), arrays
    except DAMAGE as error:
        raise damaged(path, error) from error
    got = Description(f"version {header['version']!r}")
    raise FileError.of(str(path), f"version {VERSION}", got, "Load it with the softbandit that wrote it.")


def damaged(path: str | PathLike[str], reason: object) -> FileError:
    """Return the error for a file that `write` did not write, or that was changed afterwards."""
    return FileError(
        f"{path}: expected a whole file written by Agent.save, got one that is damaged or foreign ({reason}). "
        "Use an earlier copy."
    )
