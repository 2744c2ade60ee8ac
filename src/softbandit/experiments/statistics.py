"""Statistics of an experiment's table, with their uncertainty.

Intervals are over independent units: the instances, if there are several (each the mean of
its trials), else the trials.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats
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


def readable(value: float) -> str:
    """Format a number with three digits, without an exponent unless it is very large or small.

    >>> [readable(v) for v in (0, 0.01234, 3.14159, 47.3, 12345.6, -2e8, 38)]
    ['0', '0.0123', '3.14', '47.3', '12,346', '-2e+08', '38']
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def interval(values: Floats) -> Interval:
    """Return the mean and its bootstrap interval, which follows skew and stays within the range of the data.

    >>> interval(np.array([0.0, 0.0, 0.0, 8.0]))
    Interval(mean=2.0, low=0.0, high=6.0)
    """
    return Interval(*(float(v) for v in intervals(values[:, None])[:, 0]))


def intervals(values: Floats) -> Floats:
    """Return mean, low and high of each column of values (units, columns): (3, columns)."""
    mean = values.mean(axis=0)
    if len(values) < 2:
        return np.stack([mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)])
    low, high = np.quantile(_shares(len(values)) @ values, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=0)
    return np.stack([mean, np.minimum(low, mean), np.maximum(high, mean)])


@cache
def _shares(n: int) -> Floats:
    """Return the share of each of n units in each resample: (RESAMPLES, n), always the same."""
    drawn = np.random.default_rng(0).integers(n, size=(RESAMPLES, n))
    return np.stack([np.bincount(row, minlength=n) for row in drawn]) / n


def units(table: Table, metric: str, **where: object) -> Floats:
    """Return the metric of each unit, in order. The rows must be of one policy and one round."""
    rows = table.where(**where)
    instance, values = rows["instance"], rows[metric]
    instances = np.unique(instance)
    if len(instances) < 2:
        return np.asarray(values[np.argsort(rows["trial"], kind="stable")], dtype=float)
    return np.array([values[instance == i].mean() for i in instances])


def curves(table: Table, metric: str) -> tuple[Floats, Floats]:
    """Return the rounds, and the metric of each unit in them (units, rounds). The rows must be of one policy."""
    rounds = np.unique(table["round"])
    return rounds, np.stack([units(table, metric, round=t) for t in rounds], axis=1)


def growth_interval(values: Floats, rounds: tuple[float, float]) -> Interval:
    """Return `growth` and its bootstrap interval."""
    draws = np.array([growth(mean[None], rounds) for mean in _shares(len(values)) @ values])
    low, high = np.quantile(draws, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], method="nearest")
    return Interval(growth(values, rounds), float(low), float(high))


def growth(values: Floats, rounds: tuple[float, float]) -> float:
    """Return p such that the mean over the units (units, 2) grows as t^p between two rounds: 1 is linear."""
    early, late = values.mean(axis=0)
    if late <= 0:
        return 0.0
    return float(np.log(late / early) / np.log(rounds[1] / rounds[0])) if early > 0 else float("inf")


def exponent(x: Floats, y: Floats) -> float:
    """Return p in y ~ x^p, by least squares over the upper half of the range, where a constant part is small."""
    top = x >= np.median(x)
    return float(np.polyfit(np.log(x[top]), np.log(y[top]), 1)[0])


def final_numbers(table: Table, keys: Sequence[str], metrics: Sequence[str]) -> list[list[str]]:
    """Return one row of text per combination of the keys: labels, each metric in the last round, `guaranteed`."""
    if "microseconds" in table.columns:
        return [[*key, f"{part['microseconds'][0]:.1f}"] for key, part in table.groups(*keys)]
    groups = table.final().groups(*keys)
    return [
        [*key, *(str(interval(units(part, metric))) for metric in metrics), guaranteed(part)] for key, part in groups
    ]


def guaranteed(table: Table) -> str:
    """Return whether softbandit proves a bound for the rows: yes, no, or the share of them."""
    share = float((table["guaranteed"] == "yes").mean())
    return {0.0: "no", 1.0: "yes"}.get(share, f"{share:.0%}")
