"""The dual step: what a cost estimate does to the price of violating a constraint.

Both rules are pure: `start` gives the first dual, `price` what one unit of cost takes off
the acquisition, `step` the next dual. Duals are (trials, constraints).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from softbandit import validation
from softbandit.backend.namespace import namespace, project
from softbandit.backend.shapes import Array


class Dual(Protocol):
    @property
    def cap(self) -> float | None:
        """No price is higher; None if there is no such number."""

    def start(self, trials: int) -> Array: ...

    def price(self, dual: Array) -> Array: ...

    def step(self, dual: Array, g: Array) -> Array: ...


@dataclass(frozen=True, eq=False)
class ProjectedGradient:
    """phi <- argmin over [0, rho] of |phi' - (phi + (g + eps) / V)|.    Algorithm 1, line 7"""

    rho: float
    V: Array  # (m,)
    slack: float

    @property
    def cap(self) -> float:
        return self.rho

    def start(self, trials: int) -> Array:
        return np.zeros((trials, len(self.V)))

    def price(self, dual: Array) -> Array:
        return dual

    def step(self, dual: Array, g: Array) -> Array:
        return project(dual + (g + self.slack) / self.V, 0.0, self.rho)


@dataclass(frozen=True, eq=False)
class VirtualQueue:
    """Q <- [Q + g + eps]_+, at the price Q / V.    Algorithm 2, lines 3 and 5"""

    V: Array  # (m,)
    slack: float
    cap: ClassVar[None] = None

    def start(self, trials: int) -> Array:
        return np.zeros((trials, len(self.V)))

    def price(self, dual: Array) -> Array:
        return dual / self.V

    def step(self, dual: Array, g: Array) -> Array:
        return namespace(dual).maximum(dual + g + self.slack, 0.0)


RULES: dict[str, Callable[[float, Array, float], Dual]] = {
    "projected": ProjectedGradient,
    "queue": lambda rho, V, slack: VirtualQueue(V, slack),
}


def dual_rule(name: Any, rho: float, V: Array, slack: float) -> Dual:
    """The rule that a name stands for."""
    return validation.named("dual", name, RULES)(rho, V, slack)
