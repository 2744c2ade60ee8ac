"""Slater's margin delta, and the settings of a dual that follow from it."""

import math

from softbandit import validation
from softbandit.backend.shapes import Floats
from softbandit.errors import ArgumentError


def slater_margin(slater: object) -> float:
    """Return delta, in (0, 1]."""
    delta = validation.number("slater", slater)
    if not 0 < delta <= 1:
        remedy = "It is the margin by which some mixture of arms meets every constraint; cap it at 1."
        raise ArgumentError.of("slater", "a number in (0, 1]", slater, remedy)
    return delta


def checked_slack(slack: object, slater: object) -> float:
    """Return epsilon, at most delta / 2."""
    epsilon = validation.nonnegative("slack", slack)
    if epsilon and (slater is None or epsilon > slater_margin(slater) / 2):
        limit = "0 without slater" if slater is None else f"at most slater / 2 = {slater_margin(slater) / 2:g}"
        remedy = "Beyond it the tightened constraints g + slack <= 0 have less than half of the margin left; lower it."
        raise ArgumentError.of("slack", limit, slack, remedy)
    return epsilon


def dual_cap(rho: object, B: float, slater: object, needed: bool) -> float:
    """Return rho: 4 B / delta unless given (Theorem 3.3); infinite if neither is given nor needed."""
    delta = None if slater is None else slater_margin(slater)
    if rho is not None:
        return validation.positive("rho", rho)
    if delta is not None:
        return 4 * B / delta
    if needed:
        raise ArgumentError.of("slater", "a number in (0, 1]", None, "Pass slater, or else rho.")
    return math.inf


def inverse_step(V: object, G: Floats, horizon: int, rho: float) -> Floats:
    """Return V: G_i sqrt(T) / rho for constraint i unless given (Theorem 3.3)."""
    if V is not None:
        return validation.numbers_above("V", V, len(G), least=0.0, strict=True)
    return G * math.sqrt(horizon) / rho if len(G) else G
