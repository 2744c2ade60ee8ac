"""The file format of a saved agent: a NumPy archive without pickle, written as a whole or not at all.

Settings are stored by value: numbers, names, arrays, and softbandit's own frozen classes,
which are looked up by name in a fixed list. Nothing in a file is ever executed, and what its numbers
would cost is estimated before anything is built from them.
"""

import json
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softbandit import baselines
from softbandit.agent import archive, file_limits
from softbandit.agent.archive import Arrays
from softbandit.atomic_write import real_path, replacing
from softbandit.domains import Domain, choices, cyclic, ranges, spaces
from softbandit.errors import Description, FileError
from softbandit.gp import kernel, kernels
from softbandit.model import explorations
from softbandit.policies import Autopilot, State, StepPolicy, Steps, autopilot, ckb, doubling

FORMAT, VERSION = "softbandit agent", 4
READABLE = (2, 3, 4)  # 2 has no record of the rounds; 3 has one without estimates and tickets; both have no checksum
JSON_BYTES = 32  # of Python objects, at most, for each byte of a header

CLASSES: dict[str, Callable[..., object]] = {
    name: value
    for module in (kernel, kernels, explorations, choices, cyclic, ranges, spaces, ckb, doubling, autopilot, baselines)
    for name, value in vars(module).items()
    if isinstance(value, type) and is_dataclass(value) and value.__module__.startswith(module.__name__)
}
"""The classes that a file may name."""

LACKING: dict[str, dict[str, object]] = {
    "SafeOpt": {"intersect": True, "expanders": "all"},
    "StageOpt": {"intersect": True, "expanders": "all"},
}
"""Settings that files from before their introduction lack, with the values that were fixed then."""

POSSIBLE = {"var": (0.0, 1.001), "gain": (0.0, 1e100), "root": (-1.001, 1.001), "R": (-1.001, 1.001)}
"""The ranges of what posteriors hold: variances are at most k(x, x) <= 1, and roots of covariances likewise."""

Array: TypeAlias = NDArray[Any]
Files: TypeAlias = Mapping[Path, str | None]
"""The files that an agent was loaded from or saved to, with the checksum that each had then."""


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
    """A policy whose rule was changed or removed, so that its state means nothing now; and what to do."""


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
        raise Outdated("POBO without hard and soft constraints", "Start a new agent.")
    if name == "Practical":
        raise Outdated("Practical, whose rule was removed", "Start a new agent, with sb.Autopilot(space, horizon=...).")
    kind = CLASSES[name]
    if isinstance(kind, type) and issubclass(kind, StepPolicy):
        # The file's pivots: another machine may choose others, and the rank must not exceed that of the state.
        settings["factors"] = [arrays[key] for key in arrays if key.startswith("pivots")] or None
    return kind(**LACKING.get(name, {}) | settings)


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
        return tree.refilled(_of_same_dtype(values, tree.arrays()))
    value = next(values)
    if value.shape != np.shape(tree) or value.dtype != np.asarray(tree).dtype:
        expected = f"{np.asarray(tree).dtype} of shape {np.shape(tree)}"
        raise ValueError(f"expected {expected}, got {value.dtype} of shape {value.shape}")
    if np.isnan(value).any():
        raise ValueError("NaN in the state")
    return value if isinstance(tree, np.ndarray) else value.item()


def _of_same_dtype(values: Iterator[Array], examples: Iterator[object]) -> Iterator[Array]:
    for example, value in zip(examples, values, strict=False):
        if value.dtype != np.asarray(example).dtype:
            raise ValueError(f"expected {np.asarray(example).dtype}, got {value.dtype}")
        yield value


def check_state(state: State, rounds: int, steps: Steps) -> None:
    """Raise ValueError unless it can be the state of these steps after so many rounds."""
    if state.round != rounds:
        raise ValueError(f"a state of round {state.round} in round {rounds}")
    if not all(np.isfinite(np.asarray(leaf)).all() for leaf in leaves((state.dual, state.posterior))):
        raise ValueError("infinite numbers in the state")
    if not steps.signed_dual and (state.dual < 0).any():
        raise ValueError("a negative dual")
    for name, (least, most) in POSSIBLE.items():
        values = [np.asarray(leaf) for value in _named(state.posterior, name) for leaf in leaves(value)]
        if any(np.any((value < least) | (value > most)) for value in values):
            raise ValueError(f"{name} outside [{least:g}, {most:g}]")
    if isinstance(steps.arms, Domain):
        for points in [*_named(state.posterior, "anchors"), *_named(state.posterior, "X")]:
            check_points(steps.arms, points)
    if not _decides(steps, state):
        raise ValueError("a state that no decision can be based on")


def _decides(steps: Steps, state: State) -> bool:
    """Return whether what a decision is based on is finite; on a space, at some of its corners."""
    with np.errstate(all="ignore"):
        if not steps.usable(state):
            return False
        if not isinstance(steps, StepPolicy) or not isinstance(steps.arms, Domain):
            return True
        return bool(np.isfinite(steps.moments(state, steps.arms.corners()[:8])).all())


def _named(tree: Any, name: str) -> Iterator[Any]:
    """Iterate over the attributes of that name in nested tuples."""
    if hasattr(tree, name) and not isinstance(tree, np.ndarray):  # which has a method var
        yield getattr(tree, name)
    elif isinstance(tree, tuple):
        for branch in tree:
            yield from _named(branch, name)


def check_points(arms: Array | Domain, played: Array) -> None:
    """Raise ValueError unless these are numbers of arms (t,), or points of a domain (t, d)."""
    if isinstance(arms, Domain):
        valid = np.abs(arms.snap(played) - played) <= spaces.ROUNDING * (arms.upper - arms.lower)
    else:
        valid = (played == np.floor(played)) & (played >= 0) & (played < len(arms))
    if not valid.all():
        raise ValueError("an arm or a point that there is not")


def write(path: str | PathLike[str], header: Header, arrays: Arrays, files: Files) -> Files:
    """Write the archive, as a whole or not at all, and return `files` with it.

    It is refused if somebody else has written the file since: what they added would be lost.
    """
    target = real_path(path)
    with replacing(target) as file:
        if target in files and target.exists() and archive.checksum(target) != files[target]:
            expected = "the file as this agent loaded or saved it last"
            got = Description("one that was written since, perhaps by another process")
            remedy = "Load that one and continue with it, or save under another name: one process at a time."
            raise FileError.of(str(path), expected, got, remedy)
        text = json.dumps({"format": FORMAT, **header._asdict()})
        checksum = archive.write(file, {"header": np.array(text), **arrays})
    return {**files, target: checksum}


def read(path: str | PathLike[str], memory: float) -> tuple[Header, Arrays, Files]:
    """Return the header and the arrays of an archive, all of them read and checked for damage."""
    target = real_path(path)
    _check_size(path, target, memory)
    try:
        arrays, checksum = archive.read(target)
        text = arrays.pop("header")
        file_limits.check_need(path, JSON_BYTES * text.nbytes, memory)
        header = json.loads(str(text))
        if header["format"] != FORMAT:
            raise ValueError(f"its format is {header['format']!r}")
        if header["version"] in READABLE:
            if header["version"] >= 4 and checksum is None:
                raise ValueError("it has no checksum")
            file_limits.check(path, header["policy"], arrays, memory)
            return Header(*(header[name] for name in Header._fields)), arrays, {target: checksum}
    except FileError:
        raise
    except Exception as error:  # whatever damage leads to
        raise damaged(path, error) from error
    got = Description(f"version {header['version']!r}")
    raise FileError.of(str(path), f"version {VERSION}", got, "Load it with the softbandit that wrote it.")


def _check_size(path: object, target: Path, memory: float) -> None:
    """Raise FileError unless there is a file that can be read, of a size that can be loaded."""
    try:
        status = target.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe or a device might never end
            raise OSError("it is not a file")
        target.open("rb").close()
    except FileNotFoundError:
        raise FileError(f"{path}: expected a saved agent, got no such file. Check the path.") from None
    except OSError as error:
        raise FileError(f"{path} could not be read: {error}. Check the path.") from error
    file_limits.check_need(path, file_limits.COPIES * status.st_size, memory)


def damaged(path: str | PathLike[str], reason: object) -> FileError:
    """Return the error for a file that `write` did not write, or that was changed afterwards."""
    return FileError(
        f"{path}: expected a whole file written by Agent.save, got one that is damaged or foreign ({reason}). "
        "Use an earlier copy."
    )
