"""One round of a policy on a problem, in every trial: what all engines repeat."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from softbandit.backend import ArmIndex, Bools, Draws, Floats, PerCost, PerTrial, Words
from softbandit.policies import Stage, State, Steps
from softbandit.problems import Problem, SpaceProblem

COLUMNS = ("rewards", "costs", "dual", "reward_estimates", "cost_estimates")
"""The columns that can be kept besides the arms."""

AnyProblem = Problem | SpaceProblem
Columns = dict[str, Floats]  # kept columns of some rounds, by name: (trials, rounds, ...)


class Round(NamedTuple):
    """The events of one round, (trials, ...) each."""

    arms: ArmIndex
    rewards: PerTrial
    costs: PerCost
    dual: PerCost  # before the update
    reward_estimates: PerTrial
    cost_estimates: PerCost
    refuted: Bools | None  # trials in which observations refute the policy's settings

    def columns(self, keep: Sequence[str]) -> Columns:
        """Return the arms, the columns to keep, and which trials were refuted."""
        always = ("arms",) if self.refuted is None else ("arms", "refuted")
        return {name: getattr(self, name) for name in (*always, *keep)}


def play_round(step: Steps, problem: AnyProblem, state: State, draws: Draws, noise: Draws) -> tuple[State, Round]:
    """Play one round in every trial: decide, observe, update."""
    choice = step.decide(state, draws, problem.available(noise))
    reward, cost = problem.observe(choice.arm, noise)
    after = step.update(state, choice, reward, cost[:, : step.constraints])
    return after, Round(choice.arm, reward, cost, state.dual, *choice[1:], step.refuted(after))


class Chunk(NamedTuple):
    """Consecutive rounds, for a program that has room for as many or more."""

    first: int
    rounds: int
    room: int


class Played(NamedTuple):
    """The events of some rounds of some trials."""

    rounds: slice
    blocks: list[Columns]  # of each block of trials; the last may be padded
    trials: slice


@dataclass(frozen=True)
class Options:
    """Options of a run that do not change its decisions, and its seed."""

    seed: int
    keep: tuple[str, ...] = COLUMNS
    draws: str = "host"  # or "device"
    precision: str = "float64"  # or "float32"


class Engine(Protocol):
    """Plays rounds of one policy on one problem."""

    def start(self, stage: Stage, trials: int, before: State | None) -> State:
        """Return the state at the stage's first round, after the previous stage."""

    def play(self, state: State, trials: Words, chunk: Chunk) -> tuple[State, Any]:
        """Play a chunk of rounds of the trials: return the state afterwards, and a result."""

    def fetch(self, result: Any) -> Columns:
        """Return what was kept of the rounds, as NumPy arrays, once it is computed."""
