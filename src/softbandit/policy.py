"""What every policy offers, to an agent that lives and to a simulation alike.

A policy is a frozen value; what it has learned is a separate state that goes in and comes
out. States hold arrays with a leading axis of independent trials.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from softbandit import checks
from softbandit.arrays import Array, DrawCount, Draws
from softbandit.checks import Floats
from softbandit.posterior.finite import Finite
from softbandit.surrogate import Surrogate


class Choice(NamedTuple):
    """One round's choice in each trial."""

    arm: Array  # (b,)
    reward_estimate: Array  # (b,): the truncated f_t at the arm
    cost_estimate: Array  # (b, m): the truncated g_t at the arm


class State(NamedTuple):
    """What a policy has learned."""

    round: int  # rounds behind it; the paper's t is round + 1
    dual: Array  # (b, m)
    posterior: tuple[Finite, ...]


class Stage(NamedTuple):
    """The policy in force in rounds first <= round < last, started afresh at first."""

    policy: "StepPolicy"
    first: int
    last: float


class Policy(ABC):
    """Anything that an Agent or simulate() can run."""

    arms: Floats  # (n, d)
    constraints: int
    horizon: int | None

    @abstractmethod
    def stage(self, round: int) -> Stage:
        """The policy in force in that round (counted from 0)."""


class StepPolicy(Policy):
    """A policy given by its steps: pure functions of state and draws.

    Subclasses are frozen dataclasses. Their fields hold the settings in force; `given`
    holds them as the user gave them, so that a policy can be made again with others.
    """

    surrogate: Surrogate
    given: dict[str, Any]

    def stage(self, round: int) -> Stage:
        return Stage(self, 0, float("inf"))

    def replace(self, **changes: Any) -> Self:
        """The same policy with other settings, and defaults worked out anew (dataclasses.replace would keep them)."""
        same_kernels = not {"arms", "kernel", "cost_kernel", "constraints", "factors"} & set(changes)
        factors = {"factors": self.surrogate.factors} if same_kernels else {"factors": None}
        return type(self)(**{**self.given, **factors, **changes})

    def _remember_given(self) -> Callable[[str, Any], None]:
        """Keep copies of the settings as they came; gives the way to put in their place those in force."""
        put = partial(object.__setattr__, self)
        put("arms", checks.points("arms", self.arms))
        names = inspect.signature(type(self)).parameters
        put("given", {name: _own(getattr(self, name)) for name in names})
        return put

    @abstractmethod
    def draws(self) -> DrawCount:
        """Random numbers needed a round and trial."""

    @abstractmethod
    def init(self, trials: int) -> State:
        """The state before the first round."""

    @abstractmethod
    def decide(self, state: State, draws: Draws) -> Choice:
        """The round's choice. Changes nothing."""

    @abstractmethod
    def update(self, state: State, choice: Choice, reward: Array, cost: Array) -> State:
        """The state after seeing reward (b,) and cost (b, m) at the chosen arm."""


def _own(value: Any) -> Any:
    """A value that nobody else can change, where it is an array or a list of them."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.copy()
        value.flags.writeable = False
    return tuple(map(_own, value)) if isinstance(value, list) else value
