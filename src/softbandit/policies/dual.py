"""The dual step: how a cost estimate changes the price of violating a constraint.

Both rules are pure: `price` returns what one unit of cost takes off the acquisition, `step` the
next dual. The first dual is 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from softbandit import validation
from softbandit.backend.shapes import Floats, PerCost
from softbandit.backend.traced_fields import Traced
from softbandit.backend.vocabulary import namespace


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
