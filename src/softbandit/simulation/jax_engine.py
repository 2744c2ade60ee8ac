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

from softbandit.backend import philox
from softbandit.backend.random import DrawCount, Draws, draw
from softbandit.backend.shapes import Array, Words
from softbandit.backend.traced_fields import assemble, dissect
from softbandit.errors import DeviceError, MissingExtraError, Words
from softbandit.gp.packed import DRAWN, RANK, pack
from softbandit.gp.pivoted_cholesky import Features
from softbandit.policies.base import Stage, State, StepPolicy
from softbandit.problems.problem import Problem
from softbandit.simulation.rounds import Columns, Options, play_round

UNROLL = 4  # rounds that are sent off at once, on an accelerator
PACKED = 2**26  # bytes of features from which on an accelerator's caches do not hold them, with all else
SHARDED = 2**26  # bytes of arrays over the arms from which on they are spread over the devices


class JaxEngine:
    """Plays the rounds of one policy on one problem, on JAX's default device, or spread over all there are."""

    def __init__(self, step: StepPolicy, problem: Problem, rounds: int, trials: int, options: Options) -> None:
        self._step, self._problem, self._options = step, problem, options
        self._kind = np.dtype(options.precision)
        ready = _tabulated(step, rounds)
        numbers, self._form = dissect((ready, problem))
        self._bytes = sum(number.nbytes for number in numbers)
        with _on_device(self._bytes) as jax:
            self._across = _spread(jax, len(problem.arms), self._bytes)
            if trials == 1 and accelerated(jax):
                numbers, self._form = dissect((self._packed(jax, ready), problem))
            self._numbers = self._put(jax, numbers)

    def start(self, stage: Stage, trials: int, before: State | None) -> State:
        """One trial's state is made here and sent; the others, which begin alike, are made from it on the device."""
        one = stage.start(1, before)
        with _on_device(self._bytes + trials * _bytes(one)) as jax:
            state: State = _repeat(jax)(self._put(jax, one), trials)
            return state

    def play(self, state: State, trials: Trials, first: int, count: int) -> tuple[State, Any]:
        with _on_device(self._bytes + _bytes(state)) as jax:
            draws = self._draws(jax, trials, first, count)
            played: tuple[State, Any] = _play(jax)(self._form, self._options.keep, self._numbers, state, *draws)
            return played

    def fetch(self, seen: Any) -> Columns:
        with _on_device(self._bytes) as jax:
            columns: Columns = jax.device_get(seen)
            return columns

    def _packed(self, jax: Any, step: StepPolicy) -> StepPolicy:
        """The policy with features on the device, in fewer bytes where the caches would not hold them."""

        def changed(features: Features) -> Any:
            small = features.basis.size * self._kind.itemsize < PACKED
            many = features.rank > RANK or features.rank * step.surrogate.drawn(features) > DRAWN
            if small or many or not features.rank:
                return features
            return _pack(jax)(self._put(jax, features.basis), self._kind.name)

        return _with_surrogate(step, step.surrogate.with_features(changed))

    def _put(self, jax: Any, parts: Any) -> Any:
        """Arrays on the device or, where there are several, on all: in pieces, if over the arms on some axis."""

        def place(part: Array) -> Any:
            over_arms = [i for i, size in enumerate(part.shape) if size == len(self._problem.arms)]
            names = (*[None] * over_arms[-1], "arms") if over_arms else ()
            return jax.sharding.NamedSharding(self._across, jax.sharding.PartitionSpec(*names))

        def put(part: Any) -> Any:
            array = _cast(part, self._kind)
            where = None if self._across is None else place(array)
            return array if isinstance(array, jax.Array) else jax.device_put(array, where, may_alias=False)

        return jax.tree.map(put, parts)

    def _draws(self, jax: Any, trials: Trials, first: int, count: int) -> list[Draws]:
        """Random numbers for the policy and for the problem, which are streams 0 and 1."""
        seed, needs = self._options.seed, (self._step.draws(), self._problem.draws())
        if self._options.draws == "host":
            made = [draw(need, seed, trials, first, count, stream) for stream, need in enumerate(needs)]
        else:
            made = _numbers(jax)(_words(jax)(needs, count, np.uint64(seed), trials, np.uint64(first)), needs)
        return [Draws(_cast(each.normal, self._kind), _below_one(each.uniform, self._kind)) for each in made]


@lru_cache(maxsize=1)
def _play(jax: Any) -> Any:
    """The rounds of the draws, as a function of form, columns to keep (both fixed), numbers, state and draws."""

    def play(form: Any, keep: Sequence[str], numbers: Any, state: State, draws: Draws, noise: Draws) -> Any:
        step, problem = assemble(form, numbers)

        def turned(state: State) -> State:
            """With the axes of the roots turned round: an accelerator reads them faster if the last is the trials'."""
            if not accelerated(jax):
                return state
            return state._replace(posterior=tuple(each._replace(root=each.root.T) for each in state.posterior))

        def one(state: State, own: tuple[Draws, Draws]) -> tuple[State, Columns]:
            before = turned(state)
            after, round = play_round(step, problem, before, *own)
            like = jax.tree.map(lambda new, old: new.astype(old.dtype), after, before)
            return turned(like), round._replace(arms=round.arms.astype(np.int32)).only(keep)

        # On an accelerator rounds are short, and to send off several at once saves a fifth.
        state, seen = jax.lax.scan(one, turned(state), (draws, noise), unroll=UNROLL if accelerated(jax) else 1)
        return turned(state), {name: jax.numpy.swapaxes(column, 0, 1) for name, column in seen.items()}

    return jax.jit(play, static_argnums=(0, 1), donate_argnums=3)


@lru_cache(maxsize=1)
def _repeat(jax: Any) -> Any:
    """A state for one trial as one for many; what is there for many already (a dual that goes on) as it is."""

    def repeat(part: Array, trials: int) -> Array:
        return part if part.ndim == 0 or len(part) == trials else jax.numpy.repeat(part, trials, axis=0)

    return jax.jit(lambda state, trials: jax.tree.map(partial(repeat, trials=trials), state), static_argnums=1)


@lru_cache(maxsize=1)
def _words(jax: Any) -> Any:
    """The words of some rounds of each trial, for all streams."""

    def words(needs: Sequence[DrawCount], count: int, seed: Array, trials: Array, first: Array) -> Any:
        rounds = first + jax.numpy.arange(count, dtype=np.uint64)
        return philox.words(seed, trials, rounds, [need.blocks for need in needs])

    return jax.jit(words, static_argnums=(0, 1))


@lru_cache(maxsize=1)
def _numbers(jax: Any) -> Any:
    """What they stand for. Compiled with them, each number would make its words again."""
    return jax.jit(lambda words, needs: list(map(philox.numbers, words, needs)), static_argnums=1)


def _tabulated(step: StepPolicy, rounds: int) -> StepPolicy:
    """The policy for that many rounds, with widths that are functions of t worked out for each."""
    return _with_surrogate(step, step.surrogate.tabulated(rounds))


def _with_surrogate(step: StepPolicy, surrogate: Any) -> StepPolicy:
    same = copy(step)
    object.__setattr__(same, "surrogate", surrogate)
    return same


@lru_cache(maxsize=1)
def _pack(jax: Any) -> Any:
    """Features packed on the device."""
    return jax.jit(pack, static_argnums=1)


def _spread(jax: Any, arms: int, size: int) -> Any:
    """The devices over which arrays over the arms are spread: as many as divide the arms; None for one device."""
    devices = jax.devices()
    if size < SHARDED or jax.config.jax_default_device is not None:
        return None
    count = next(k for k in range(len(devices), 0, -1) if arms % k == 0)
    return jax.sharding.Mesh(np.array(devices[:count]), ("arms",)) if count > 1 else None


@contextmanager
def _on_device(size: int) -> Iterator[Any]:
    """JAX with 64-bit numbers and products in full precision, whatever the caller's does, and errors that help."""
    jax = import_jax()
    try:
        with jax.enable_x64(True), jax.default_matmul_precision("highest"):
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
    return bool(not accelerated(jax) and jax.device_count() == 1)


def accelerated(jax: Any) -> bool:
    """Whether JAX's default device is an accelerator."""
    return bool(jax.default_backend() != "cpu")


def _cast(part: Array, kind: Any) -> Array:
    """An array, in the precision to be used if it is one of floats."""
    array = part if hasattr(part, "dtype") else np.asarray(part)
    return array if array.dtype.kind != "f" or array.dtype == kind else array.astype(kind)


def _below_one(uniform: Array, kind: Any) -> Array:
    """Numbers in (0, 1): in single precision the largest must not become 1."""
    return _cast(uniform if kind == np.float64 else uniform.clip(0, 1 - 2.0**-24), kind)


def _bytes(state: State) -> int:
    return sum(part.nbytes for posterior in state.posterior for part in posterior)
