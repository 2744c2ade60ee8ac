"""Slater's margin delta, the settings that follow from it, and the slack."""

import math
from typing import Any, NamedTuple

from softbandit import validation
from softbandit.errors import ArgumentError
from softbandit.backend.shapes import Floats


class Slack(NamedTuple):
    """A slack epsilon, what it costs in regret, and whether it cancels the violation it was made for."""

    epsilon: float
    regret: float  # 2 B T epsilon / delta
    rho: float  # a cap of twice the tightened problem's bound on the dual, 4 B / (delta - epsilon)
    cancels: bool  # the cap at delta / 2 left it whole


def cancelling_slack(violation: float, horizon: int, slater: float, reward_bound: float) -> Slack:
    """The slack that takes the leading term V of a violation bound away, epsilon = V / T, capped at delta / 2.

    It costs at most 2 B T epsilon / delta in regret (the paper's Claim 1). The slack moves the
    bound's other terms a little, through G + epsilon and delta - epsilon: ask the ledger again.

    >>> cancelling_slack(violation=100.0, horizon=1000, slater=0.5, reward_bound=2.0)
    Slack(epsilon=0.1, regret=800.0, rho=20.0, cancels=True)
    """
    B, T = validation.positive("reward_bound", reward_bound), validation.whole("horizon", horizon, least=1)
    delta, wanted = slater_margin(slater), validation.nonnegative("violation", violation) / T
    epsilon = min(wanted, delta / 2)
    return Slack(epsilon, 2 * B * T * epsilon / delta, 4 * B / (delta - epsilon), wanted <= delta / 2)


def slater_margin(slater: Any) -> float:
    """delta, in (0, 1]."""
    delta = validation.number("slater", slater)
    if not 0 < delta <= 1:
        remedy = "It is the margin by which some mixture of arms meets every constraint; cap it at 1."
        raise ArgumentError.of("slater", "a number in (0, 1]", slater, remedy)
    return delta


def checked_slack(slack: Any, slater: Any) -> float:
    """epsilon, at most delta / 2."""
    epsilon = validation.nonnegative("slack", slack)
    if epsilon and (slater is None or epsilon > slater_margin(slater) / 2):
        most = "0 where slater is not given" if slater is None else f"at most slater / 2 = {slater / 2:g}"
        remedy = "Beyond it the tightened constraints g + slack <= 0 have less than half of the margin left; lower it."
        raise ArgumentError.of("slack", most, slack, remedy)
    return epsilon


def dual_cap(rho: Any, B: float, slater: Any, needed: bool) -> float:
    """rho, 4 B / delta unless given (Theorem 3.3); infinite where neither is, nor needed."""
    delta = None if slater is None else slater_margin(slater)
    if rho is not None:
        return validation.positive("rho", rho)
    if delta is not None:
        return 4 * B / delta
    if needed:
        raise ArgumentError.of("slater", "a number in (0, 1]", None, "Pass slater, or else rho.")
    return math.inf


def inverse_step(V: Any, G: Floats, horizon: int, rho: float) -> Floats:
    """V, G_i sqrt(T) / rho for constraint i unless given (Theorem 3.3)."""
    if V is not None:
        return validation.each_above("V", V, len(G), least=0.0, strict=True)
    return G * math.sqrt(horizon) / rho if len(G) else G
