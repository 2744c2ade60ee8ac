"""POBO: pessimistic and optimistic Bayesian optimisation, a soft dual and a hard penalty at once."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softbandit import validation
from softbandit.backend.namespace import namespace, restrict, weighted_sum
from softbandit.backend.random import Draws
from softbandit.backend.shapes import Array
from softbandit.policies.base import About, Choice, State, StepPolicy


@dataclass(frozen=True, eq=False)
class POBO(StepPolicy):
    """With u_f, l_i the optimistic bounds, Q_i(1) = 0, P_i(1) = 1, V_t = sqrt(t) / beta_t:

    x_t      = argmax u_f(x) - sum_i Q_i(t) l_i(x) / V_t - sum_i P_i(t) [l_i(x)]_+
    Q_i(t+1) = [Q_i(t) + l_i(x_t) + epsilon]_+
    P_i(t+1) = max(P_i(t) + [c_i]_+, sqrt(t))

    Guo, Cao, He, Liu & Shi 2023, *POBO: Safe and optimal resource management for cloud
    microservices*. Written from a summary of it: how P moves, and the starts, are taken from
    RPOL and could not be checked.

    Parameters
    ----------
    slack
        epsilon.
    """

    slack: float = 0.0

    about: ClassVar[About] = About(
        "a virtual queue for the average cost, and a growing penalty on certain violation",
        "Guo, Cao, He, Liu & Shi 2023",
        "horizon",
        "regret and violation sublinear (as published)",
    )

    def __post_init__(self) -> None:
        put = self._settle()
        put("slack", validation.nonnegative("slack", self.slack))

    def init(self, trials: int) -> State:
        m = self.constraints
        return State(0, np.zeros((trials, m)), self.surrogate.prior(trials), (np.ones((trials, m)),))

    def decide(self, state: State, draws: Draws, among: Array | None = None) -> Choice:
        xp = namespace(state.dual)
        t, (P,) = state.round + 1, state.memory
        h = self.surrogate.estimate(state.posterior, t, draws)
        u_f, l_g = h[:, 0], h[:, 1:]
        price = state.dual * self.surrogate.reward_width(state.posterior, t) / xp.sqrt(t)  # Q / V_t
        z = u_f - weighted(price, l_g) - weighted(P, xp.maximum(l_g, 0.0))
        return self._choice(self._best(restrict(z, among), draws), u_f, l_g)  # x_t

    def update(self, state: State, choice: Choice, reward: Array, cost: Array) -> State:
        xp = namespace(state.dual)
        (P,), eta = state.memory, xp.sqrt(state.round + 1)
        Q = xp.maximum(state.dual + choice.cost_estimate + self.slack, 0.0)  # Q(t+1)
        P = xp.maximum(P + xp.maximum(cost, 0.0), eta)  # P(t+1)
        return State(state.round + 1, Q, self._learn(state, choice, reward, cost), (P,))
