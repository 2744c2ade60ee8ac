"""A watch for shifts: whether measurements still agree with what was learned as well as earlier ones did.

Residuals one step ahead are compared with those before them, not with the model's own idea of their size: on a rough
surface a model is often surprised, and that is no shift. They are not divided by a deviation, which would change
whenever the noise is learned again. Residuals at points that were measured before are one class,
and those at new points another, since they differ in size.

The ranks of independent residuals of one distribution, the largest first, are independent, and the n-th is uniform on
1, ..., n (Renyi). Whoever believes in a shift just before step s expects those since then to be the largest: if k of
them are of this class, the next one has a rank of at most k + 1. A bet of half the stake on that multiplies it by

    (n / (k + 1) + 1) / 2  if the rank is at most k + 1,  else  1 / 2

which has mean 1 without a shift. There is one such bet for each s, and an alarm if one of them has ever multiplied
its stake by s (s + 1) (1 + m) / FALSE_ALARM, which has at most the inverse of that as its probability (Ville). These
add up to FALSE_ALARM over all s and 1 + m outputs, since 1 / s(s + 1) add up to 1: the probability of a false alarm in
all rounds together. If residuals become smaller as more is learned, it is less.
"""

import math
from typing import NamedTuple

import numpy as np

from softbandit.backend import Bools, Floats, Ints

FALSE_ALARM = 0.01
REMEMBERED = 1000  # residuals that a new one is compared with


class Watch(NamedTuple):
    """The residuals so far, and the logarithm of what each bet has made of its stake."""

    steps: int
    rows: Ints  # (t,): the measurements, of which each begins a bet
    sizes: Floats  # (t, 2 + m): 1 if the point was new, and the size of each output's residual
    gains: Floats  # (t, 1 + m)
    scales: Bools  # (1 + m,): whether each output is on a log scale

    @classmethod
    def begin(cls, scales: Bools) -> "Watch":
        outputs = len(scales)
        return cls(0, np.empty(0, dtype=np.int64), np.empty((0, 1 + outputs)), np.empty((0, outputs)), scales)

    def on_scales(self, scales: Bools) -> "Watch":
        """Return the watch, or a new one if outputs are on other scales now: their residuals cannot be compared."""
        return self if np.array_equal(self.scales, scales) else Watch.begin(scales)

    def step(self, residuals: Floats, is_new: bool, row: int) -> "Watch":
        """Return the watch after the residuals (1 + m,) of measurement `row`."""
        kept = slice(1 - REMEMBERED, None)
        rows = np.append(self.rows[kept], row)
        sizes = np.concatenate([self.sizes[kept], [[is_new, *np.abs(residuals)]]])
        peers = sizes[:, 0] == is_new
        rank = (sizes[peers, 1:] >= sizes[-1, 1:]).sum(axis=0)  # 1 is the largest
        since = np.cumsum(peers[::-1])[::-1][:, None]  # k + 1 of each bet
        won = np.where(rank <= since, np.log((peers.sum() / since + 1) / 2), -math.log(2))
        gains = np.concatenate([self.gains[kept], np.zeros((1, len(residuals)))]) + won
        return Watch(self.steps + 1, rows, sizes, gains, self.scales)

    @property
    def shift(self) -> int | None:
        """The measurement at which a shift probably was, if there is an alarm."""
        s = self.steps - np.arange(len(self.rows))[::-1]
        excess = self.gains.max(axis=1) - np.log(s * (s + 1.0))
        found = int(excess.argmax())
        alarm = excess[found] >= math.log(self.gains.shape[1] / FALSE_ALARM)
        return int(self.rows[found]) if alarm else None
