"""The rounds of a run, whatever policy played them, and the model through which they are replayed.

The model has tight widths, at the lambda that suits them, and learns from all rounds. So nothing that follows from it
depends on the policy's widths, on its lambda, or on whether it forgets.
"""

from dataclasses import fields
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softbandit.backend import Floats
from softbandit.domains import Domain
from softbandit.errors import ArgumentError, Description
from softbandit.model import ModelSettings, build_model
from softbandit.policies import Policy, StepPolicy
from softbandit.policies.base import WrappedPolicy


class Rounds(Protocol):
    """The rounds played and observed: a simulation's trace, or an agent's record."""

    @property
    def arms(self) -> NDArray[Any]: ...
    @property
    def rewards(self) -> Any: ...
    @property
    def costs(self) -> Any: ...


class Run(NamedTuple):
    """The rounds of some trials."""

    arms: NDArray[Any]  # (b, T), or on a continuous domain points (b, T, d)
    observed: Floats  # (b, T, 1 + m): the reward, then each cost

    @classmethod
    def of(cls, policy: Policy, rounds: Rounds) -> "Run":
        """Return the rounds with an axis of trials, which a record lacks, and with the costs that the policy uses."""
        if not all(hasattr(rounds, name) for name in ("arms", "rewards", "costs")):
            raise ArgumentError.of("trace", "a trace, or an agent's record", rounds, "Pass what simulate returned.")
        if rounds.rewards is None or (policy.constraints and rounds.costs is None):
            got = Description("one without them")
            raise ArgumentError.of("trace", "one with rewards and costs", got, "Run simulate with its default keep.")
        single = np.ndim(rounds.arms) == 1 + policy.continuous
        arms = rounds.arms[None] if single else rounds.arms
        shape = arms.shape[:2]
        costs = np.reshape(rounds.costs, (*shape, -1))[..., : policy.constraints] if policy.constraints else None
        reward = np.reshape(rounds.rewards, (*shape, 1))
        return cls(arms, reward if costs is None else np.concatenate([reward, costs], axis=2))


def observed_points(policy: Policy, arms: NDArray[Any]) -> Floats:
    """Return the points (T, d) of one trial's arms."""
    return np.asarray(arms if isinstance(policy.arms, Domain) else policy.arms[arms])


def step_of(policy: Policy) -> StepPolicy | None:
    """Return the policy that has norm bounds and noise: itself, or the one that it wraps; None if there is none."""
    step = policy.policy if isinstance(policy, WrappedPolicy) else policy
    return step if isinstance(step, StepPolicy) else None


def replay_model(step: StepPolicy, alpha: float) -> Any:
    """Return a model with the policy's kernels, norm bounds and noise, and widths that fail with probability alpha."""
    settings = {f.name: getattr(step, f.name) for f in fields(ModelSettings)}
    factors = None if step.continuous else step.model.factors
    changes = {"width": "tight", "width_scale": 1.0, "regularisation": None, "confidence": alpha, "factors": factors}
    return build_model(ModelSettings(**settings | changes))
