"""The compiled engine: the same policies under JAX, `jit` and `lax.scan`.

Nothing is rewritten. A policy and a problem are taken apart into their arrays, which
become arguments of the compiled function, and put together again inside it; the steps
then find JAX's functions in those arrays, as they find NumPy's elsewhere. Numbers are
float64, whatever the caller's JAX is set to.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from softbandit.arrays import Array, Draws
from softbandit.errors import MissingExtraError
from softbandit.policy import State, StepPolicy
from softbandit.problems.problem import Problem
from softbandit.rounds import Rounds, play_round


def run(step: StepPolicy, problem: Problem, state: State, draws: Draws, noise: Draws) -> tuple[State, Rounds]:
    """Play the rounds of the draws: the state afterwards, on the device, and what happened, as NumPy arrays."""
    jax = import_jax()
    with jax.enable_x64(True):
        arrays, play = _compiled(step, problem)
        state, rounds = play(arrays, state._replace(round=jax.numpy.int64(state.round)), draws, noise)
        return state, jax.tree.map(np.asarray, rounds)


@lru_cache(maxsize=16)
def _compiled(step: StepPolicy, problem: Problem) -> tuple[list[Array], Callable[..., Any]]:
    """The pair's arrays, on the device, and its rounds as a compiled function of them; kept for the next call."""
    jax = import_jax()
    arrays, rebuild = dissect((step, problem))

    def play(arrays: Sequence[Array], state: State, draws: Draws, noise: Draws) -> tuple[State, Rounds]:
        step, problem = rebuild(arrays)

        found: tuple[State, Rounds] = jax.lax.scan(
            lambda state, own: play_round(step, problem, state, *own), state, (draws, noise)
        )
        return found

    return [jax.numpy.asarray(array) for array in arrays], jax.jit(play)


def dissect(value: Any) -> tuple[list[Array], Callable[[Sequence[Array]], Any]]:
    """The float arrays that the steps of a value use, and a function that puts others in their places.

    >>> arrays, rebuild = dissect((np.array([1.0]), "kept", np.array([7])))
    >>> rebuild([np.array([2.0])])
    (array([2.]), 'kept', array([7]))
    """
    found: list[Array] = []
    places: dict[int, int] = {}

    def walk(part: Any, arrays: Sequence[Array] | None) -> Any:
        """Note the arrays of a part, or (given others) copy it with those."""
        if isinstance(part, np.ndarray) and part.dtype.kind == "f":
            if arrays is None and id(part) not in places:
                places[id(part)] = len(found)
                found.append(part)
            return part if arrays is None else arrays[places[id(part)]]
        if is_dataclass(part) and not isinstance(part, type):
            return _copy(part, {name: walk(getattr(part, name), arrays) for name in _used(part)})
        if isinstance(part, (tuple, list)):
            items = [walk(item, arrays) for item in part]
            return type(part)(*items) if hasattr(part, "_fields") else type(part)(items)
        return part

    walk(value, None)
    return found, lambda arrays: walk(value, arrays)


def _used(part: Any) -> list[str]:
    """The fields that the steps use: not the settings as they were given, nor the kernels."""
    unused = ("given", "factors", "kernel", "cost_kernel")
    return [f.name for f in fields(part) if f.name not in unused and hasattr(part, f.name)]


def _copy(part: Any, changes: dict[str, Any]) -> Any:
    copy = object.__new__(type(part))
    for name, value in {**vars(part), **changes}.items():
        object.__setattr__(copy, name, value)
    return copy


def import_jax() -> Any:
    try:
        import jax
    except ModuleNotFoundError:
        raise MissingExtraError.of_extra("jax", "jax") from None
    return jax
