"""What policies that ignore the costs share."""

from dataclasses import dataclass

import numpy as np

from softbandit.arrays import Array
from softbandit.policy import Choice, State, StepPolicy


@dataclass(frozen=True, eq=False)
class Unconstrained(StepPolicy):
    """No dual, and the reward's model only."""

    def init(self, trials: int) -> State:
        return State(0, np.zeros((trials, 0)), self.surrogate.prior(trials))

    def update(self, state: State, choice: Choice, reward: Array, cost: Array) -> State:
        return State(state.round + 1, state.dual, self._learn(state, choice, reward, cost))
