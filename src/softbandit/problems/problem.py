"""A problem on finite arms, with Gaussian noise."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from softbandit import checks
from softbandit.arrays import Array, DrawCount, Draws
from softbandit.checks import Floats
from softbandit.errors import ArgumentError
from softbandit.kernels import Kernel


@dataclass(frozen=True, eq=False)
class Problem:
    """Reward f and costs g_i over the arms, and the constants that the theory asks for.

    With one constraint `cost` is (n,), like `reward`; with m of them it is (n, m).
    """

    arms: Floats  # (n, d)
    kernel: Kernel
    reward: Floats  # f
    cost: Floats  # g
    noise: float  # R
    reward_bound: float  # B
    cost_bound: Any  # G: one number, or one a constraint
    slater: float  # delta, capped at 1
    name: str = "problem"

    def __post_init__(self) -> None:
        n = len(self.arms)
        if np.shape(self.reward) != (n,) or np.ndim(self.cost) not in (1, 2) or len(self.cost) != n:
            got = f"reward {np.shape(self.reward)} and cost {np.shape(self.cost)}"
            raise ArgumentError.of("problem", f"one reward and cost for each of {n} arms", got, "Check the shapes.")
        checks.nonnegative("noise", self.noise)

    @property
    def costs(self) -> Floats:
        """g as (n, m), whatever m is."""
        return self.cost.reshape(len(self.arms), -1)

    @property
    def constraints(self) -> int:
        return int(self.costs.shape[1])

    def draws(self) -> DrawCount:
        """Random numbers that one observation takes."""
        return DrawCount(normal=1 + self.constraints)

    def observe(self, arm: Array, draws: Draws) -> tuple[Array, Array]:
        """Noisy reward (trials,) and costs (trials, m) at the arms (trials,)."""
        noise = self.noise * draws.normal
        return self.reward[arm] + noise[:, 0], self.costs[arm] + noise[:, 1:]

    def settings(self) -> dict[str, Any]:
        """What a policy is told of the problem: `sb.CKB(**problem.settings(), horizon=1000)`."""
        names = ["arms", "kernel", "noise", "reward_bound", "cost_bound", "slater", "constraints"]
        return {name: getattr(self, name) for name in names}
