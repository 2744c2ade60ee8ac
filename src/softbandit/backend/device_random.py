"""The random numbers of `random.draw`, over an array namespace: a device generates its own.

Philox 4x64 with ten rounds (Salmon, Moraes, Dror & Shaw 2011, *Parallel random numbers: as
easy as 1, 2, 3*) turns a key and a counter into four words. They are the words that NumPy's
generator gives to `draw`, so uniform numbers are the same to the bit, and normal ones up to
the rounding of the inverse distribution function.
"""

from collections.abc import Sequence

import numpy as np

from softbandit.backend.engine_operations import operations
from softbandit.backend.random import DrawCount, Draws, uniform
from softbandit.backend.shapes import Words
from softbandit.backend.vocabulary import Namespace, namespace

MULTIPLIERS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
WEYL = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
ROUNDS = 10
LOW = 0xFFFFFFFF


def words(seed: Words, trials: Words, rounds: Words, blocks: Sequence[int]) -> list[Words]:
    """Return the words (rounds, trials, 4 x blocks) of streams 0, 1, ..., given the counters per round of each."""
    xp = namespace(trials)
    # NumPy's generator increments its counter before it generates a block.
    counters = [rounds[:, None, None] * xp.uint64(k) + xp.arange(1, k + 1, dtype=xp.uint64) for k in blocks]
    counter = xp.concat(counters, axis=2)
    stream = xp.asarray(np.repeat(np.arange(len(blocks), dtype=np.uint64), blocks))
    zero = xp.zeros_like(counter)
    together = xp.stack(philox((seed, trials[:, None]), (counter, zero, zero, stream)), axis=-1)
    ends = np.cumsum(blocks)[:-1].tolist()
    return [part.reshape(*part.shape[:2], -1) for part in xp.split(together, ends, axis=2)]


def numbers(words: Words, count: DrawCount) -> Draws:
    """Turn words into random numbers (rounds, trials, count), one each."""
    u = uniform(words[:, :, : count.normal + count.uniform])
    return Draws(operations(u).normal_quantile(u[:, :, : count.normal]), u[:, :, count.normal :])


def philox(key: tuple[Words, Words], counter: tuple[Words, Words, Words, Words]) -> tuple[Words, Words, Words, Words]:
    """Return four words for a key of two and a counter of four."""
    (k0, k1), (c0, c1, c2, c3) = key, counter
    xp = namespace(c0)
    for _ in range(ROUNDS):
        high0, low0 = _product(xp, c0, MULTIPLIERS[0])
        high1, low1 = _product(xp, c2, MULTIPLIERS[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + xp.uint64(WEYL[0]), k1 + xp.uint64(WEYL[1])
    return c0, c1, c2, c3


def _product(xp: Namespace, a: Words, m: int) -> tuple[Words, Words]:
    """Return the upper and the lower half of a m, from products of 32-bit halves."""
    half, low = xp.uint64(32), xp.uint64(LOW)
    m0, m1 = xp.uint64(m & LOW), xp.uint64(m >> 32)
    a0, a1 = a & low, a >> half
    middle = a1 * m0 + (a0 * m0 >> half)
    other = a0 * m1 + (middle & low)
    return a1 * m1 + (middle >> half) + (other >> half), a * xp.uint64(m)
