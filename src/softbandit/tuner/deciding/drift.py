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
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from softbandit.backend import Bools, Floats, Ints
from softbandit.policies.output_units import Units

FALSE_ALARM = 0.01
REMEMBERED = 1000  # residuals that a new one is compared with


class Watch(NamedTuple):
    """The measured and expected outputs so far, and the logarithm of each bet's gain on its stake."""

    steps: int
    rows: Ints  # (t,): the measurements, of which each begins a bet
    is_new: Bools  # (t,): whether it was at a new point
    outputs: Floats  # (t, 2, 1 + m): measured, and expected by those before
    gains: Floats  # (t, 1 + m)
    is_log: Bools  # (1 + m,): whether residuals of each output were compared on a log scale

    @classmethod
    def begin(cls, outputs: int, is_log: Bools | None = None) -> "Watch":
        scales = np.zeros(outputs, dtype=bool) if is_log is None else is_log
        rows, is_new = np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
        return cls(0, rows, is_new, np.empty((0, 2, outputs)), np.empty((0, outputs)), scales)

    def step(self, units: Sequence[Units], pair: Floats, is_new: bool, row: int) -> "Watch":
        """Return the watch after a measurement (2, 1 + m), with what was expected, on the scales of `units`."""
        is_log = np.array([unit.bend > 0 for unit in units])
        watch = self if np.array_equal(is_log, self.is_log) else self._replayed(units, is_log)
        return watch._stepped(units, pair, is_new, row)

    def _replayed(self, units: Sequence[Units], is_log: Bools) -> "Watch":
        """Return the watch as if residuals had been compared on these scales from the beginning."""
        watch = Watch.begin(len(units), is_log)._replace(steps=self.steps - len(self.rows))
        for pair, is_new, row in zip(self.outputs, self.is_new, self.rows, strict=True):
            watch = watch._stepped(units, pair, is_new, row)
        return watch

    def _stepped(self, units: Sequence[Units], pair: Floats, is_new: bool, row: int) -> "Watch":
        kept = slice(1 - REMEMBERED, None)
        rows, peers = np.append(self.rows[kept], row), np.append(self.is_new[kept], is_new)
        outputs = np.concatenate([self.outputs[kept], pair[None]])
        sizes, same = residual_sizes(units, outputs), peers == is_new
        rank = (sizes[same] >= sizes[-1]).sum(axis=0)  # 1 is the largest
        since = np.cumsum(same[::-1])[::-1][:, None]  # k + 1 of each bet
        won = np.where(rank <= since, np.log((same.sum() / since + 1) / 2), -math.log(2))
        gains = np.concatenate([self.gains[kept], np.zeros((1, len(units)))]) + won
        return Watch(self.steps + 1, rows, peers, outputs, gains, self.is_log)

    @property
    def shift(self) -> int | None:
        """The measurement at which a shift probably was, if there is an alarm."""
        s = self.steps - np.arange(len(self.rows))[::-1]
        excess = self.gains.max(axis=1) - np.log(s * (s + 1.0))
        found = int(excess.argmax())
        alarm = excess[found] >= math.log(self.gains.shape[1] / FALSE_ALARM)
        return int(self.rows[found]) if alarm else None


def residual_sizes(units: Sequence[Units], outputs: Floats) -> Floats:
    """Return the sizes (t, 1 + m) of residuals, on the scale on which each output is modelled."""
    columns = [
        unit.spread * np.abs(np.subtract(*unit.inside(y.T)))
        for unit, y in zip(units, outputs.T.swapaxes(1, 2), strict=True)
    ]
    return np.stack(columns, axis=1)
