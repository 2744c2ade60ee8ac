"""What policies share that model the costs but keep no dual."""

from dataclasses import dataclass

import numpy as np

from softbandit.arrays import Array
from softbandit.policy import Choice, State, StepPolicy


@dataclass(frozen=True, eq=False)
class Memoryless(StepPolicy):
    """The posterior is all that it keeps; its dual is 0."""

    def init(self, trials: int) -> State:
        return State(0, np.zeros((trials, self.constraints)), self.surrogate.prior(trials))

    def update(self, state: State, choice: Choice, reward: Array, cost: Array) -> State:
        return State(state.round + 1, state.dual, self._learn(state, choice, reward, cost))
