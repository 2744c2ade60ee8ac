"""The compiled engine: the same policies under JAX, `jit` and `lax.scan`.

Nothing is rewritten. A policy and a problem are split into their numbers, which become
arguments of the compiled function, and their form; joined again inside it, the steps find
JAX's functions in those arrays, as they find NumPy's elsewhere. What is compiled depends on
the form and the shapes alone, and is kept for the next policy that has them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from softbandit.backend import DrawCount, Draws, Floats, Form, Ints, Words, device_random, draw, join, split
from softbandit.errors import Description, DeviceError
from softbandit.policies import Stage, State, StepPolicy
from softbandit.problems import Problem
from softbandit.simulation.rounds import Chunk, Columns, Options, play_round

UNROLL = 4  # rounds per iteration on an accelerator, where rounds are short: it saves a fifth
SHARDED = 2**26  # bytes of arrays over the arms from which they are spread over all devices


class JaxEngine:
    """Plays the rounds of one policy on one problem, on JAX's default device, or spread over all there are."""

    def __init__(self, step: StepPolicy, problem: Problem, rounds: int, options: Options) -> None:
        self._step, self._problem, self._options = _in_arrays(step, rounds), problem, options
        self._dtype = np.dtype(options.precision)
        numbers, self._form = split((self._step, problem))
        self._bytes = sum(number.nbytes for number in numbers)
        with _on_device(self._bytes):
            self._mesh = _mesh(len(problem.arms), self._bytes)
            self._numbers = self._put(numbers)

    def start(self, stage: Stage, trials: int, before: State | None) -> State:
        """Send one trial's state to the device and repeat it there: all trials start alike."""
        one = stage._replace(policy=self._step).start(1, before)
        with _on_device(self._bytes + trials * _bytes(one)):
            state: State = _repeat(self._put(one), trials)
            return state

    def play(self, state: State, trials: Words, chunk: Chunk) -> tuple[State, Any]:
        with _on_device(self._bytes + _bytes(state)):
            draws, count = self._draws(trials, chunk), np.int32(chunk.rounds)
            state, columns = _play(self._form, self._options.keep, self._numbers, state, count, *draws)
            return state, (columns, chunk.rounds)

    def fetch(self, result: Any) -> Columns:
        with _on_device(self._bytes):
            columns, count = result
            return {name: column[:, :count] for name, column in jax.device_get(columns).items()}

    def _put(self, parts: Any) -> Any:
        """Send arrays to the device or, if there are several, to all, split along the axis of the arms."""

        def sharding(array: Floats, mesh: jax.sharding.Mesh) -> jax.sharding.NamedSharding:
            over_arms = [i for i, size in enumerate(array.shape) if size == len(self._problem.arms)]
            names = (*[None] * over_arms[-1], "arms") if over_arms else ()
            return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*names))  # type: ignore[no-untyped-call]

        def put(part: Any) -> Any:
            array = _cast(part, self._dtype)
            where = None if self._mesh is None else sharding(array, self._mesh)
            return array if isinstance(array, jax.Array) else jax.device_put(array, where, may_alias=False)

        return jax.tree.map(put, parts)

    def _draws(self, trials: Words, chunk: Chunk) -> list[Draws]:
        """Return random numbers for the policy and for the problem, which are streams 0 and 1: `chunk.room` rounds."""
        seed, needs = self._options.seed, (self._step.draws(), self._problem.draws())
        if self._options.draws == "host":
            drawn = [_drawn(need, seed, trials, chunk, stream) for stream, need in enumerate(needs)]
        else:
            drawn = _numbers(_words(needs, chunk.room, np.uint64(seed), trials, np.uint64(chunk.first)), needs)
        below_one = 1 - np.finfo(self._dtype).epsneg  # which rounding to single precision must not exceed
        return [Draws(_cast(d.normal, self._dtype), _cast(d.uniform.clip(0, below_one), self._dtype)) for d in drawn]


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=3)
def _play(
    form: Form, keep: Sequence[str], numbers: Sequence[Floats], state: State, count: Ints, draws: Draws, noise: Draws
) -> tuple[State, Any]:
    """Play `count` rounds, one per row of the draws. There may be more rows on a CPU, but not on an accelerator."""
    step, problem = join(form, numbers)
    on_accelerator = accelerated()

    def transposed(state: State) -> State:
        """Move the trials of the roots to the last axis, where an accelerator reads them faster; or back."""
        if not on_accelerator:
            return state
        turned = (p._replace(root=p.root.T) if hasattr(p, "root") else p for p in state.posterior)
        return state._replace(posterior=tuple(turned))

    def one_round(state: State, round_draws: tuple[Draws, Draws]) -> tuple[State, Columns]:
        before = transposed(state)
        after, round = play_round(step, problem, before, *round_draws)
        after = jax.tree.map(lambda new, old: new.astype(old.dtype), after, before)
        return transposed(after), round._replace(arms=round.arms.astype(np.int32)).columns(keep)

    if on_accelerator:
        state, columns = jax.lax.scan(one_round, transposed(state), (draws, noise), unroll=UNROLL)
        return transposed(state), {name: jnp.swapaxes(column, 0, 1) for name, column in columns.items()}
    return _first_rounds(one_round, state, count, (draws, noise))


def _first_rounds(
    one_round: Callable[..., tuple[State, Any]], state: State, count: Ints, draws: tuple[Draws, Draws]
) -> tuple[State, Any]:
    """Play the first `count` rounds of the draws: one program for every count.

    An accelerator would wait for the host in each round of a loop whose length the program does not know.
    """

    length = len(draws[0].uniform)

    def play(i: Any, state: State) -> tuple[State, Any]:
        return one_round(state, jax.tree.map(lambda rows: rows[i], draws))

    def write(i: Any, so_far: tuple[State, Any]) -> tuple[State, Any]:
        state, round = play(i, so_far[0])
        return state, {name: column.at[:, i].set(round[name]) for name, column in so_far[1].items()}

    _, round = jax.eval_shape(partial(play, 0), state)
    columns = {name: jnp.zeros((part.shape[0], length, *part.shape[1:]), part.dtype) for name, part in round.items()}
    played: tuple[State, Any] = jax.lax.fori_loop(0, count, write, (state, columns))
    return played


@partial(jax.jit, static_argnums=1)
def _repeat(state: State, trials: int) -> State:
    """Repeat one trial's state; what exists for all trials already (a dual that goes on) stays as it is."""

    def repeat(part: jax.Array) -> jax.Array:
        return part if part.ndim == 0 or len(part) == trials else jnp.repeat(part, trials, axis=0)

    repeated: State = jax.tree.map(repeat, state)
    return repeated


@partial(jax.jit, static_argnums=(0, 1))
def _words(needs: Sequence[DrawCount], count: int, seed: Words, trials: Words, first: Words) -> list[Words]:
    """Return the random words of some rounds of each trial, for all streams."""
    rounds = first + jnp.arange(count, dtype=np.uint64)
    return device_random.words(seed, trials, rounds, [need.blocks for need in needs])


@partial(jax.jit, static_argnums=1)
def _numbers(words: list[Words], needs: Sequence[DrawCount]) -> list[Draws]:
    """Turn words into numbers. Compiled together with `_words`, each number would compute its words again."""
    return list(map(device_random.numbers, words, needs))


def can_trace(step: StepPolicy, problem: Problem) -> bool:
    """Return whether a round of the policy is made of functions that JAX can trace."""
    step = _in_arrays(step, 1)
    numbers, form = split((step, problem))
    draws = [draw(part.draws(), 0, [0], 0, 1, 0) for part in (step, problem)]
    try:
        with _on_device(0):
            jax.eval_shape(partial(_play, form, ()), numbers, step.init(1), np.int32(1), *draws)
    except Exception:  # a user's code may raise anything when it is given tracers
        return False
    return True


def _in_arrays(step: StepPolicy, rounds: int) -> StepPolicy:
    """Return the policy for that many rounds, with a model that can be compiled."""
    same = copy(step)
    object.__setattr__(same, "model", step.model.in_arrays(rounds))
    return same


def _mesh(arms: int, size: int) -> jax.sharding.Mesh | None:
    """Return the devices to spread arrays over: as many as divide the arms, or None for a single one."""
    devices = jax.devices()
    if size < SHARDED or jax.config.values["jax_default_device"] is not None:
        return None
    count = next(k for k in range(len(devices), 0, -1) if arms % k == 0)
    return jax.sharding.Mesh(np.array(devices[:count]), ("arms",)) if count > 1 else None


@contextmanager
def _on_device(size: int) -> Iterator[None]:
    """Use 64-bit numbers and products in full precision, whatever the caller's JAX does, and raise errors that help."""
    try:
        with jax.enable_x64(True), jax.default_matmul_precision("highest"):
            yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        asked = re.search(r"[\d.]+ ?(bytes|[KMGT]i?B)", str(error))
        got = Description(f"a device that cannot give {asked[0] if asked else 'that'} more")
        remedy = "Run fewer trials at a time, keep fewer columns, use precision='float32', or take fewer arms."
        raise DeviceError.of("device", f"room for arrays of {size:,} bytes and the steps' own", got, remedy) from error


def check_platform() -> None:
    """Raise an error that helps if JAX has no platform to run on."""
    try:
        jax.devices()
    except (RuntimeError, AssertionError) as error:  # an unknown or missing platform
        wanted = Description(str(error) or "none for JAX_PLATFORMS")
        remedy = "Unset JAX_PLATFORMS, or install JAX for that platform; engine='numpy' needs none."
        raise DeviceError.of("device", "a platform that JAX can use", wanted, remedy) from error


def on_one_cpu() -> bool:
    """Return whether JAX's default device is a single CPU."""
    return bool(not accelerated() and jax.device_count() == 1)


def accelerated() -> bool:
    """Return whether JAX's default device is an accelerator."""
    return bool(jax.default_backend() != "cpu")


def _drawn(need: DrawCount, seed: int, trials: Words, chunk: Chunk, stream: int) -> Draws:
    """Return the chunk's draws, and zeros for the rounds that the program has room for beyond them."""
    drawn = draw(need, seed, trials, chunk.first, chunk.rounds, stream)
    beyond = ((0, chunk.room - chunk.rounds), (0, 0), (0, 0))
    return drawn if chunk.room == chunk.rounds else Draws(np.pad(drawn.normal, beyond), np.pad(drawn.uniform, beyond))


def _cast(part: Any, dtype: np.dtype[Any]) -> Any:
    """Return an array, in that precision if it is one of floats."""
    array = part if hasattr(part, "dtype") else np.asarray(part)
    return array if array.dtype.kind != "f" or array.dtype == dtype else array.astype(dtype)


def _bytes(state: State) -> int:
    return sum(part.nbytes for posterior in state.posterior for part in posterior)
