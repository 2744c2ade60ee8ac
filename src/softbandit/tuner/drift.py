"""A watch for shifts: whether measurements still agree with what was learned as well as earlier ones did.

Residuals one step ahead are compared with those before them, not with the model's own idea of their size: on a rough
surface a model is often surprised, and that is no shift. Residuals at points that were measured before are one class,
and those at new points another, since they differ in size. By its rank among those of its class so far, the largest
first, the t-th residual of a class has p = rank / t, and the watch keeps, for each output,

    W_t = max(W_t-1, -ln t(t + 1)) + ln(POWER p_t^(POWER - 1))

It raises an alarm if W_t >= ln((1 + m) / FALSE_ALARM). The ranks of independent residuals of one distribution are
independent and uniform (Renyi), so POWER p^(POWER - 1), which falls with p and has integral 1, has a mean of at most
1. Products of it from some s on are supermartingales, and one of them ever reaches s(s + 1) (1 + m) / FALSE_ALARM with
at most the inverse of that as its probability (Ville). These add up to FALSE_ALARM over all s and outputs, since
1 / s(s + 1) add up to 1: the probability of a false alarm in all rounds together. If residuals become smaller as more
is learned, it is less.

The product that is largest begins where the shift probably was.
"""

import math
from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats, Ints

FALSE_ALARM = 0.01
POWER = 0.3
REMEMBERED = 1000  # residuals that a new one is compared with


class Watch(NamedTuple):
    """W of each output, the measurement at which its product begins, and the residuals so far."""

    level: Floats  # (1 + m,)
    since: Ints  # (1 + m,)
    sizes: Floats  # (t, 2 + m): whether the point was new, and the size of each output's residual
    steps: int  # t

    @classmethod
    def begin(cls, outputs: int) -> "Watch":
        return cls(np.full(outputs, -np.inf), np.zeros(outputs, dtype=np.int64), np.empty((0, 1 + outputs)), 0)

    def step(self, residuals: Floats, is_new: bool, row: int) -> "Watch":
        """Return the watch after the residuals (1 + m,) of measurement `row`."""
        t, size = self.steps + 1, np.abs(residuals)
        peers = self.sizes[self.sizes[:, 0] == is_new, 1:]
        p = (1 + (peers >= size).sum(axis=0)) / (1 + len(peers))
        fresh = -math.log(t * (t + 1))
        since = np.where(self.level < fresh, row, self.since)
        level = np.maximum(self.level, fresh) + math.log(POWER) + (POWER - 1) * np.log(p)
        sizes = np.concatenate([self.sizes[1 - REMEMBERED :], [[is_new, *size]]])
        return Watch(level, since, sizes, t)

    @property
    def shift(self) -> int | None:
        """The measurement at which a shift probably was, if there is an alarm."""
        alarms = self.level >= math.log(len(self.level) / FALSE_ALARM)
        return int(self.since[alarms].min()) if alarms.any() else None
