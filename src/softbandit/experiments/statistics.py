"""What tables say, with their uncertainty.

The unit of all intervals is the independent one: an instance, where there are several
(its trials averaged), else a trial.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from softbandit.backend.shapes import Floats
from softbandit.experiments.tables import Table

LEVEL = 0.95
RESAMPLES = 2000  # of the units, for intervals


class Interval(NamedTuple):
    """An estimate, and the interval that covers the truth with probability LEVEL."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{readable(self.mean)} [{readable(self.low)}, {readable(self.high)}]"


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
    """Of the mean, by resampling the units: it follows skew, and stays within the range of the data.

    >>> interval(np.array([0.0, 0.0, 0.0, 8.0]))
    Interval(mean=2.0, low=0.0, high=6.0)
    """
    return Interval(*(float(v) for v in intervals(values[:, None])[:, 0]))


def intervals(values: Floats) -> Floats:
    """Mean, low and high of each column of values (units, columns): (3, columns)."""
    mean = values.mean(axis=0)
    if len(values) < 2:
        return np.stack([mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)])
    spread = np.quantile(_shares(len(values)) @ values, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=0)
    return np.stack([mean, np.minimum(spread[0], mean), np.maximum(spread[1], mean)])


@cache
def _shares(n: int) -> Floats:
    """How much each of n units counts in each resample: (RESAMPLES, n), the same every time."""
    drawn = np.random.default_rng(0).integers(n, size=(RESAMPLES, n))
    return np.stack([np.bincount(row, minlength=n) for row in drawn]) / n


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


def growth_interval(values: Floats, rounds: tuple[float, float]) -> Interval:
    """Of `growth`, by resampling the units."""
    draws = np.array([growth(mean[None], rounds) for mean in _shares(len(values)) @ values])
    low, high = np.quantile(draws, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], method="nearest")
    return Interval(growth(values, rounds), float(low), float(high))


def growth(values: Floats, rounds: tuple[float, float]) -> float:
    """p in t^p between two rounds, of the mean over the units (units, 2): 1 is linear, below is sublinear."""
    early, late = values.mean(axis=0)
    if late <= 0:
        return 0.0
    return float(np.log(late / early) / np.log(rounds[1] / rounds[0])) if early > 0 else float("inf")


def exponent(x: Floats, y: Floats) -> float:
    """p in y ~ x^p, by least squares over the upper half of the range, where a constant part is small."""
    top = x >= np.median(x)
    return float(np.polyfit(np.log(x[top]), np.log(y[top]), 1)[0])
