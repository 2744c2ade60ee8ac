"""One round of a policy on a problem, in every trial: what all engines repeat."""

from typing import NamedTuple

from softbandit.arrays import Array, Draws
from softbandit.policy import Choice, State, StepPolicy
from softbandit.problems.problem import Problem
from softbandit.problems.space import SpaceProblem


class Rounds(NamedTuple):
    """What happened in a round, (trials, ...) each, or in several, (rounds, trials, ...)."""

    choice: Choice
    dual: Array
    reward: Array
    cost: Array
    refuted: Array | None  # trials in which what was seen refutes what the policy was told


def play_round(
    step: StepPolicy, problem: Problem | SpaceProblem, state: State, draws: Draws, noise: Draws
) -> tuple[State, Rounds]:
    """One round in every trial: decide, observe, update."""
    choice = step.decide(state, draws, problem.available(noise))
    reward, cost = problem.observe(choice.arm, noise)
    after = step.update(state, choice, reward, cost[:, : step.constraints])
    return after, Rounds(choice, state.dual, reward, cost, step.refuted(after))
