"""The compiled engine: the same policies under JAX, `jit` and `lax.scan`.

Nothing is rewritten. A policy and a problem are taken apart into their numbers, which become
arguments of the compiled function, and put together again inside it; the steps then find
JAX's functions in those arrays, as they find NumPy's elsewhere. What is compiled depends on
the form and the shapes alone, and is kept for the next policy that has them.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import lru_cache, partial
from typing import Any

import numpy as np

from softbandit import philox
from softbandit.arrays import POLICY, PROBLEM, Array, DrawCount, Draws, Trials, draw
from softbandit.errors import DeviceError, MissingExtraError, Words
from softbandit.parts import assemble, dissect
from softbandit.policy import Stage, State, StepPolicy
from softbandit.problems.problem import Problem
from softbandit.rounds import Columns, Options, play_round

UNROLL = 8  # rounds
SHARDED = 2**26  # bytes of arrays over the arms from which on they are spread over the devices


class JaxEngine:
    """Plays the rounds of one policy on one problem, on JAX's default device, or spread over all there are."""

    def __init__(self, step: StepPolicy, problem: Problem, rounds: int, options: Options) -> None:
        self._step, self._problem, self._options = step, problem, options
        self._kind = np.dtype(options.precision)
        numbers, self._form = dissect((_tabulated(step, rounds), problem))
        self._bytes = sum(number.nbytes for number in numbers)
        with _on_device(self._bytes) as jax:
            self._across = _spread(jax, len(problem.arms), self._bytes)
            self._numbers = self._put(jax, numbers, axis=0)

    def start(self, stage: Stage, trials: int, before: State | None) -> State:
        """One trial's state is made here and sent; the others, which begin alike, are made from it on the device."""
        one = stage.start(1, before)
        with _on_device(self._bytes + trials * _bytes(one)) as jax:
            state: State = _repeat(jax)(self._put(jax, one, axis=-1), trials)
            return state

    def play(self, state: State, trials: Trials, first: int, count: int) -> tuple[State, Any]:
        with _on_device(self._bytes + _bytes(state)) as jax:
            streams = (self._step.draws(), POLICY), (self._problem.draws(), PROBLEM)
            draws = [self._draw(jax, need, trials, first, count, stream) for need, stream in streams]
            played: tuple[State, Any] = _play(jax)(self._form, self._options.keep, self._numbers, state, *draws)
            return played

    def fetch(self, seen: Any) -> Columns:
        with _on_device(self._bytes) as jax:
            columns: Columns = jax.device_get(seen)
            return columns

    def _put(self, jax: Any, parts: Any, axis: int) -> Any:
        """Arrays on the device or, where there are several, on all: in pieces, if over the arms on that axis."""

        def place(part: Array) -> Any:
            over_arms = part.ndim > 0 and part.shape[axis] == len(self._problem.arms)
            names = (*[None] * (axis % part.ndim), "arms") if over_arms else ()
            return jax.sharding.NamedSharding(self._across, jax.sharding.PartitionSpec(*names))

        arrays = jax.tree.map(lambda part: _cast(np.asarray(part), self._kind), parts)
        places = None if self._across is None else jax.tree.map(place, arrays)
        return jax.device_put(arrays, places, may_alias=False)

    def _draw(self, jax: Any, need: DrawCount, trials: Trials, first: int, count: int, stream: int) -> Draws:
        if self._options.draws == "host":
            draws = draw(need, self._options.seed, trials, first, count, stream)
        else:
            word = jax.numpy.uint64
            rounds = jax.numpy.arange(first, first + count, dtype=word)
            key = word(self._options.seed), jax.numpy.asarray(trials)
            draws = _numbers(jax)(_words(jax)(*key, rounds, philox.blocks(need), word(stream)), need)
        # In single precision the largest number below 1 must not become 1.
        below = draws.uniform if self._kind == np.float64 else draws.uniform.clip(0, 1 - 2.0**-24)
        return Draws(_cast(draws.normal, self._kind), _cast(below, self._kind))


@lru_cache(maxsize=1)
def _play(jax: Any) -> Any:
    """The rounds of the draws, as a function of form, columns to keep (both fixed), numbers, state and draws."""

    def play(form: Any, keep: Sequence[str], numbers: Any, state: State, draws: Draws, noise: Draws) -> Any:
        step, problem = assemble(form, numbers)

        def one(state: State, own: tuple[Draws, Draws]) -> tuple[State, Columns]:
            after, round = play_round(step, problem, state, *own)
            like = jax.tree.map(lambda new, old: new.astype(old.dtype), after, state)
            return like, round._replace(arms=round.arms.astype(np.int32)).only(keep)

        # On an accelerator rounds are short, and to send off several at once saves a fifth.
        several = 1 if jax.default_backend() == "cpu" else UNROLL
        state, seen = jax.lax.scan(one, state, (draws, noise), unroll=several)
        return state, {name: jax.numpy.swapaxes(column, 0, 1) for name, column in seen.items()}

    return jax.jit(play, static_argnums=(0, 1), donate_argnums=3)


@lru_cache(maxsize=1)
def _repeat(jax: Any) -> Any:
    """A state for one trial as one for many; what is there for many already (a dual that goes on) as it is."""

    def repeat(part: Array, trials: int) -> Array:
        return part if part.ndim == 0 or len(part) == trials else jax.numpy.repeat(part, trials, axis=0)

    return jax.jit(lambda state, trials: jax.tree.map(partial(repeat, trials=trials), state), static_argnums=1)


@lru_cache(maxsize=1)
def _words(jax: Any) -> Any:
    return jax.jit(philox.words, static_argnums=3)


@lru_cache(maxsize=1)
def _numbers(jax: Any) -> Any:
    return jax.jit(philox.numbers, static_argnums=1)


def _tabulated(step: StepPolicy, rounds: int) -> StepPolicy:
    """The policy for that many rounds, with widths that are functions of t worked out for each."""
    same = copy(step)
    object.__setattr__(same, "surrogate", step.surrogate.tabulated(rounds))
    return same


def _spread(jax: Any, arms: int, size: int) -> Any:
    """The devices over which arrays over the arms are spread: as many as divide the arms; None for one device."""
    devices = jax.devices()
    if size < SHARDED or jax.config.jax_default_device is not None:
        return None
    count = next(k for k in range(len(devices), 0, -1) if arms % k == 0)
    return jax.sharding.Mesh(np.array(devices[:count]), ("arms",)) if count > 1 else None


@contextmanager
def _on_device(size: int) -> Iterator[Any]:
    """JAX with 64-bit numbers, whatever the caller's is set to, and with errors that say what to do."""
    jax = import_jax()
    try:
        with jax.enable_x64(True):
            yield jax
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        asked = re.search(r"[\d.]+ ?(bytes|[KMGT]i?B)", str(error))
        got = Words(f"a device that cannot give {asked[0] if asked else 'that'} more")
        remedy = "Run fewer trials at a time, keep fewer columns, use precision='float32', or take fewer arms."
        raise DeviceError.of("device", f"room for arrays of {size:,} bytes and the steps' own", got, remedy) from error


def import_jax() -> Any:
    """JAX, with a platform to run on."""
    try:
        import jax
    except ModuleNotFoundError:
        raise MissingExtraError.of_extra("jax", "jax") from None
    try:
        jax.devices()
    except (RuntimeError, AssertionError) as error:  # a platform that it does not know, or that is not there
        wanted = Words(str(error) or "none for JAX_PLATFORMS")
        remedy = "Unset JAX_PLATFORMS, or install JAX for that platform; engine='numpy' needs none."
        raise DeviceError.of("device", "a platform that JAX can use", wanted, remedy) from error
    return jax


def on_cpu() -> bool:
    """Whether JAX's default device is one CPU."""
    jax = import_jax()
    return bool(jax.default_backend() == "cpu" and jax.device_count() == 1)


def _cast(part: Array, kind: Any) -> Array:
    """A float array in the precision to be used; any other as it is."""
    return part if part.dtype.kind != "f" or part.dtype == kind else part.astype(kind)


def _bytes(state: State) -> int:
    return sum(part.nbytes for posterior in state.posterior for part in posterior)
