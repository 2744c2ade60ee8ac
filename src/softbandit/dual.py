"""The dual step: what a cost estimate does to the price of violating a constraint.

Both rules are pure: `start` gives the first dual, `price` what one unit of cost takes off
the acquisition, `step` the next dual. Duals are (trials, constraints).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from softbandit import checks
from softbandit.arrays import Array, namespace, project
from softbandit.checks import Floats
from softbandit.errors import ArgumentError


class Dual(Protocol):
    def start(self, trials: int) -> Array: ...

    def price(self, dual: Array) -> Array: ...

    def step(self, dual: Array, g: Array) -> Array: ...


@dataclass(frozen=True, eq=False)
class ProjectedGradient:
    """phi <- argmin over [0, rho] of |phi' - (phi + (g + eps) / V)|.    Algorithm 1, line 7"""

    rho: float
    V: Array  # (m,)
    slack: float

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
    return checks.named("dual", name, RULES)(rho, V, slack)


def slater_margin(slater: Any) -> float:
    """delta, in (0, 1]."""
    delta = checks.number("slater", slater)
    if not 0 < delta <= 1:
        remedy = "It is the margin by which some mixture of arms meets every constraint; cap it at 1."
        raise ArgumentError.of("slater", "a number in (0, 1]", slater, remedy)
    return delta


def dual_cap(rho: Any, B: float, slater: Any, constraints: int) -> float:
    """rho, 4 B / delta unless given (Theorem 3.3); 0 where there is nothing to price."""
    delta = None if slater is None else slater_margin(slater)
    if rho is not None:
        return checks.positive("rho", rho)
    if constraints == 0:
        return 0.0
    if delta is None:
        raise ArgumentError.of("slater", "a number in (0, 1]", None, "Pass slater, or else rho.")
    return 4 * B / delta


def inverse_step(V: Any, G: Floats, horizon: int, rho: float) -> Floats:
    """V, G_i sqrt(T) / rho for constraint i unless given (Theorem 3.3)."""
    if V is not None:
        return checks.each_above("V", V, len(G), least=0.0, strict=True)
    return G * math.sqrt(horizon) / rho if len(G) else G


def checked_slack(slack: Any, slater: Any) -> float:
    """epsilon, at most delta / 2."""
    epsilon = checks.nonnegative("slack", slack)
    if epsilon and (slater is None or epsilon > slater_margin(slater) / 2):
        most = "0 where slater is not given" if slater is None else f"at most slater / 2 = {slater / 2:g}"
        raise ArgumentError.of("slack", most, slack, "A larger slack can leave no feasible policy; lower it.")
    return epsilon
