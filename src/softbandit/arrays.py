"""The array namespace, and randomness as an input.

All numeric code takes its functions from the arrays it is given (`namespace`), so the
same source runs on NumPy and under a compiler. Random numbers are made here and only
here: the words of round t of trial i are a pure function of (seed, i, t), so a trial is
the same alone, in any batch and in any chunks.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from softbandit.recorded import Recorded

Array: TypeAlias = Any
"""An array of the engine's namespace."""

Trials: TypeAlias = NDArray[np.uint64]
"""The numbers of some trials."""

POLICY, PROBLEM = 0, 1
"""Separate streams: all policies meet the same noise."""

WORDS_A_BLOCK = 4  # Philox turns one counter into four 64-bit words
WORDS_AT_ONCE = 2**15  # that many, and what is made of them, stay in a core's cache


class DrawCount(NamedTuple):
    """How many random numbers are needed: standard normal, and uniform on (0, 1)."""

    normal: int = 0
    uniform: int = 0

    @property
    def blocks(self) -> int:
        """Counters of the generator that a round takes."""
        return -(-(self.normal + self.uniform) // WORDS_A_BLOCK)


class Draws(NamedTuple):
    """Random numbers for one round, of shape (trials, count), or for many: (rounds, trials, count)."""

    normal: Array
    uniform: Array

    def rounds(self) -> Iterator["Draws"]:
        """Each round's own draws, in order."""
        return map(Draws, self.normal, self.uniform)


def namespace(x: Array) -> Any:
    """The module whose functions work on x: numpy, or one that imitates it."""
    return np if type(x) is np.ndarray else x.__array_namespace__()


def draw(count: DrawCount, seed: int, trials: Sequence[int] | Trials, first: int, rounds: int, stream: int) -> Draws:
    """The random numbers of rounds first, ..., first + rounds - 1 of each trial.

    Every number costs one 64-bit word of the Philox generator with key (seed, trial), and
    every round starts on a new counter, so any round can be made without the ones before.

    >>> a = draw(DrawCount(normal=2), seed=1, trials=[7], first=0, rounds=5, stream=POLICY)
    >>> b = draw(DrawCount(normal=2), seed=1, trials=[3, 7], first=4, rounds=1, stream=POLICY)
    >>> bool((a.normal[4, 0] == b.normal[0, 1]).all())
    True
    """
    blocks, b = count.blocks, len(trials)
    draws = Draws(np.empty((rounds, b, count.normal)), np.empty((rounds, b, count.uniform)))
    philox = np.random.Philox(0)
    state = philox.state  # to be told where to stand costs it a tenth of what a new one costs
    counter = np.array([first * blocks, 0, 0, stream], dtype=np.uint64)
    own = rounds * blocks * WORDS_A_BLOCK
    few = max(1, WORDS_AT_ONCE // max(1, own))
    for some in (slice(i, min(i + few, b)) for i in range(0, b, few)):
        words = np.empty((some.stop - some.start, rounds, blocks * WORDS_A_BLOCK), dtype=np.uint64)
        for mine, trial in zip(words, trials[some], strict=True):
            state["state"] = {"key": np.array([seed, trial], dtype=np.uint64), "counter": counter}
            philox.state = state
            mine[...] = philox.random_raw(own).reshape(mine.shape)
        u = uniform(words)
        draws.normal[:, some] = normal_quantile(u[:, :, : count.normal]).swapaxes(0, 1)
        draws.uniform[:, some] = u[:, :, count.normal : count.normal + count.uniform].swapaxes(0, 1)
    return draws


def uniform(words: Array) -> Array:
    """Numbers in (0, 1) from 64-bit words: 52 random bits and a half, never 0, never 1, exact in float64."""
    between_1_and_2 = ((words >> np.uint64(12)) | np.uint64(0x3FF << 52)).view(np.float64)
    return between_1_and_2 - (1.0 - 2.0**-53)


def pick(eligible: Array, u: Array | None) -> Array:
    """One true entry of each row of eligible (trials, n): of k, number floor(u k), or the first if u is None.

    They are counted along the rows of a square and then along one row of it: a running count
    over all n is slow on any engine.
    """
    if u is None:
        return eligible.argmax(axis=1)
    xp = namespace(eligible)
    trials, n = eligible.shape
    side = math.isqrt(n - 1) + 1
    rest = xp.zeros((trials, side * side - n), dtype=bool)
    square = xp.concat([eligible, rest], axis=1).reshape(trials, side, side)
    count = xp.sum(square, axis=2, dtype=np.int32)
    upto = _running_sum(count)
    number = xp.floor(u * upto[:, -1])  # from 0
    passed = upto <= number[:, None]
    row = xp.minimum(xp.sum(passed, axis=1), side - 1)  # where none is eligible, the last
    left = number - xp.sum(xp.where(passed, count, 0), axis=1)
    within = _running_sum(square[_rows(trials), row].astype(count.dtype))
    column = xp.sum(within <= left[:, None], axis=1)
    return xp.minimum(row * side + column, n - 1)


def _running_sum(count: Array) -> Array:
    """Sums from the first entry of each row to every entry."""
    xp = namespace(count)
    if xp is np:
        return np.cumulative_sum(count, axis=1)
    k = xp.arange(count.shape[1])
    # On an accelerator, a sum for each entry is one step where a running sum is several.
    return by_platform(
        cpu=lambda: xp.cumulative_sum(count, axis=1),
        default=lambda: xp.sum(xp.where(k <= k[:, None], count[:, None, :], 0), axis=2),
    )


def unless_alone(near: Array, top: Array, picked: Callable[[], Array]) -> Array:
    """picked(), which must be `top` where each row of near (trials, n) has but one true entry, as most of the time."""
    xp = namespace(near)

    def either() -> Array:
        return branch(xp.count_nonzero(near) == len(near), lambda: top, picked)

    # To ask whether it is alone would stop an accelerator.
    return either() if xp is np else by_platform(cpu=either, default=picked)


def at(x: Array, arm: Array) -> Array:
    """x (trials, ..., n) at each trial's own arm (trials,): (trials, ...)."""
    return x.at_each(arm) if isinstance(x, Recorded) else x[_rows(len(arm)), ..., arm]


def weighted(phi: Array, g: Array) -> Array:
    """sum_i phi_i g_i, (trials, n), of prices (trials, m) and functions (trials, m, n)."""
    return phi * g[:, 0] if g.shape[1] == 1 else namespace(g).einsum("bm,bmn->bn", phi, g)


@lru_cache(maxsize=64)
def _rows(trials: int) -> Array:
    return np.arange(trials)


def first_max(x: Array) -> Array:
    """argmax of each row of x (trials, n), the first where there are several."""
    if namespace(x) is np:
        return x.argmax(axis=1)
    # Compiled for a CPU, the argmax of numbers takes ten times as long as a maximum and an argmax of truths.
    return by_platform(
        cpu=lambda: (x >= x.max(axis=1)[:, None]).argmax(axis=1),
        default=lambda: x.argmax(axis=1),
    )


def restrict(z: Array, among: Array | None) -> Array:
    """z (trials, n), with minus infinity where an arm is not among those allowed."""
    return z if among is None else namespace(z).where(among, z, -float("inf"))


def branch(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """then() or otherwise(), on a condition that is the same in all trials; compiled, both are there and one runs."""
    if isinstance(condition, (bool, np.bool_)):
        return then() if condition else otherwise()
    if isinstance(condition, Recorded):
        return condition.branch(then, otherwise)
    import jax

    return jax.lax.cond(condition, then, otherwise)


def by_platform(cpu: Callable[[], Array], default: Callable[[], Array]) -> Array:
    """Compiled for a CPU, cpu(); compiled for an accelerator, default()."""
    import jax

    return jax.lax.platform_dependent(cpu=cpu, default=default)


def normal_pdf(x: Array) -> Array:
    return namespace(x).exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def normal_cdf(x: Array) -> Array:
    return _special(x).ndtr(x)


def normal_quantile(p: Array) -> Array:
    return _special(p).ndtri(p)


def log_normal_cdf(x: Array) -> Array:
    return _special(x).log_ndtr(x)


def _special(x: Array) -> Any:
    """The special functions that go with x's namespace."""
    if namespace(x) is np:
        import scipy.special as special
    else:
        import jax.scipy.special as special
    return special


def project(x: Array, low: Array, high: Array) -> Array:
    """The point of [low, high] nearest to x: the paper's Proj."""
    return x.clip(low, high)


def drop_single(x: Array) -> Array:
    """Without its last axis where that has one entry: one constraint needs no axis of its own."""
    if x.shape[-1] != 1:
        return x
    return float(x[0]) if x.ndim == 1 else x[..., 0]
