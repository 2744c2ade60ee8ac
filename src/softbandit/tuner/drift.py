"""A watch for shifts: whether measurements still agree with what was learned.

By the model, residuals one step ahead are independent and standard normal. The watch compares that with residuals
twice as large: with l = ln N(e; 0, 4) - ln N(e; 0, 1) it keeps, for each output,

    W_t = max(W_t-1, -ln t(t + 1)) + l_t        and raises an alarm if W_t >= ln((1 + m) / FALSE_ALARM)

W_t is the largest of the sums of l from some s to t, less ln s(s + 1). The exponential of such a sum is a martingale
with mean 1, so it ever reaches s(s + 1) (1 + m) / FALSE_ALARM with at most the inverse of that as its probability
(Ville). These add up to FALSE_ALARM over all s and outputs, since 1 / s(s + 1) add up to 1: a probability for all
rounds together, not for each. Residuals count as at most CLIPPED, which lowers W_t, so that one outlier is no shift.

The sum that is largest begins where the shift probably was.
"""

import math
from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats, Ints

FALSE_ALARM = 0.01  # probability that an alarm is ever raised without a shift
RATIO = 2.0  # of the deviations of residuals that are compared
CLIPPED = 4.0


class Watch(NamedTuple):
    """W of each output, and the measurement at which its sum begins."""

    level: Floats  # (1 + m,)
    since: Ints  # (1 + m,)
    rounds: int  # t

    @classmethod
    def begin(cls, outputs: int) -> "Watch":
        return cls(np.full(outputs, -np.inf), np.zeros(outputs, dtype=np.int64), 0)

    def step(self, residuals: Floats, row: int) -> "Watch":
        """Return the watch after the residuals (1 + m,) of measurement `row`."""
        t = self.rounds + 1
        e2 = np.minimum(residuals**2, CLIPPED**2)
        step = e2 * (1 - RATIO**-2) / 2 - math.log(RATIO)
        fresh = -math.log(t * (t + 1))
        since = np.where(self.level < fresh, row, self.since)
        return Watch(np.maximum(self.level, fresh) + step, since, t)

    @property
    def shift(self) -> int | None:
        """The measurement at which a shift probably was, if there is an alarm."""
        alarms = self.level >= math.log(len(self.level) / FALSE_ALARM)
        return int(self.since[alarms].min()) if alarms.any() else None
