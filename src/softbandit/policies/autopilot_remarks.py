"""Remarks of Autopilot that its user should know: limits that cannot be met, wrong units, being stuck at one arm."""

import math

import numpy as np

from softbandit.backend import Floats
from softbandit.policies.autopilot_knowledge import Knowledge
from softbandit.policies.outlook import SURE, optimistic
from softbandit.policies.prices import Prices, limit_prices

FIRST = 20  # rounds before anything is said
STUCK = 50  # rounds at one arm, at least, and a third of all
FAR = 100  # times its range by which a cost stays within its limit, in all rounds, if the units are wrong
BEYOND_NOISE = 2.0  # standard errors by which a mean cost is above its limit


def remarks(known: Knowledge) -> dict[str, str]:
    """Return the remarks by topic."""
    if len(known.X) < FIRST or not known.models:
        return {}
    return _units(known) | _infeasible(known) | _stuck(known)


def _units(known: Knowledge) -> dict[str, str]:
    """Outputs that never change, and costs that never fall below zero, or never come near it."""
    t, several = len(known.Y), len(np.unique(known.X, axis=0)) > 1
    found = {}
    for name, y in zip(names(known), known.Y.T, strict=True):
        low, high = float(y.min()), float(y.max())
        if low == high and several:
            found[f"{name} is constant"] = (
                f"The {name} was {low:.4g} in all {t} rounds, whatever was played. Check that the right number is told."
            )
        elif name != "reward" and low >= 0 and high > low:
            found[f"{name} is never negative"] = (
                f"The {name} was never below zero in {t} rounds, from {low:.4g} to {high:.4g}. A cost is a measurement "
                "minus its limit, and negative within it: if the limit was not subtracted, or values within it were "
                "told as zero, tell cost=measured - limit."
            )
        elif name != "reward" and is_far_within(y):
            found[f"{name} is far below zero"] = (
                f"The {name} was between {low:.4g} and {high:.4g} in {t} rounds, which is over {FAR} times its range "
                "within its limit: the limit has no effect. Check that measurements and limit are in the same unit."
            )
    return found


def is_far_within(costs: Floats) -> bool:
    """Return whether costs that vary stay so far below zero that their limit may be in another unit."""
    low, high = float(costs.min()), float(costs.max())
    return 0 < FAR * (high - low) < -high


def _infeasible(known: Knowledge) -> dict[str, str]:
    """Limits that no mixture meets, with the least violation by the posterior means."""
    if known.outlook.prices.feasible or _prices(known, SURE).feasible:
        return {}
    violation = _prices(known, 0.0).violation
    least = ", ".join(f"{v:.3g} ({name})" for name, v in zip(names(known)[1:], violation, strict=True) if v > 0)
    aim = "aims at it" if len(violation) == 1 else "plays the arm of the least total"
    return {
        "limits": (
            "No mixture of arms meets the limits, even by optimistic estimates. "
            f"The least violation is about {least} on average, and Autopilot {aim}. Raise the limits with "
            "agent.with_limits_raised(by=...), offer arms of lower cost, or check that costs are measured - limit."
        )
    }


def _prices(known: Knowledge, k: float) -> Prices:
    """Return the prices of the limits by estimates that are optimistic by k standard deviations."""
    contexts, o = known.policy.context, known.outlook
    return limit_prices(*optimistic(known.models, o.moments, k), None if contexts is None else contexts[o.where])


def _stuck(known: Knowledge) -> dict[str, str]:
    """One arm for very long, while a debt grows that others could repay."""
    window = max(STUCK, math.ceil(len(known.X) / 3))
    last, costs = known.X[-window:], known.Y[-window:, 1:]
    if len(known.X) - known.since < window or (last != last[0]).any() or not known.outlook.prices.feasible:
        return {}
    error = costs.std(axis=0) / math.sqrt(window)
    grows = (known.debt > 0) & (costs.mean(axis=0) > BEYOND_NOISE * error)
    if not grows.any():
        return {}
    i = int(grows.argmax())
    place = f"arm {known.where[-1]}" if known.where[-1] >= 0 else "one point"
    return {
        "stuck": (
            f"The last {window} rounds were all at {place}, where {names(known)[1 + i]} is {costs[:, i].mean():.3g} "
            "above its limit, although others are expected to meet it. If among= leaves no others, pass more arms; "
            "otherwise check that each cost is told with its own decision."
        )
    }


def names(known: Knowledge) -> list[str]:
    """Return the names of the outputs: the reward, and each cost."""
    m = known.Y.shape[1] - 1
    return ["reward"] + (["cost"] if m == 1 else [f"cost {i}" for i in range(m)])
