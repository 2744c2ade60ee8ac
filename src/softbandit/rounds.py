"""One round of a policy on a problem, in every trial: what all engines repeat."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from softbandit.arrays import POLICY, PROBLEM, Array, Draws, Trials, draw
from softbandit.policy import Stage, State, StepPolicy
from softbandit.problems.problem import Problem
from softbandit.problems.space import SpaceProblem

COLUMNS = ("rewards", "costs", "dual", "reward_estimates", "cost_estimates")
"""What can be kept of a round besides the arms."""

LESSON = 2**22 - 2**10  # numbers: just below 32 MB, the largest size that glibc learns from

Columns = dict[str, Array]
"""What was kept of some rounds, by name: (trials, rounds, ...)."""


class Round(NamedTuple):
    """What happened in a round, (trials, ...) each."""

    arms: Array
    rewards: Array
    costs: Array
    dual: Array  # before the update
    reward_estimates: Array
    cost_estimates: Array
    refuted: Array | None  # trials in which what was seen refutes what the policy was told

    def only(self, keep: Sequence[str]) -> Columns:
        """The arms, the columns to be kept, and who was refuted."""
        always = ("arms",) if self.refuted is None else ("arms", "refuted")
        return {name: getattr(self, name) for name in (*always, *keep)}


def play_round(
    step: StepPolicy, problem: Problem | SpaceProblem, state: State, draws: Draws, noise: Draws
) -> tuple[State, Round]:
    """One round in every trial: decide, observe, update."""
    choice = step.decide(state, draws, problem.available(noise))
    reward, cost = problem.observe(choice.arm, noise)
    after = step.update(state, choice, reward, cost[:, : step.constraints])
    return after, Round(choice.arm, reward, cost, state.dual, *choice[1:], step.refuted(after))


@dataclass(frozen=True)
class Options:
    """How to run, besides what."""

    seed: int
    keep: tuple[str, ...] = COLUMNS
    draws: str = "host"  # or "device"
    precision: str = "float64"  # or "float32"


class Engine(Protocol):
    """Plays rounds of one policy on one problem."""

    def start(self, stage: Stage, trials: int, before: State | None) -> State:
        """The state at the stage's first round, after the stage before."""

    def play(self, state: State, trials: Trials, first: int, count: int) -> tuple[State, Any]:
        """Play rounds first, ..., first + count - 1 of the trials: the state afterwards, and what was seen."""

    def fetch(self, seen: Any) -> Columns:
        """What was seen, in NumPy's arrays, as soon as it is there."""


class NumpyEngine:
    """One round after another, each as it is written."""

    def __init__(self, step: StepPolicy, problem: Problem | SpaceProblem, options: Options) -> None:
        self._step, self._problem, self._options = step, problem, options
        # Made, never touched, and let go: glibc learns from its size to keep what later arrays let go. If it gave that
        # back to the system, each round would wait for pages, and take up to three times as long.
        np.empty(LESSON)

    def start(self, stage: Stage, trials: int, before: State | None) -> State:
        return stage.start(trials, before)

    def play(self, state: State, trials: Trials, first: int, count: int) -> tuple[State, Columns]:
        step, problem, options = self._step, self._problem, self._options
        draws = draw(step.draws(), options.seed, trials, first, count, POLICY)
        noise = draw(problem.draws(), options.seed, trials, first, count, PROBLEM)
        seen = []
        for own in zip(draws.rounds(), noise.rounds(), strict=True):
            state, round = play_round(step, problem, state, *own)
            seen.append(round.only(options.keep))
        return state, {name: _trials_first([each[name] for each in seen]) for name in seen[0]}

    def fetch(self, seen: Columns) -> Columns:
        return seen


def _trials_first(columns: Sequence[Array]) -> Array:
    """np.stack(columns, axis=1), in a third of its time where there are many."""
    return np.concatenate(columns).reshape(len(columns), *columns[0].shape).swapaxes(0, 1)
