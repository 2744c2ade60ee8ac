"""Files that hold an agent: a NumPy archive without pickle, written whole or not at all.

Settings are stored by value: numbers, names, arrays, and softbandit's own frozen classes,
which are looked up by name on a fixed list. Nothing in a file is ever executed.
"""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from softbandit import baselines
from softbandit.atomic_write import replacing
from softbandit.backend.shapes import Floats
from softbandit.domains import parameters, spaces
from softbandit.errors import FileError, Words
from softbandit.gp import kernel, kernels
from softbandit.model import explorations as explore
from softbandit.policies import ckb, doubling, practical
from softbandit.policies.base import StepPolicy

FORMAT, VERSION = "softbandit agent", 2

CLASSES: dict[str, Any] = {
    name: value
    for module in (kernel, kernels, explore, parameters, spaces, ckb, doubling, practical, baselines)
    for name, value in vars(module).items()
    if is_dataclass(value) and value.__module__.startswith(module.__name__)
}

DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    RuntimeError,
    MemoryError,
    OverflowError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)  # what reading a damaged archive raises, depending on where the damage is


class NotStorable(Exception):
    """A setting that only code can hold, such as a function."""


def encode(value: Any, arrays: dict[str, Floats]) -> Any:
    """Settings as JSON; arrays are put in `arrays` and named."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype != object:
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, (list, tuple)):
        return [encode(item, arrays) for item in value]
    if CLASSES.get(type(value).__name__) is type(value):
        return {"class": type(value).__name__, "settings": encode_settings(value, arrays)}
    raise NotStorable(repr(value))


def encode_settings(value: Any, arrays: dict[str, Floats]) -> dict[str, Any]:
    names = [f.name for f in fields(value) if f.init]
    given = value.given if isinstance(value, StepPolicy) else {name: getattr(value, name) for name in names}
    # Factors are made again: an agent's file has their pivots, which say how.
    return {name: encode(setting, arrays) for name, setting in given.items() if name != "factors"}


def decode(value: Any, arrays: Any) -> Any:
    """The settings that `encode` stored."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    return CLASSES[value["class"]](**{name: decode(item, arrays) for name, item in value["settings"].items()})


def leaves(tree: Any) -> Iterator[Any]:
    """The entries of nested tuples, in order."""
    if isinstance(tree, tuple):
        for branch in tree:
            yield from leaves(branch)
    elif hasattr(tree, "arrays"):  # a posterior that grows
        yield from tree.arrays()
    else:
        yield tree


def refill(tree: Any, values: Iterator[Floats]) -> Any:
    """A tree of the same shape with the given leaves, each of the old one's type and shape."""
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


def same(a: Any, b: Any) -> bool:
    """Whether two policies have the same settings, as far as they can be stored."""
    stored: list[dict[str, Floats]] = [{}, {}]
    try:
        specs = [encode(each, arrays) for each, arrays in zip((a, b), stored, strict=True)]
    except NotStorable:
        return False
    return specs[0] == specs[1] and all(np.array_equal(x, stored[1][name]) for name, x in stored[0].items())


def write(path: str | PathLike[str], header: dict[str, Any], arrays: dict[str, Floats]) -> None:
    """Write the archive, whole or not at all."""
    with replacing(path) as file:
        header = {"format": FORMAT, "version": VERSION, **header}
        np.savez(file, allow_pickle=False, header=np.array(json.dumps(header)), **arrays)


def read(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Header and arrays of an archive, all read and checked for damage."""
    target = Path(path)
    if not target.is_file():
        raise FileError(f"{target}: expected a saved agent, got no such file. Check the path.")
    try:
        content = target.read_bytes()
    except OSError as error:
        raise FileError(f"{target} could not be read: {error}.") from error
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop("header")))
        known = header["format"] == FORMAT
        version = header["version"] if known else None
    except DAMAGE as error:
        raise not_an_agent(target, error) from error
    if not known:
        raise not_an_agent(target, f"its format is {header['format']!r}")
    if version != VERSION:
        got = Words(f"version {version!r}")
        raise FileError.of(str(target), f"version {VERSION}", got, "Load it with the softbandit that wrote it.")
    return header, arrays


def not_an_agent(path: str | PathLike[str], why: object) -> FileError:
    return FileError(
        f"{path}: expected a whole file written by Agent.save, got one that is damaged or foreign ({why}). "
        "Use an earlier copy."
    )
