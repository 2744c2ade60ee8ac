"""RPOL: rectified pessimistic-optimistic learning."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softbandit.backend.namespace import namespace, restrict, weighted_sum
from softbandit.backend.random import Draws
from softbandit.backend.shapes import Array
from softbandit.policies.base import About, Choice, State, StepPolicy


@dataclass(frozen=True, eq=False)
class RPOL(StepPolicy):
    """With u_f the upper bound of the reward, l_i the lower bound of cost i, Q_i(1) = 1:

    x_t      = argmax u_f(x) - sum_i Q_i(t) [l_i(x)]_+
    Q_i(t+1) = max(Q_i(t) + [c_i]_+, eta_t),    eta_t = sqrt(t)

    Guo, Zhu & Liu 2023, *Rectified Pessimistic-Optimistic Learning for Stochastic
    Continuum-armed Bandit with Constraints*. Written from a summary of it: the start of the
    queue, and that the noisy cost c enters it and not an estimate, could not be checked.
    """

    about: ClassVar[About] = About(
        "upper bound of the reward less a growing penalty on certain violation",
        "Guo, Zhu & Liu 2023",
        "horizon",
        "sum of [g]_+ sublinear (as published)",
    )

    def __post_init__(self) -> None:
        self._settle()

    def init(self, trials: int) -> State:
        return State(0, np.ones((trials, self.constraints)), self.surrogate.prior(trials))

    def decide(self, state: State, draws: Draws, among: Array | None = None) -> Choice:
        xp = namespace(state.dual)
        h = self.surrogate.estimate(state.posterior, state.round + 1, draws)
        u_f, l_g = h[:, 0], h[:, 1:]
        z = u_f - weighted(state.dual, xp.maximum(l_g, 0.0))
        return self._choice(self._best(restrict(z, among), draws), u_f, l_g)  # x_t

    def update(self, state: State, choice: Choice, reward: Array, cost: Array) -> State:
        xp = namespace(state.dual)
        eta = xp.sqrt(state.round + 1)
        Q = xp.maximum(state.dual + xp.maximum(cost, 0.0), eta)  # Q(t+1)
        return State(state.round + 1, Q, self._learn(state, choice, reward, cost))
