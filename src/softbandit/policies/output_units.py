"""Units in which an output is modelled, learned from what was observed.

    z = (w - centre) / spread,    w = y,  or  w = asinh((y - zero) / bend) if the output spans orders of magnitude

asinh is linear near zero and logarithmic far from it, on both sides: a limit at zero stays where it is, and a
few huge values do not hide the rest. What is limited is the mean of y, not of w: with w ~ N(a, v),
E[sinh(w)] = sinh(a) exp(v / 2), so means and bounds are converted exactly.
"""

import math
from dataclasses import dataclass

import numpy as np

from softbandit.backend import Floats

BENDS = (0.1, 0.3, 0.6)  # quantiles of |y - zero| that are tried
EVIDENCE = 4.0  # by which the log likelihood must rise for a transform to be used


@dataclass(frozen=True)
class Units:
    """The units of one output. `bend` is 0 for an output that is used as it is."""

    centre: float = 0.0
    spread: float = 1.0
    zero: float = 0.0
    bend: float = 0.0

    @classmethod
    def learned(cls, y: Floats, limited: bool) -> "Units":
        """Return units for values (k,) of different points; `limited`: zero is a limit, and stays in the middle."""
        plain = cls._standard(y, 0.0, 0.0)
        zero = 0.0 if limited else float(np.median(y))
        bends = {float(np.quantile(np.abs(y - zero), q)) for q in BENDS} - {0.0}
        choices = {bend: cls._standard(y, zero, bend) for bend in sorted(bends)}
        best = max(choices, key=lambda bend: choices[bend].log_likelihood(y), default=0.0)
        if not best or choices[best].log_likelihood(y) < plain.log_likelihood(y) + EVIDENCE:
            return plain
        return choices[best]

    @classmethod
    def _standard(cls, y: Floats, zero: float, bend: float) -> "Units":
        w = np.arcsinh((y - zero) / bend) if bend else y
        spread = float(w.std())
        largest = float(np.abs(w).max())
        return cls(float(w.mean()), spread if spread > 1e-9 * largest else largest or 1.0, zero, bend)

    def log_likelihood(self, y: Floats) -> float:
        """Return that of y if z is normal, up to a constant."""
        slopes = np.log(np.hypot(y - self.zero, self.bend)).sum() if self.bend else 0.0
        return float(-len(y) * math.log(self.spread) - slopes)

    def inside(self, y: Floats) -> Floats:
        """Return z."""
        w = np.arcsinh((y - self.zero) / self.bend) if self.bend else y
        return np.asarray((w - self.centre) / self.spread)

    def outside(self, z: Floats, noise: float) -> Floats:
        """Return the mean of y at points where z without its noise, of that variance, is known."""
        w = self.centre + self.spread * z
        if not self.bend:
            return np.asarray(w)
        factor = math.exp(min(self.spread**2 * noise / 2, 50.0))
        return self.zero + self.bend * factor * np.sinh(np.clip(w, -300.0, 300.0))

    def moments(self, mean: Floats, variance: Floats, noise: float) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of `outside` for z ~ N(mean, variance)."""
        if not self.bend:
            return self.outside(mean, noise), self.spread * np.sqrt(variance)
        v = np.minimum(self.spread**2 * variance, 50.0)
        middle = self.outside(mean, noise)
        slope = (
            self.bend
            * math.exp(min(self.spread**2 * noise / 2, 50.0))
            * np.cosh(np.clip(self.centre + self.spread * mean, -300.0, 300.0))
        )
        return self.zero + (middle - self.zero) * np.exp(v / 2), slope * np.sqrt(v)
