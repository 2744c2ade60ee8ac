"""NumPy's calls written down, and the memory that they share.

Each call has its arrays at hand: those that it reads, and the one that it writes, which no
other call writes. To repeat what was written down is to make the calls, in order.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = Any  # np.ndarray, of any kind
Tree: TypeAlias = Any  # a tuple (a named one, too) or a list of trees, or else a leaf
Places: TypeAlias = Mapping[int, Array]  # where the memory of an array has gone, by the array's id

TOLD = {np.einsum, np.concat, np.sum, np.max, np.min, np.any, np.all}
TOLD |= {getattr(np.ndarray, name) for name in ("argmax", "max", "min", "sum", "any", "all", "clip", "take")}
"""Functions and methods that can be told where to put their result, as all ufuncs can."""

try:  # what these two call once they have looked at their arguments
    from numpy._core.multiarray import c_einsum as _einsum
    from numpy._core.umath import clip as _clip  # type: ignore[attr-defined]
except ImportError:  # they are NumPy's own affair
    _einsum, _clip = np.einsum, np.ndarray.clip
BEHIND: dict[Any, Callable[..., Any]] = {np.einsum: _einsum, np.ndarray.clip: _clip}


class Call(NamedTuple):
    """out = function(*arguments, **keywords)"""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    out: Array

    @property
    def elementwise(self) -> bool:
        """Whether it may write over what it reads."""
        return isinstance(self.function, np.ufunc) and self.function.signature is None

    def reads(self) -> Iterator[Array]:
        return arrays((self.arguments, list(self.keywords.values())))

    def writes(self) -> Iterator[Array]:
        yield self.out

    def moved(self, places: Places) -> "Call":
        """The same call, on memory that has gone elsewhere."""
        move = partial(moved, places=places)
        keywords = {name: mapped(move, value) for name, value in self.keywords.items()}
        return Call(self.function, mapped(move, self.arguments), keywords, move(self.out))

    def ready(self) -> Callable[[], Any]:
        """What makes the call."""
        function, arguments, keywords, out = self
        if function is np.copy:
            return partial(np.copyto, out, *arguments)
        told = isinstance(function, np.ufunc) or function in TOLD
        behind = BEHIND.get(function, function)
        given = not keywords and all(x is not None for x in arguments)
        if given and len(arguments) == getattr(behind, "nin", len(arguments)):  # nothing is left to a default
            function = behind
        if isinstance(function, np.ufunc) and function not in (np.maximum, np.minimum):
            return partial(function, *arguments, out)  # a keyword takes longer, but those two insist on it
        if told:
            return partial(function, *arguments, **keywords, out=out)
        return partial(_assign, out, partial(function, *arguments, **keywords))


class Branch(NamedTuple):
    """Some calls where a condition holds, and others where it does not."""

    condition: Array
    then: "Calls"
    otherwise: "Calls"

    @property
    def elementwise(self) -> bool:
        return False

    def reads(self) -> Iterator[Array]:
        yield self.condition
        for call in (*self.then, *self.otherwise):
            yield from call.reads()

    def writes(self) -> Iterator[Array]:
        for call in (*self.then, *self.otherwise):
            yield from call.writes()

    def moved(self, places: Places) -> "Branch":
        then, otherwise = ([call.moved(places) for call in way] for way in (self.then, self.otherwise))
        return Branch(moved(self.condition, places), then, otherwise)

    def ready(self) -> Callable[[], Any]:
        then, otherwise = ([call.ready() for call in way] for way in (self.then, self.otherwise))
        return partial(_either, self.condition, then, otherwise)


Calls: TypeAlias = list[Call | Branch]


def _assign(out: Array, result: Callable[[], Any]) -> None:
    out[...] = result()


def _either(condition: Array, then: list[Callable[[], Any]], otherwise: list[Callable[[], Any]]) -> None:
    for call in then if condition else otherwise:
        call()


def arranged(calls: Calls, heirs: Places, ends: Sequence[Array]) -> tuple[Calls, Places]:
    """The calls that lead to the ends, in as little memory as they need, and where results have gone.

    A result that nobody reads any more leaves its memory to another of its size. An heir (by its id) is to take
    the place of an array from outside, and does so at once if nobody reads that any more.
    """
    calls = _needed(calls, ends)
    last = {id(memory(x)): i for i, call in enumerate(calls) for x in call.reads()}  # who reads it last
    last |= {id(memory(x)): len(calls) for x in ends}
    places: dict[int, Array] = {}
    made: dict[int, Array] = {}
    free: dict[int, list[Array]] = defaultdict(list)  # by size
    settled: Calls = []
    for i, call in enumerate(calls):
        read = {id(memory(x)) for x in call.reads()}
        left: list[Array] = [places[key] if key in places else made[key] for key in read & set(made) if last[key] == i]
        if call.elementwise:
            _leave(left, free)
        if isinstance(call, Call):
            out, heir, room = call.out, heirs.get(id(call.out)), free[call.out.nbytes]
            made[id(out)] = out
            last_read = last.get(id(heir), -1)
            if heir is not None and alike(out, heir) and (last_read < i or (last_read == i and call.elementwise)):
                places[id(out)] = heir
            elif heir is None and room:
                places[id(out)] = room.pop()
        if not call.elementwise:
            _leave(left, free)
        settled.append(call.moved(places))
    return settled, places


def _leave(left: list[Array], free: dict[int, list[Array]]) -> None:
    for x in left:
        free[x.nbytes].append(x)


def _needed(calls: Calls, ends: Sequence[Array]) -> Calls:
    wanted, kept = {id(memory(x)) for x in ends}, []
    for call in reversed(calls):
        if wanted & set(map(id, call.writes())):
            wanted |= {id(memory(x)) for x in call.reads()}
            kept.append(call)
    return kept[::-1]


def alike(x: Array, y: Array) -> bool:
    return bool(x.shape == y.shape and x.dtype == y.dtype)


def memory(x: Array) -> Array:
    """The array whose memory x looks at: itself, unless it is a view."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def moved(x: Any, places: Places) -> Any:
    """An array, where its memory has gone; anything else as it is."""
    if not isinstance(x, np.ndarray) or id(memory(x)) not in places:
        return x
    start, here = (each.__array_interface__["data"][0] for each in (memory(x), x))
    return np.ndarray(x.shape, x.dtype, places[id(memory(x))], here - start, x.strides)


def identity(tree: Tree) -> Any:
    """Equal for trees that hold the same views of the same memory, and other leaves alike."""
    if isinstance(tree, (tuple, list)):
        return type(tree), *map(identity, tree)
    if isinstance(tree, np.ndarray):
        return tree.__array_interface__["data"][0], tree.shape, tree.strides, tree.dtype
    return type(tree), repr(tree)


def leaves(tree: Tree) -> list[Any]:
    if not isinstance(tree, (tuple, list)):
        return [tree]
    return [leaf for branch in tree for leaf in leaves(branch)]


def arrays(tree: Tree) -> Iterator[Array]:
    return (leaf for leaf in leaves(tree) if isinstance(leaf, np.ndarray))


def mapped(function: Callable[[Any], Any], tree: Tree) -> Tree:
    """The tree with the function's values for its leaves."""
    if not isinstance(tree, (tuple, list)):
        return function(tree)
    branches = [mapped(function, branch) for branch in tree]
    return type(tree)(*branches) if hasattr(tree, "_fields") else type(tree)(branches)


def grown(tree: Tree, values: Sequence[Any]) -> Tree:
    """A tree like that one, with these leaves."""
    rest = iter(values)
    return mapped(lambda _: next(rest), tree)
