"""The dual step: how a cost estimate changes the price of violating a constraint; and its settings by default.

Both rules are pure: `price` returns what one unit of cost takes off the acquisition, `step` the
next dual. The first dual is 0.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from softbandit import validation
from softbandit.backend import Floats, PerCost, Traced, namespace
from softbandit.errors import ArgumentError


class Dual(Protocol):
    """A rule for the dual."""

    def price(self, dual: PerCost) -> PerCost: ...
    def step(self, dual: PerCost, g: PerCost) -> PerCost: ...


@dataclass(frozen=True, eq=False)
class ProjectedGradient:
    """phi <- argmin over [0, rho] of |phi' - (phi + (g + eps) / V)|.    Algorithm 1, line 7"""

    rho: Traced[float]
    V: Traced[Floats]  # (m,)
    slack: Traced[float]

    def price(self, dual: PerCost) -> PerCost:
        return dual

    def step(self, dual: PerCost, g: PerCost) -> PerCost:
        return (dual + (g + self.slack) / self.V).clip(0.0, self.rho)


@dataclass(frozen=True, eq=False)
class VirtualQueue:
    """Q <- [Q + g + eps]_+, at the price Q / V.    Algorithm 2, lines 3 and 5"""

    V: Traced[Floats]  # (m,)
    slack: Traced[float]

    def price(self, dual: PerCost) -> PerCost:
        return dual / self.V

    def step(self, dual: PerCost, g: PerCost) -> PerCost:
        return namespace(dual).maximum(dual + g + self.slack, 0.0)


RULES: dict[str, Callable[[float, Floats, float], Dual]] = {
    "projected": ProjectedGradient,
    "queue": lambda rho, V, slack: VirtualQueue(V, slack),
}


def dual_rule(name: object, rho: float, V: Floats, slack: float) -> Dual:
    """Return the rule of that name."""
    return validation.named("dual", name, RULES)(rho, V, slack)


def slater_margin(slater: object) -> float:
    """Return delta, in (0, 1]."""
    delta = validation.number("slater", slater)
    if not 0 < delta <= 1:
        remedy = "It is the margin by which some mixture of arms meets every constraint; cap it at 1."
        raise ArgumentError.of("slater", "a number in (0, 1]", slater, remedy)
    return validation.usable_size("slater", delta)


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
