"""Randomness as an input: the random numbers of a round are a pure function of (seed, trial, round).

So a trial is the same alone, in any batch and in any chunks of rounds.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from softbandit.backend.engine_operations import operations
from softbandit.backend.shapes import Floats, Words

POLICY, PROBLEM = 0, 1  # separate streams: with one seed, all policies meet the same noise
WORDS_PER_BLOCK = 4  # Philox turns one counter into four 64-bit words
ANY_SEED = np.random.SeedSequence(0)  # of a generator whose state is set; a whole number would be hashed each time
WORDS_AT_ONCE = 2**15  # so that they and the numbers made from them stay in a core's cache


class DrawCount(NamedTuple):
    """The number of random numbers needed: standard normal, and uniform on (0, 1)."""

    normal: int = 0
    uniform: int = 0

    @property
    def blocks(self) -> int:
        """Counters of the generator per round."""
        return -(-(self.normal + self.uniform) // WORDS_PER_BLOCK)


class Draws(NamedTuple):
    """Random numbers for one round, (trials, count) each, or for many: (rounds, trials, count)."""

    normal: Floats
    uniform: Floats

    def rounds(self) -> Iterator["Draws"]:
        """Iterate over the rounds."""
        return map(Draws, self.normal, self.uniform)


def draw(count: DrawCount, seed: int, trials: Sequence[int] | Words, first: int, rounds: int, stream: int) -> Draws:
    """Return the random numbers of rounds first, ..., first + rounds - 1 of each trial.

    Every number takes one 64-bit word of the Philox generator with key (seed, trial), and
    every round starts on a new counter, so any round can be drawn without the ones before.

    >>> a = draw(DrawCount(normal=2), seed=1, trials=[7], first=0, rounds=5, stream=POLICY)
    >>> b = draw(DrawCount(normal=2), seed=1, trials=[3, 7], first=4, rounds=1, stream=POLICY)
    >>> bool((a.normal[4, 0] == b.normal[0, 1]).all())
    True
    """
    b = len(trials)
    draws = Draws(np.empty((rounds, b, count.normal)), np.empty((rounds, b, count.uniform)))
    at_once = max(1, WORDS_AT_ONCE // max(1, rounds * count.blocks * WORDS_PER_BLOCK))
    for part in (slice(i, min(i + at_once, b)) for i in range(0, b, at_once)):
        u = uniform(_words(seed, trials[part], first, rounds, count.blocks, stream))
        if count.normal:
            normal = u[:, :, : count.normal]
            draws.normal[:, part] = operations(normal).normal_quantile(normal).swapaxes(0, 1)
        draws.uniform[:, part] = u[:, :, count.normal : count.normal + count.uniform].swapaxes(0, 1)
    return draws


def _words(seed: int, trials: Sequence[int] | Words, first: int, rounds: int, blocks: int, stream: int) -> Words:
    """Return the generator's words: (trials, rounds, words per round)."""
    philox = np.random.Philox(ANY_SEED)
    state = philox.state  # setting `.state` is 10x cheaper than constructing a new Philox
    counter = np.array([first * blocks, 0, 0, stream], dtype=np.uint64)
    words = np.empty((len(trials), rounds, blocks * WORDS_PER_BLOCK), dtype=np.uint64)
    for trial_words, trial in zip(words, trials, strict=True):
        state["state"] = {"key": np.array([seed, trial], dtype=np.uint64), "counter": counter}
        philox.state = state
        trial_words[...] = philox.random_raw(trial_words.size).reshape(trial_words.shape)
    return words


def uniform(words: Words) -> Floats:
    """Return numbers in (0, 1) from 64-bit words: 52 random bits plus a half, never 0 or 1, exact in float64."""
    between_1_and_2: Floats = ((words >> np.uint64(12)) | np.uint64(0x3FF << 52)).view(np.float64)
    return between_1_and_2 - (1.0 - 2.0**-53)
