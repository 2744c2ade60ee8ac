"""What policies that ignore the costs share."""

from dataclasses import dataclass

import numpy as np

from softbandit.backend.namespace import restrict
from softbandit.backend.random import Draws
from softbandit.backend.shapes import Array
from softbandit.policies.base import Choice, State, StepPolicy


@dataclass(frozen=True, eq=False)
class Unconstrained(StepPolicy):
    """x_t = argmax f_t(x), with the reward's model only: costs are neither modelled nor heeded."""

    def init(self, trials: int) -> State:
        return State(0, np.zeros((trials, 0)), self.surrogate.prior(trials))

    def decide(self, state: State, draws: Draws, among: Array | None = None) -> Choice:
        h = self.surrogate.estimate(state.posterior, state.round + 1, draws)
        return self._choice(self._best(restrict(h[:, 0], among), draws), h[:, 0], h[:, 1:])  # x_t

    def update(self, state: State, choice: Choice, reward: Array, cost: Array) -> State:
        return State(state.round + 1, state.dual, self._learn(state, choice, reward, cost))
