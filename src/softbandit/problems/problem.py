"""A problem on finite arms: functions, noise, and the constants that a policy is told."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend.random import DrawCount, Draws
from softbandit.backend.shapes import ArmIndex, ArmMask, Floats, Ints, PerCost, PerTrial
from softbandit.backend.traced_fields import HostOnly, Traced
from softbandit.backend.vocabulary import drop_single, namespace
from softbandit.errors import ArgumentError, Description
from softbandit.gp.kernels import Kernel
from softbandit.policies.dual_settings import slater_margin
from softbandit.problems.noise import GaussianNoise, Noise, ResampledNoise
from softbandit.theory.optimum import functions


@dataclass(frozen=True, eq=False)
class Problem:
    """Reward f and costs g_i over the arms, and the constants that the theory asks for.

    With one constraint `cost` is (n,), like `reward`; with m of them it is (n, m).
    """

    arms: HostOnly[Floats]  # (n, d)
    kernel: HostOnly[Kernel]
    reward: HostOnly[Floats]  # f
    cost: HostOnly[Floats]  # g
    noise: Traced[float]  # R, as policies are told
    reward_bound: HostOnly[float]  # B
    cost_bound: HostOnly[float | Sequence[float]]  # G: one number, or one per constraint
    slater: HostOnly[float]  # delta, capped at 1
    name: HostOnly[str] = "problem"
    contexts: Traced[Ints | None] = None  # (n,): the context of each arm; one, drawn uniformly, is available each round
    law: Traced[Noise] = field(default_factory=GaussianNoise)  # of the noise
    source: HostOnly[str] = "synthetic"  # where the functions come from
    data_hash: HostOnly[str] = ""  # sha256 of the data they come from, if any
    _values: Traced[Any] = field(default=None, repr=False)  # (n, 1 + m): f and g side by side, computed here

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("arms", validation.points("arms", self.arms))
        f, g = functions(self.reward, self.cost)
        if len(f) != len(self.arms):
            got = Description(f"{len(f)} rewards")
            raise ArgumentError.of("reward", f"one for each of {len(self.arms)} arms", got, "Check the shapes.")
        put("_values", np.column_stack([f, g]))
        put("reward", self._values[:, 0])
        put("cost", drop_single(self._values[:, 1:]))
        validation.nonnegative("noise", self.noise)
        validation.positive("reward_bound", self.reward_bound)
        validation.numbers_above("cost_bound", self.cost_bound, g.shape[1], least=0.0, strict=True)
        slater_margin(self.slater)
        self._check_law()
        if self.contexts is not None:
            labels = validation.points("contexts", np.reshape(self.contexts, (-1, 1)))[:, 0]
            if len(labels) != len(self.arms):
                got = Description(f"{len(labels)}")
                raise ArgumentError.of("contexts", f"one for each of {len(self.arms)} arms", got, "Check the shape.")
            put("contexts", np.unique(labels, return_inverse=True)[1])

    @property
    def costs(self) -> Floats:
        """g as (n, m), whatever m is."""
        costs: Floats = self._values[:, 1:]
        return costs

    @property
    def constraints(self) -> int:
        return int(self.costs.shape[1])

    @property
    def sub_gaussian(self) -> float:
        """The least R for which the noise is R-sub-Gaussian; infinite for heavy tails."""
        return self.law.sub_gaussian(self.noise)

    def draws(self) -> DrawCount:
        """Random numbers that one round takes: the noise, and at last the context where there are several."""
        normal, uniform = self.law.draws(1 + self.constraints)
        return DrawCount(normal, uniform if self.contexts is None else uniform + 1)

    def available(self, draws: Draws) -> ArmMask | None:
        """The arms on offer in a round, (trials, n); None for all."""
        if self.contexts is None:
            return None
        xp = namespace(draws.uniform)
        context = xp.floor(draws.uniform[:, -1:] * (self.contexts.max() + 1))  # (trials, 1)
        return self.contexts == context

    def observe(self, arm: ArmIndex, draws: Draws) -> tuple[PerTrial, PerCost]:
        """Noisy reward (trials,) and costs (trials, m) at the arms (trials,)."""
        own = draws if self.contexts is None else Draws(draws.normal, draws.uniform[:, :-1])
        y = self._values[arm] + self.law.sample(self.noise, arm, own)
        return y[:, 0], y[:, 1:]

    def _check_law(self) -> None:
        if not isinstance(self.law, Noise):
            raise ArgumentError.of("law", "a Noise", self.law, "For example sb.problems.UniformNoise().")
        expected = (len(self.arms), 1 + self.constraints)
        if isinstance(self.law, ResampledNoise) and self.law.residuals.shape[1:] != expected:
            got = Description(f"rows of {self.law.residuals.shape[1:]}")
            raise ArgumentError.of("law", f"rows of arms x outputs, {expected}", got, "Check the table.")

    def settings(self) -> dict[str, Any]:
        """What a policy is told of the problem: `sb.CKB(**problem.settings(), horizon=1000)`."""
        names = ["arms", "kernel", "noise", "reward_bound", "cost_bound", "slater", "constraints"]
        return {name: getattr(self, name) for name in names}
