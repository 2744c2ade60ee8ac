"""A function of arrays, recorded once and repeated as NumPy's calls alone.

A round of a policy is pure: which functions it calls, and on what shapes, is the same every
time. So it is called once with arrays that write down what is done with them (`Recorded`). To
repeat it is to make the same calls, into the same memory. What only looks at memory in another
way (slices, new axes) was done for good then, and so was all arithmetic of constants. Results
are those of the function itself, to the bit.
"""

import math
import operator
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import repeat
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from softbandit.tape import (
    Array,
    Branch,
    Call,
    Calls,
    Tree,
    alike,
    arranged,
    arrays,
    grown,
    identity,
    leaves,
    mapped,
    memory,
    moved,
)

METHODS = {"argmax", "max", "min", "sum", "any", "all", "clip", "reshape", "astype"}
FUNCTIONS = {np.all, np.any, np.max, np.min, np.sum, np.cumulative_sum, np.count_nonzero, np.einsum, np.where}
FUNCTIONS |= {np.concat, np.stack, np.broadcast_to, np.matrix_transpose, np.searchsorted, np.zeros_like}
"""What can be recorded, besides ufuncs: results whose shapes follow from shapes, of arguments that stay as they are."""

SMALL = 2**20  # bytes: a constant that may be copied
ROOM = 2**26  # bytes: what results may take while they are recorded, each in memory of its own


class NotRecorded(AttributeError):
    """What was done depends on more than shapes, or is not known here: to `hasattr`, it is not there."""


class Tape:
    """What has been called so far."""

    def __init__(self) -> None:
        self.calls: Calls = []
        self.results: dict[Any, Recorded] = {}  # by call: what it gave
        self._room = ROOM

    def add(self, function: Callable[..., Any], arguments: Any, keywords: dict[str, Any], result: Any) -> "Recorded":
        """Write down a call that was not made before, and keep its result."""
        call = function, identity(arguments), identity(list(keywords.items()))
        if call not in self.results:
            self.reserve(np.asarray(result).nbytes)
            out = np.asarray(result, order="C")
            out = out if out.base is None else out.copy()
            self.calls.append(Call(function, arguments, keywords, out))
            self.results[call] = Recorded(out, self)
        return self.results[call]

    def reserve(self, size: int) -> None:
        """Room for so many bytes, if there is."""
        self._room -= size
        if self._room < 0:
            raise NotRecorded(f"it takes more than {ROOM} bytes")


class Recorded(NDArrayOperatorsMixin):
    """An array that writes down on a tape what is done with it. One without a tape is a constant."""

    def __init__(self, value: Any, tape: Tape | None = None) -> None:
        self.value, self.tape = np.asarray(value), tape
        self.shape, self.ndim, self.dtype = self.value.shape, self.value.ndim, self.value.dtype

    def __array_namespace__(self, **_: Any) -> Any:
        return np

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **keywords: Any) -> Any:
        """Every ufunc, and every operator. (`x += y` makes a new array, as with any compiler.)"""
        if method != "__call__" or keywords or ufunc.nout > 1:
            raise NotRecorded(f"{ufunc.__name__}.{method}")
        if ufunc is np.power and all(np.ndim(_value(x)) == 0 for x in inputs):
            raise NotRecorded("a power of a number, which Python rounds otherwise than NumPy")
        return record(ufunc, *inputs)

    def __array_function__(self, function: Callable[..., Any], types: Any, arguments: Any, keywords: Any) -> Any:
        """Other functions of NumPy's."""
        if function not in FUNCTIONS:
            raise NotRecorded(function.__name__)
        return record(function, *arguments, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise NotRecorded(name)
        return partial(record, getattr(np.ndarray, name), self)

    def __getitem__(self, index: Any) -> "Recorded":
        if any(x.dtype == bool for x in leaves(index) if isinstance(x, (Recorded, np.ndarray))):
            raise NotRecorded("how many are true decides on a shape")
        # Rows that stand together are sooner taken; "wrap" is what [] does, without a second buffer for the result.
        if isinstance(index, Recorded) and index.dtype.kind == "i":
            together = self.value.flags.c_contiguous
            if together or (self.tape is None and self.value.nbytes <= SMALL):
                rows = self if together else Recorded(np.ascontiguousarray(self.value))
                return record(np.ndarray.take, rows, index, axis=0, mode="wrap")
        return record(operator.getitem, self, index)

    def at_each(self, arm: "Recorded") -> "Recorded":
        """x[i, ..., arm[i]] of each i: one number of each row, wherever rows begin."""
        if not self.value.flags.c_contiguous:
            return self[np.arange(len(self)), ..., arm]
        rows = _beginnings(len(self), math.prod(self.shape[1:-1]), self.shape[-1])
        taken = record(np.ndarray.take, self, rows + arm.reshape(-1, 1), mode="wrap")
        return taken.reshape(self.shape[:-1])  # type: ignore[no-any-return]

    @property
    def T(self) -> "Recorded":
        return Recorded(self.value.T, self.tape)

    def branch(self, then: Callable[[], Tree], otherwise: Callable[[], Tree]) -> Tree:
        """then() where this holds, otherwise() where it does not."""
        if self.tape is None:
            return then() if self else otherwise()
        before, known, ways, results = self.tape.calls, self.tape.results, [], []
        for way in (then, otherwise):
            self.tape.calls, self.tape.results = [], dict(known)
            results.append(mapped(_value, way()))
            ways.append(self.tape.calls)
        kinds = [[(np.shape(x), np.asarray(x).dtype) for x in leaves(result)] for result in results]
        if kinds[0] != kinds[1]:
            raise NotRecorded("two ways that lead to different kinds of results")
        outs = [np.array(x, order="C") for x in leaves(results[0])]
        self.tape.reserve(sum(out.nbytes for out in outs))
        for calls, result in zip(ways, results, strict=True):
            calls += [Call(np.copy, (x,), {}, out) for x, out in zip(leaves(result), outs, strict=True)]
        self.tape.calls, self.tape.results = [*before, Branch(self.value, *ways)], known
        return grown(results[0], [Recorded(out, self.tape) for out in outs])

    def _constant(self) -> Array:
        if self.tape is not None:
            raise NotRecorded("a number that may be another one next time decides what is done")
        return self.value

    def __setitem__(self, index: Any, value: Any) -> None:
        raise NotRecorded("an array is changed")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self._constant(), dtype=dtype, copy=copy)

    def __bool__(self) -> bool:
        return bool(self._constant())

    def __float__(self) -> float:
        return float(self._constant())

    def __index__(self) -> int:
        return operator.index(self._constant())

    def __len__(self) -> int:
        return len(self.value)


def record(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Recorded:
    """function(*arguments, **keywords), written down unless it is constant or looks at what is there already."""
    given = [x for x in leaves((arguments, list(keywords.values()))) if isinstance(x, Recorded)]
    tape = next((x.tape for x in given if x.tape is not None), None)
    arguments, keywords = mapped(_value, arguments), {name: mapped(_value, x) for name, x in keywords.items()}
    value = function(*arguments, **keywords)
    if isinstance(value, tuple):
        raise NotRecorded(f"{function.__name__} has several results")
    looks = isinstance(value, np.ndarray) and any(memory(value) is memory(x) for x in arrays(arguments))
    if tape is None or looks:
        return Recorded(value, tape)
    if function is np.ndarray.clip or (isinstance(function, np.ufunc) and function.signature is None):
        arguments = _without_axes(_as_arrays(arguments), np.shape(value))
    return tape.add(function, arguments, keywords, value)


def _as_arrays(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Python's numbers as arrays, which a ufunc is sooner done with, if that cannot change the kind of its result."""
    kinds = {x.dtype for x in arrays(arguments)}
    numbers = {type(x) for x in arguments if not isinstance(x, np.ndarray)}
    for kind, harmless in ((np.float64, {int, float}), (np.int64, {int})):
        if kinds == {np.dtype(kind)} and numbers <= harmless:
            return tuple(np.asarray(x, dtype=kind) for x in arguments)
    return arguments


def _without_axes(arguments: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Arrays of one number with no axes, which are not stretched along others, if the result keeps its shape."""
    bare = tuple(x.reshape(()) if isinstance(x, np.ndarray) and x.size == 1 else x for x in arguments)
    return bare if np.broadcast_shapes(*map(np.shape, bare)) == shape else arguments


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Recorded) else x


@lru_cache(maxsize=64)
def _beginnings(trials: int, rows: int, size: int) -> Array:
    """Where each trial's rows begin, (trials, rows), if they are of that size and one stands after another."""
    return np.arange(0, trials * rows * size, size).reshape(trials, rows)


class Loop:
    """state, seen = function(state, given) again and again, each time from the state of the time before."""

    def __init__(self, function: Callable[[Tree, Tree], tuple[Tree, dict[str, Any]]], state: Tree, given: Tree) -> None:
        tape = Tape()
        tape.reserve(sum(np.asarray(x).nbytes for x in leaves((state, given))))
        own = mapped(lambda x: np.array(x, order="C"), (state, given))
        with np.errstate(all="ignore"):
            after, seen = function(*mapped(partial(Recorded, tape=tape), own))
        before, self._given = map(leaves, own)
        after = [_apart(np.asarray(_value(x)), own, before, tape) for x, own in zip(leaves(after), before, strict=True)]
        if not all(map(alike, before, after)):
            raise NotRecorded("a state that changes its kind")
        seen = {name: np.asarray(_value(x)) for name, x in seen.items()}
        heirs = {id(new): old for old, new in zip(before, after, strict=True)}
        calls, places = arranged(tape.calls, heirs, [*after, *seen.values()])
        after = [moved(x, places) for x in after]
        self._state = before
        self._calls = [call.ready() for call in calls]
        self._seen = {name: moved(x, places) for name, x in seen.items()}
        self._copies = [(old, new) for old, new in zip(before, after, strict=True) if memory(new) is not old]

    def run(self, state: Tree, given: Tree, times: int) -> tuple[Tree, dict[str, Array]]:
        """From a state, with what is given each time (times, ...): the state at last, and all that was seen."""
        for own, value in zip(self._state, leaves(state), strict=True):
            own[...] = value
        pairs = [(own, values) for own, values in zip(self._given, leaves(given), strict=True) if own.size]
        inputs = [own for own, _ in pairs]
        columns = {name: np.empty((times, *x.shape), x.dtype) for name, x in self._seen.items()}
        seen, calls, copies = list(self._seen.values()), self._calls, self._copies
        each_time = zip(*(values for _, values in pairs), strict=True) if pairs else repeat(())
        for rows, values in zip(zip(*columns.values(), strict=True), each_time, strict=bool(pairs)):
            for own, value in zip(inputs, values, strict=True):
                own[...] = value
            for call in calls:
                call()
            for row, x in zip(rows, seen, strict=True):
                row[...] = x
            for old, new in copies:
                old[...] = new
        ends = zip(leaves(state), self._state, strict=True)
        return grown(state, [x.copy() if isinstance(first, np.ndarray) else x.item() for first, x in ends]), columns


def _apart(x: Array, own: Array, states: list[Array], tape: Tape) -> Array:
    """A part of the next state: a copy of its own, if it looks at a part of this one that will be written over."""
    if x is own or not any(memory(x) is each for each in states):
        return x
    return tape.add(np.copy, (x,), {}, x.copy()).value
