"""Estimate what it takes to load an agent from the settings and arrays of its file, before any of it is built.

A file from a stranger may name settings that would take all memory, or a day. The estimates are upper bounds of the
right order for what the policies of this library allocate and compute when an agent is loaded.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softbandit.domains import FINITE_LIMIT
from softbandit.errors import Description, FileError
from softbandit.gp.data_space import NOT_FACTORISED

WORK_PER_BYTE = 256  # operations that are allowed for each byte of the limit on memory: minutes at 1 GiB
DEPTH = 200  # of settings inside settings
SPACE_POINTS = FINITE_LIMIT + 2048  # those that a space may become, or at which a kernel is tried
COPIES = 3  # of the file's arrays while an agent is built
ROWS = 16  # that growing arrays begin with
ARRAY = ""  # in place of the name of a class, for a reference to an array
COMPARISON = 200  # operations that it takes to compare two kernels
SPECTRUM = 256**3 * 10  # operations behind one default of lambda

Arrays = Mapping[str, NDArray[Any]]


class Size(NamedTuple):
    memory: float  # bytes
    work: float  # operations


class Counts(NamedTuple):
    """The numbers that decide on the size of an agent."""

    arms: int  # n; SPACE_POINTS of a space
    dimension: int  # d
    constraints: int  # m
    points: int  # the largest setting that is a number of points
    nodes: int  # settings with settings of their own, such as the parts of a kernel
    referenced: int  # bytes of arrays, as often as settings refer to them


def check(path: object, policy: object, arrays: Arrays, memory: float) -> None:
    """Raise FileError if the agent would take more memory than that, or an unreasonable time."""
    size = estimate(policy, arrays)
    check_need(path, max(size.memory, size.work / WORK_PER_BYTE), memory)


def check_need(path: object, need: float, memory: float) -> None:
    """Raise FileError if more is needed than there may be."""
    if need > memory:
        got = Description(f"one that may need {need:.1e} (in memory, or in time that corresponds to it)")
        remedy = f"If you trust the file, pass memory={1.1 * need:.1e}."
        raise FileError.of(str(path), f"a file that can be loaded with memory={memory:.1e}", got, remedy)


def estimate(policy: object, arrays: Arrays) -> Size:
    """Return the memory and the work of loading the agent; `policy` is the file's description of its policy."""
    nodes = list(_nodes(policy))
    c = _counts(nodes, arrays)
    n, d, m = c.arms, c.dimension, 1 + c.constraints
    r = _features(arrays)
    stored = sum(array.nbytes for array in arrays.values())
    numbers = n * (d + r + 4 * m) + d * d + ROWS * m * (c.points + d)
    work = n * r * (r + c.nodes * d) + d * d  # factorised kernels
    work += m * (m * c.nodes * COMPARISON + c.referenced)  # which kernels are equal
    work += 2 * (c.referenced / 8) ** 1.5  # eigenvalues of a Tabular kernel
    work += m * SPECTRUM if any(settings.get("width") == "tight" for _, settings in nodes) else 0
    more = _learned({name for name, _ in nodes}, n, m, arrays)
    return Size(8.0 * numbers + COPIES * (stored + c.referenced) + more.memory, work + more.work)


def _features(arrays: Arrays) -> int:
    """Return the number of rows over the arms: the features of factorised kernels, and those of observed arms."""
    pivots = [array for name, array in arrays.items() if name.startswith("pivots")]
    observed = [array for name, array in arrays.items() if name.startswith("state") and array.ndim == 1]
    in_data_space = any(np.array_equal(array, NOT_FACTORISED) for array in pivots)
    return sum(map(len, pivots + observed if in_data_space else pivots))


def _learned(classes: set[str], n: int, m: int, arrays: Arrays) -> Size:
    """Return what it takes to build the posteriors of a policy that stores its data in place of them."""
    t = max((len(x) for name, x in arrays.items() if name.startswith("state") and x.ndim == 2), default=0)
    if "Autopilot" not in classes:
        return Size(0.0, 0.0)
    points = n if n <= FINITE_LIMIT else max(t, FINITE_LIMIT)
    rank = min(t, points)
    return Size(8.0 * (m + 2) * rank * points, float(m) * t * points * rank)


def _counts(nodes: Sequence[tuple[str, dict[str, Any]]], arrays: Arrays) -> Counts:
    shapes = [_shape(settings[key], arrays) for _, settings in nodes for key in ("arms", "space") if key in settings]
    n, d = map(max, zip((1, 1), *shapes, strict=True))
    m, *points = (_largest(nodes, name) for name in ("constraints", "budget", "points"))
    referenced = sum(arrays[settings["name"]].nbytes for name, settings in nodes if name == ARRAY)
    return Counts(n, d, m, max(points), len(nodes), referenced)


def _largest(nodes: Sequence[tuple[str, dict[str, Any]]], name: str) -> int:
    """Return the largest setting of that name that is a number."""
    values = (settings.get(name) for _, settings in nodes)
    return max((int(value) for value in values if isinstance(value, (int, float))), default=0)


def _shape(place: Any, arrays: Arrays) -> tuple[int, int]:
    """Return the number and the dimension of arms, or of the points that represent a space."""
    if "array" in place:
        n, d = arrays[place["array"]].shape
        return n, d
    settings = place["settings"]
    if place["class"] == "Space":
        return SPACE_POINTS, sum(_width(parameter["settings"]) for _, parameter in settings["parameters"])
    lower = settings["lower"]
    return SPACE_POINTS, arrays[lower["array"]].size if isinstance(lower, dict) else np.size(lower)


def _width(settings: dict[str, Any]) -> int:
    """Return the number of features of a parameter, or one more."""
    return len(settings.get("choices", [None, None]))


def _nodes(tree: object, depth: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Iterate over the name and the settings of each object in a description, and over its references to arrays."""
    if depth > DEPTH:
        raise ValueError(f"settings inside settings, more than {DEPTH} deep")
    if isinstance(tree, list):
        for item in tree:
            yield from _nodes(item, depth + 1)
    elif isinstance(tree, dict) and "array" in tree:
        yield ARRAY, {"name": tree["array"]}
    elif isinstance(tree, dict):
        yield tree["class"], tree["settings"]
        yield from _nodes(list(tree["settings"].values()), depth)
