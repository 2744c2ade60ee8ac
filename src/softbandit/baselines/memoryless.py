"""What policies share that model the costs but keep no dual."""

from dataclasses import dataclass

import numpy as np

from softbandit.backend.namespace import namespace, restrict
from softbandit.backend.random import Draws
from softbandit.backend.shapes import Array
from softbandit.policies.base import Choice, State, StepPolicy


@dataclass(frozen=True, eq=False)
class Memoryless(StepPolicy):
    """The posterior is all that it keeps; its dual is 0."""

    def init(self, trials: int) -> State:
        return State(0, np.zeros((trials, self.constraints)), self.surrogate.prior(trials))

    def _feasible_or_least(self, f: Array, g: Array, among: Array | None, draws: Draws) -> Array:
        """argmax f(x) over the arms with every g_i(x) <= 0, or argmin sum_i [g_i(x)]_+ where there is none."""
        xp = namespace(f)
        feasible = xp.all(g <= 0, axis=1)
        feasible = feasible if among is None else feasible & among
        least = restrict(-xp.sum(xp.maximum(g, 0.0), axis=1), among)
        z = xp.where(xp.any(feasible, axis=1)[:, None], restrict(f, feasible), least)
        return self._best(z, draws)

    def update(self, state: State, choice: Choice, reward: Array, cost: Array) -> State:
        return State(state.round + 1, state.dual, self._learn(state, choice, reward, cost))
