"""Real systems with measured configurations: one metric is the reward, and the means of others have limits."""

import math
from typing import NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend import Floats, drop_single
from softbandit.data import SYSTEMS, Configurations, load_configurations
from softbandit.gp import Matern
from softbandit.problems.problem import Problem
from softbandit.theory import slater_condition

SHARE = 0.3  # of the configurations meet a limit, if the best one does not
LENGTHSCALE = 0.3  # times sqrt(d): the diagonal of the unit cube


class Goal(NamedTuple):
    """The metric to improve, and those that can be limited, all of them to be small."""

    reward: str
    limits: tuple[str, ...]


STORM = Goal("Throughput+", ("Latency-",))
GOALS: dict[str, Goal] = {
    "SS-A": STORM,
    "SS-C": STORM,
    "SS-D": STORM,
    "SS-E": STORM,
    "SS-M": Goal("Benchmark-time-", ("Benchmark-cpu-", "Benchmark-energy-")),
    "SS-O": Goal("Performance-", ("Cpu-",)),
    "SS-Q": Goal("Performance-", ("Cpu-", "Energy-")),
}


def measured(
    name: str, limits: int = 1, quantile: float | None = None, log: bool = False, noise: float = 0.05
) -> Problem:
    """f = a metric of a real system, g_i = another metric - L_i, over all measured configurations, in their own units.

    Parameters
    ----------
    name
        "SS-A", "SS-C", "SS-D", "SS-E" (Apache Storm: throughput, with a limit on latency), "SS-M" (HSQLDB),
        "SS-O" (InnoDB) or "SS-Q" (VP8 encoder: minus the time, with limits on cpu, then energy).
    limits
        How many metrics are limited: 1, or 2 where three were measured (SS-M and SS-Q).
    quantile
        The share of configurations that meet each limit. By default 0.3, halved until the limits
        exclude the best configuration.
    log
        Whether costs are in logarithms: g_i = ln(metric) - ln(L_i). The reward is not.
    noise
        The standard deviation of the Gaussian noise on each metric, as a share of its spread over the configurations.

    The features of an arm are its parameters, with the levels of each spaced evenly over [0, 1];
    parameters that never vary are left out. B and G are the largest values of |f| and |g|, not the
    norms, which are far larger. Slater's margin is capped at 1, in the units of the costs.

    Examples
    --------
    >>> problem = measured("SS-D")
    >>> problem.name, problem.arms.shape, round(float((problem.cost <= 0).mean()), 2)
    ('SS-D: Throughput+, Latency- at most 38.68', (196, 3), 0.3)
    """
    goal, share = validation.named("name", name, GOALS), validation.nonnegative("noise", noise)
    m, log = validation.whole("limits", limits, least=1, most=len(goal.limits)), validation.flag("log", log)
    table = load_configurations(name)
    reward = table.metric(goal.reward) * (1.0 if goal.reward.endswith("+") else -1.0)
    metrics = np.stack([table.metric(limited) for limited in goal.limits[:m]], axis=1)
    L = _limits(reward, metrics, quantile)
    cost = np.log(metrics) - np.log(L) if log else metrics - L
    arms, R = spread_levels(table), share * np.append(reward.std(), cost.std(axis=0))
    limit_names = [f"{limited} at most {limit:.4g}" for limited, limit in zip(goal.limits, L, strict=False)]
    return Problem(
        arms,
        Matern(LENGTHSCALE * math.sqrt(arms.shape[1])),
        reward,
        drop_single(cost),
        noise=float(R[0]),
        reward_bound=float(np.abs(reward).max()),
        cost_bound=drop_single(np.abs(cost).max(axis=0)),
        slater=min(1.0, slater_condition(cost).margin),
        name=f"{name}: {', '.join([goal.reward, *limit_names])}{', in logarithms' if log else ''}",
        source=f"measured: {SYSTEMS[name]} (MOOT)",
        data_hash=table.sha256,
        cost_noise=drop_single(R[1:]),
    )


def spread_levels(table: Configurations) -> Floats:
    """Return the parameters that vary, (n, d), with the levels of each spaced evenly over [0, 1] in ascending order.

    The levels were chosen by those who measured, and are often powers of ten: divided by their
    range, most of them would be near 0.
    """
    levels = [np.unique(column, return_inverse=True) for column in table.settings.T]
    return np.stack([index / (len(values) - 1) for values, index in levels if len(values) > 1], axis=1)


def _limits(reward: Floats, metrics: Floats, quantile: float | None) -> Floats:
    """Return L of each metric, (m,): that quantile, or the first of 0.3, 0.15, ... that excludes the best arm."""
    if quantile is not None:
        return np.quantile(metrics, validation.share("quantile", quantile, "30% is 0.3."), axis=0)
    share, best = SHARE, metrics[reward.argmax()]
    while (best <= np.quantile(metrics, share, axis=0)).all():
        share /= 2
    return np.quantile(metrics, share, axis=0)
