"""Plain 95% intervals of means: Student's t for numbers, Wilson's for shares, Welch's for differences.

They describe the rounds so far as if these were independent. For bounds that hold at all times, whatever was looked
at, see `theory.confidence_sequences`.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats

LEVEL = 0.95


class Interval(NamedTuple):
    """A mean, and the ends of its interval; infinite if there are too few numbers."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float] | Floats) -> "Interval | None":
        """Return the interval of the mean of some numbers; None if there are none.

        >>> [round(x, 2) for x in Interval.of([9.0, 10.0, 11.0])]
        [10.0, 7.52, 12.48]
        """
        n = len(values)
        if n == 0:
            return None
        mean, error = float(np.mean(values)), _squared_error(values)
        radius = math.inf if n == 1 else _quantile(n - 1) * math.sqrt(error)
        return cls(mean, mean - radius, mean + radius)

    @classmethod
    def of_share(cls, marks: Sequence[float] | Floats) -> "Interval | None":
        """Return the interval of the share of ones among zeros and ones; None if there are none.

        >>> [round(x, 3) for x in Interval.of_share([0] * 20)]
        [0.0, 0.0, 0.161]
        """
        n = len(marks)
        if n == 0:
            return None
        z, share = _quantile(math.inf), float(np.mean(marks))
        centre = (share + z * z / (2 * n)) / (1 + z * z / n)
        radius = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2) / (1 + z * z / n)
        return cls(share, max(centre - radius, 0.0), min(centre + radius, 1.0))

    @classmethod
    def of_difference(cls, a: Sequence[float] | Floats, b: Sequence[float] | Floats) -> "Interval | None":
        """Return the interval of mean(a) - mean(b); None if one of them is empty."""
        if not len(a) or not len(b):
            return None
        difference = float(np.mean(a) - np.mean(b))
        if min(len(a), len(b)) == 1:
            return cls(difference, -math.inf, math.inf)
        errors = _squared_error(a), _squared_error(b)
        total = sum(errors)
        shares = sum((e / total) ** 2 / (len(x) - 1) for e, x in zip(errors, (a, b), strict=True)) if total else 1.0
        radius = _quantile(1 / shares) * math.sqrt(total)
        return cls(difference, difference - radius, difference + radius)

    def show(self, text: Callable[[float], str]) -> str:
        """Return it as text, such as "11.9 [11.6, 12.2]"; just the mean if nothing is known about its error."""
        if not math.isfinite(self.high - self.low):
            return text(self.mean)
        return f"{text(self.mean)} [{text(self.low)}, {text(self.high)}]"


def _squared_error(values: Sequence[float] | Floats) -> float:
    """Return the squared standard error of the mean; 0 for a single number."""
    return float(np.var(values, ddof=1)) / len(values) if len(values) > 1 else 0.0


def _quantile(freedom: float) -> float:
    from scipy.special import ndtri, stdtrit

    tail = (1 + LEVEL) / 2
    return float(ndtri(tail) if math.isinf(freedom) else stdtrit(freedom, tail))
