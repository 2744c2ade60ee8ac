"""One round of a policy on a problem, in every trial: what all engines repeat."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from softbandit.backend.random import POLICY, PROBLEM, Draws, draw
from softbandit.backend.shapes import Array, Words
from softbandit.backend.recorded import Loop, NotRecorded, Recorded
from softbandit.backend.traced_fields import assemble, dissect, is_ours
from softbandit.policies.base import Stage, State, StepPolicy
from softbandit.problems.problem import Problem
from softbandit.problems.space_problem import SpaceProblem

COLUMNS = ("rewards", "costs", "dual", "reward_estimates", "cost_estimates")
"""What can be kept of a round besides the arms."""

RECORDING = 200  # rounds at least: to record one takes as long as a hundred of them save
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
    """One round after another: recorded and repeated, or each as it is written."""

    def __init__(self, step: StepPolicy, problem: Problem | SpaceProblem, rounds: int, options: Options) -> None:
        self._step, self._problem, self._options = step, problem, options
        self._records = rounds >= RECORDING and not step.continuous and is_ours((step, problem))
        self._loops: dict[int, Loop | None] = {}  # by the number of trials
        # Made, never touched, and let go: glibc learns from its size to keep what later arrays let go. If it gave that
        # back to the system, each round would wait for pages, and take up to three times as long.
        np.empty(LESSON)

    def start(self, stage: Stage, trials: int, before: State | None) -> State:
        return stage.start(trials, before)

    def play(self, state: State, trials: Trials, first: int, count: int) -> tuple[State, Columns]:
        seed = self._options.seed
        draws = draw(self._step.draws(), seed, trials, first, count, POLICY)
        noise = draw(self._problem.draws(), seed, trials, first, count, PROBLEM)
        loop = self._loop(state, (draws, noise)) if self._records else None
        state, seen = loop.run(state, (draws, noise), count) if loop else self._as_written(state, draws, noise)
        return state, {name: column.swapaxes(0, 1) for name, column in seen.items()}

    def _loop(self, state: State, given: tuple[Draws, Draws]) -> Loop | None:
        """A round of so many trials, recorded; None if that cannot be done."""
        trials = len(state.dual)
        if trials not in self._loops:
            numbers, form = dissect((self._step, self._problem))
            step, problem = assemble(form, [Recorded(number) for number in numbers])
            keep = self._options.keep

            def play(state: State, given: tuple[Draws, Draws]) -> tuple[State, Columns]:
                after, round = play_round(step, problem, state, *given)
                return after, round.only(keep)

            try:
                self._loops[trials] = Loop(play, state, tuple(next(draws.rounds()) for draws in given))
            except NotRecorded:
                self._loops[trials] = None
        return self._loops[trials]

    def _as_written(self, state: State, draws: Draws, noise: Draws) -> tuple[State, Columns]:
        seen = []
        for own in zip(draws.rounds(), noise.rounds(), strict=True):
            state, round = play_round(self._step, self._problem, state, *own)
            seen.append(round.only(self._options.keep))
        return state, {name: _stacked([each[name] for each in seen]) for name in seen[0]}

    def fetch(self, seen: Columns) -> Columns:
        return seen


def _stacked(rows: Sequence[Array]) -> Array:
    """np.stack(rows), in a third of its time where there are many."""
    return np.concatenate(rows).reshape(len(rows), *rows[0].shape)
