"""PDCBO: primal-dual contextual Bayesian optimisation."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softbandit import validation
from softbandit.backend.namespace import namespace, restrict, weighted_sum
from softbandit.backend.random import Draws
from softbandit.backend.shapes import Array
from softbandit.policies.base import About, Choice, State, StepPolicy


@dataclass(frozen=True, eq=False)
class PDCBO(StepPolicy):
    """With u_f, l_i the optimistic bounds, lambda_i(1) = 0, and z_t the context of the round:

    x_t          = argmax u_f(x, z_t) - eta sum_i lambda_i(t) l_i(x, z_t)
    lambda_i(t+1) = [lambda_i(t) + l_i(x_t, z_t) + epsilon]_+

    Arms are pairs (x, z): pass those of the round's context to `agent.ask(among=...)`, or
    give `simulate` a problem with contexts. Without contexts all arms are available.

    Xu, Jiang, Svetozarevic & Jones 2023, *Primal-Dual Contextual Bayesian Optimization for
    Control System Online Optimization with Time-Average Constraints*. Written from a summary
    of it: the default step eta = 1 / sqrt(T) could not be checked against the paper.

    Parameters
    ----------
    step
        eta; 1 / sqrt(T) by default.
    slack
        epsilon.
    """

    step: float | None = None
    slack: float = 0.0

    about: ClassVar[About] = About(
        "optimistic Lagrangian, with a dual that sums up optimistic costs; takes contexts",
        "Xu et al. 2023",
        "horizon (for the step)",
        "regret and time-average violation sublinear (as published)",
    )

    def __post_init__(self) -> None:
        put = self._settle()
        put("step", self.horizon**-0.5 if self.step is None else validation.positive("step", self.step))
        put("slack", validation.nonnegative("slack", self.slack))

    def init(self, trials: int) -> State:
        return State(0, np.zeros((trials, self.constraints)), self.surrogate.prior(trials))

    def decide(self, state: State, draws: Draws, among: Array | None = None) -> Choice:
        h = self.surrogate.estimate(state.posterior, state.round + 1, draws)
        u_f, l_g = h[:, 0], h[:, 1:]
        z = u_f - weighted(self.step * state.dual, l_g)
        return self._choice(self._best(restrict(z, among), draws), u_f, l_g)  # x_t

    def update(self, state: State, choice: Choice, reward: Array, cost: Array) -> State:
        dual = namespace(state.dual).maximum(state.dual + choice.cost_estimate + self.slack, 0.0)  # lambda(t+1)
        return State(state.round + 1, dual, self._learn(state, choice, reward, cost))
