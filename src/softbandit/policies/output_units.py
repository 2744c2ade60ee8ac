"""Units in which an output is modelled, learned from what was observed.

    z = (w - centre) / spread,    w = y,  or  w = asinh((y - zero) / bend) if the output spans orders of magnitude

asinh is linear near zero and logarithmic far from it, on both sides: a limit at zero stays where it is, and a
few huge values do not hide the rest. What is limited is the mean of y, not of w: with w ~ N(a, v),
E[sinh(w)] = sinh(a) exp(v / 2) and Var[sinh(w)] = (e^v - 1) (e^v cosh(2 a) + 1) / 2, so both are converted exactly.
"""

import math
from dataclasses import dataclass

import numpy as np

from softbandit.backend import Floats

BENDS = (0.1, 0.3, 0.6)  # quantiles of |y - zero| that are tried
MIDDLE = (0.05, 0.95)  # quantiles between which the middle range is
FINEST = 1e-3  # of the middle range: nearer to zero, differences are hardly ever more than noise
FARTHEST, WIDEST = 300.0, 50.0  # of |w| and of its variance: beyond them, exponentials overflow
EVIDENCE = 4.0  # by which the log density of the observations must rise for a transform to be used


@dataclass(frozen=True)
class Units:
    """The units of one output. `bend` is 0 for an output that is used as it is."""

    centre: float = 0.0
    spread: float = 1.0
    zero: float = 0.0
    bend: float = 0.0

    @classmethod
    def learned(cls, y: Floats, limited: bool, apart: Floats | None = None) -> "Units":
        """Return units for values (k,) of different points; `limited`: zero is a limit, and stays where it is.

        `apart` are values at points that are far apart, which decide on a transform: most of the points that a
        policy plays are where it is good, and look like a peak. By default they are all. Equal values count once: a
        parameter without effect says nothing about the scale.
        """
        apart = np.unique(y if apart is None else apart)
        zero = 0.0 if limited else float(np.median(apart))
        least = FINEST * float(np.ptp(np.quantile(apart, MIDDLE)))
        bends = sorted({max(float(np.quantile(np.abs(apart - zero), q)), least) for q in BENDS} - {0.0})
        evidence = [cls.of(apart, zero, bend).log_jacobian(apart) for bend in bends]
        plain = cls.of(apart).log_jacobian(apart)
        if not bends or max(evidence) < plain + EVIDENCE:
            return cls.of(y)
        return cls.of(y, zero, bends[int(np.argmax(evidence))])

    @classmethod
    def of(cls, y: Floats, zero: float = 0.0, bend: float = 0.0) -> "Units":
        """Return units in which the values have mean 0 and deviation 1; if all are equal, their size is the unit."""
        w = np.arcsinh((y - zero) / bend) if bend else y
        size = float(np.abs(w).max()) or 1.0
        share = float((w / size).std())  # squares of w itself may overflow, or be zero
        return cls(float((w / size).mean()) * size, (share if share > 1e-9 else 1.0) * size, zero, bend)

    def log_jacobian(self, y: Floats) -> float:
        """Return sum ln |dz / dy|: the log density of y less that of z; if z ~ N(0, 1), that of y up to a constant."""
        slopes = np.log(np.hypot(y - self.zero, self.bend)).sum() if self.bend else 0.0
        return float(-len(y) * math.log(self.spread) - slopes)

    def inside(self, y: Floats) -> Floats:
        """Return z."""
        w = np.arcsinh((y - self.zero) / self.bend) if self.bend else y
        return np.asarray((w - self.centre) / self.spread)

    def outside(self, z: Floats, noise: float) -> Floats:
        """Return the mean of y at points where z without its noise, of that variance, is known."""
        a = self.centre + self.spread * z
        if not self.bend:
            return np.asarray(a)
        return self.zero + self._factor(noise) * np.sinh(np.clip(a, -FARTHEST, FARTHEST))

    def moments(self, mean: Floats, variance: Floats, noise: float) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of `outside` for z ~ N(mean, variance)."""
        middle = self.outside(mean, noise)
        if not self.bend:
            return middle, self.spread * np.sqrt(variance)
        a = np.clip(self.centre + self.spread * mean, -FARTHEST, FARTHEST)
        v = np.minimum(self.spread**2 * variance, WIDEST)
        deviation = np.sqrt(np.expm1(v) * (np.exp(v) * np.cosh(2 * a) + 1) / 2)
        return self.zero + (middle - self.zero) * np.exp(v / 2), self._factor(noise) * deviation

    def _factor(self, noise: float) -> float:
        """Return what sinh(a) is multiplied by, with noise of that variance."""
        return self.bend * math.exp(min(self.spread**2 * noise, WIDEST) / 2)
