"""Problems on finite arms: functions, noise, and the constants that a policy needs."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np

from softbandit import validation
from softbandit.backend.display import brief, counted
from softbandit.backend.random import DrawCount, Draws
from softbandit.backend.shapes import ArmIndex, ArmMask, Floats, Ints, PerCost, PerTrial
from softbandit.backend.traced_fields import HostOnly, Traced
from softbandit.backend.vocabulary import drop_single, namespace
from softbandit.domains import extent_in_words
from softbandit.errors import ArgumentError, Description
from softbandit.gp import Kernel, checked_kernel
from softbandit.policies import slater_margin
from softbandit.problems.noise import GaussianNoise, Noise, ResampledNoise
from softbandit.theory.optimum import functions

CONSTANTS = ("noise", "cost_noise", "reward_bound", "cost_bound", "slater")


class BaseProblem(ABC):
    """The constants of a problem that the theory needs; subclasses add the arms and the functions."""

    arms: Any
    noise: float
    cost_noise: float | Sequence[float] | None
    reward_bound: float
    cost_bound: float | Sequence[float]
    slater: float
    kernel: Kernel
    law: Noise
    name: str
    source: str

    @property
    @abstractmethod
    def constraints(self) -> int:
        """The number of costs, m."""

    def __repr__(self) -> str:
        what = f"{extent_in_words(self.arms)}, {counted(self.constraints, 'cost')}, noise {brief(self.noise)}"
        return f"{type(self).__name__}({self.name!r}, {what})"

    @property
    def noises(self) -> Floats:
        """R of each output, (1 + m,): `noise`, then `cost_noise`, which is `noise` by default."""
        cost_noise = self.noise if self.cost_noise is None else self.cost_noise
        return np.append(self.noise, np.broadcast_to(cost_noise, self.constraints)).astype(np.float64)

    @property
    def sub_gaussian(self) -> Floats:
        """The smallest R for which the noise of each output is R-sub-Gaussian, (1 + m,); infinite for heavy tails."""
        scales, index = np.unique(self.noises, return_inverse=True)
        return np.array([self.law.sub_gaussian(R) for R in scales.tolist()])[index]

    def settings(self) -> dict[str, Any]:
        """Return the arguments of a policy for this problem: `sb.CKB(**problem.settings(), horizon=1000)`."""
        names = ["arms", "kernel", "noise", "cost_noise", "reward_bound", "cost_bound", "slater", "constraints"]
        return {name: getattr(self, name) for name in names}

    def _check_constants(self, constraints: int) -> None:
        checked_kernel("kernel", self.kernel)
        for name in CONSTANTS:
            validation.store(self, **{name: validation.plain(name, getattr(self, name))})
        validation.nonnegative("noise", self.noise)
        if self.cost_noise is not None:
            validation.numbers_above("cost_noise", self.cost_noise, constraints, least=0.0, strict=False)
        validation.positive("reward_bound", self.reward_bound)
        validation.numbers_above("cost_bound", self.cost_bound, constraints, least=0.0, strict=True)
        slater_margin(self.slater)
        validation.store(self, name=validation.text("name", self.name), source=validation.text("source", self.source))


@dataclass(frozen=True, eq=False, repr=False)
class Problem(BaseProblem):
    """Reward f and costs g_i over the arms, and the constants that the theory needs.

    With one constraint `cost` is (n,), like `reward`; with m constraints it is (n, m).
    """

    arms: HostOnly[Floats]  # (n, d)
    kernel: HostOnly[Kernel]
    reward: HostOnly[Floats]  # f
    cost: HostOnly[Floats]  # g
    noise: HostOnly[float]  # R, as passed to policies
    reward_bound: HostOnly[float]  # B
    cost_bound: HostOnly[float | Sequence[float]]  # G: one number, or one per constraint
    slater: HostOnly[float]  # delta, capped at 1
    name: HostOnly[str] = "problem"
    contexts: Traced[Ints | None] = None  # (n,): the context of each arm. Each round offers one, drawn uniformly
    law: Traced[Noise] = field(default_factory=GaussianNoise)  # of the noise
    source: HostOnly[str] = "synthetic"  # of the functions
    data_hash: HostOnly[str] = ""  # sha256 of the data they come from, if any
    cost_noise: HostOnly[float | Sequence[float] | None] = None  # R of the costs, if it is not the reward's
    _values: Traced[Floats] = field(default_factory=lambda: np.empty((0, 0)), repr=False)  # (n, 1 + m): f, then g
    _scales: Traced[Floats] = field(default_factory=lambda: np.empty(0), repr=False)  # (1 + m,): `noises`

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("arms", validation.points("arms", self.arms))
        f, g = functions(self.reward, self.cost)
        self._check_one_per_arm("reward", f)
        put("_values", np.column_stack([f, g]))
        put("reward", self._values[:, 0])
        put("cost", drop_single(self._values[:, 1:]))
        self._check_constants(self.constraints)
        put("_scales", self.noises)
        self._check_law()
        if self.contexts is not None:
            put("contexts", validation.labels("contexts", self.contexts, len(self.arms)))
        validation.text("data_hash", self.data_hash)

    @property
    def costs(self) -> Floats:
        """g as (n, m), for any m."""
        return self._values[:, 1:]

    @property
    def constraints(self) -> int:
        return int(self.costs.shape[1])

    def draws(self) -> DrawCount:
        """Return the count of random numbers per round: those of the noise, then one for the context, if any."""
        normal, uniform = self.law.draws(1 + self.constraints)
        return DrawCount(normal, uniform if self.contexts is None else uniform + 1)

    def available(self, draws: Draws) -> ArmMask | None:
        """Return the arms that a round offers, (trials, n); None for all."""
        if self.contexts is None:
            return None
        xp = namespace(draws.uniform)
        context = xp.floor(draws.uniform[:, -1:] * (self.contexts.max() + 1))  # (trials, 1)
        return cast(ArmMask, self.contexts == context)

    def observe(self, arm: ArmIndex, draws: Draws) -> tuple[PerTrial, PerCost]:
        """Return the noisy reward (trials,) and costs (trials, m) at the arms (trials,)."""
        noise_draws = draws if self.contexts is None else Draws(draws.normal, draws.uniform[:, :-1])
        y = self._values[arm] + self.law.sample(self._scales, arm, noise_draws)
        return y[:, 0], y[:, 1:]

    def _check_one_per_arm(self, what: str, values: Floats) -> None:
        n = len(self.arms)
        if len(values) != n:
            raise ArgumentError.of(what, f"{n} values, one per arm", Description(f"{len(values)}"), "Check the shapes.")

    def _check_law(self) -> None:
        if not isinstance(self.law, Noise):
            raise ArgumentError.of("law", "a Noise", self.law, "For example sb.problems.UniformNoise().")
        expected = (len(self.arms), 1 + self.constraints)
        if isinstance(self.law, ResampledNoise) and self.law.residuals.shape[1:] != expected:
            got = Description(f"rows of {self.law.residuals.shape[1:]}")
            raise ArgumentError.of("law", f"rows of arms x outputs, {expected}", got, "Check the table.")
