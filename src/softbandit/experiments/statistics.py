"""What tables say, with their uncertainty.

The unit of all intervals is the independent one: an instance, where there are several
(its trials averaged), else a trial.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from softbandit.checks import Floats
from softbandit.experiments.tables import Table

LEVEL = 0.95
RESAMPLES = 2000


class Interval(NamedTuple):
    """An estimate, and the interval that covers the truth with probability LEVEL."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{readable(self.mean)} [{readable(self.low)}, {readable(self.high)}]"

    def short(self) -> str:
        """Where it is symmetric."""
        return readable(self.mean) + (f" ± {readable(self.high - self.mean)}" if self.high > self.mean else "")


def readable(value: float) -> str:
    """Three digits and no exponent, where that can be read.

    >>> [readable(v) for v in (0, 0.01234, 3.14159, 47.3, 12345.6, -2e8, 38)]
    ['0', '0.0123', '3.14', '47.3', '12,346', '-2e+08', '38']
    """
    size = abs(value)
    if 1000 <= size < 1e7:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def interval(values: Floats) -> Interval:
    """Of the mean, by Student's t.

    >>> interval(np.array([1.0, 3.0]))  # half-width: 12.706 * sqrt(2) / sqrt(2)
    Interval(mean=2.0, low=-10.7..., high=14.7...)
    """
    from scipy.special import stdtrit

    mean, n = float(values.mean()), len(values)
    half = float(stdtrit(n - 1, 0.5 + LEVEL / 2) * values.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return Interval(mean, mean - half, mean + half) if half else Interval(mean, mean, mean)


def units(table: Table, metric: str, **where: object) -> Floats:
    """The metric's value for each unit, in order; of the rows of one policy and round."""
    rows = table.where(**where)
    instance, values = rows["instance"], rows[metric]
    found = np.unique(instance)
    if len(found) < 2:
        return np.asarray(values[np.argsort(rows["trial"], kind="stable")], dtype=float)
    return np.array([values[instance == i].mean() for i in found])


def curves(table: Table, metric: str) -> tuple[Floats, Floats]:
    """Rounds, and the metric for each unit over them (units, rounds); of the rows of one policy."""
    rounds = np.unique(table["round"])
    return rounds, np.stack([units(table, metric, round=t) for t in rounds], axis=1)


def bootstrap(statistic: Callable[[Floats], float], values: Floats) -> Interval:
    """Of a statistic of the units (units, ...), by resampling them; the same numbers every time."""
    rng = np.random.default_rng(0)
    n = len(values)
    draws = np.array([statistic(values[rng.integers(n, size=n)]) for _ in range(RESAMPLES)])
    low, high = np.quantile(draws, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return Interval(statistic(values), float(low), float(high))


def growth(values: Floats, rounds: tuple[float, float]) -> float:
    """p in t^p between two rounds, of the mean over the units (units, 2): 1 is linear, below is sublinear."""
    early, late = values.mean(axis=0)
    if late <= 0:
        return 0.0
    return float(np.log(late / early) / np.log(rounds[1] / rounds[0])) if early > 0 else float("inf")
