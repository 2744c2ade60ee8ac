"""POBO: pessimistic-optimistic Bayesian optimisation, with a soft dual and a hard penalty."""

from dataclasses import dataclass

import numpy as np

from softbandit import validation
from softbandit.backend import OutputsPerArm, PerArm, PerCost, PerTrial, Traced, namespace, weighted_sum
from softbandit.policies import About, AcquisitionPolicy, Choice, State


@dataclass(frozen=True, eq=False)
class POBO(AcquisitionPolicy):
    """Optimistic bounds u_f, l_i; Q_i(1) = 0, P_i(1) = 1, V_t = sqrt(t) / beta_t:

    x_t      = argmax u_f(x) - sum_i Q_i(t) l_i(x) / V_t - sum_i P_i(t) [l_i(x)]_+
    Q_i(t+1) = [Q_i(t) + l_i(x_t) + epsilon]_+
    P_i(t+1) = max(P_i(t) + [c_i]_+, sqrt(t))

    Guo, Cao, He, Liu & Shi 2023, *POBO: Safe and optimal resource management for cloud
    microservices*. Written from a summary of it: the step of P and the initial values are
    RPOL's and could not be checked.

    Parameters
    ----------
    slack
        epsilon.
    """

    slack: Traced[float] = 0.0

    about = About(
        "a virtual queue for the average cost, and a growing penalty on certain violation",
        "Guo, Cao, He, Liu & Shi 2023",
        "horizon",
        "regret and violation sublinear (as published)",
    )

    def _complete(self) -> None:
        self._set(slack=validation.nonnegative("slack", self.slack))

    def init(self, trials: int) -> State:
        return super().init(trials)._replace(memory=(np.ones((trials, self.constraints)),))

    def acquisition(self, state: State, u_f: PerArm, l_g: OutputsPerArm) -> PerArm:
        xp = namespace(state.dual)
        t, (P,) = state.round + 1, state.memory
        price = state.dual * self.model.reward_width(state.posterior, t) / xp.sqrt(t)  # Q / V_t
        return u_f - weighted_sum(price, l_g) - weighted_sum(P, xp.maximum(l_g, 0.0))

    def update(self, state: State, choice: Choice, reward: PerTrial, cost: PerCost) -> State:
        xp = namespace(state.dual)
        (P,), eta = state.memory, xp.sqrt(state.round + 1)
        Q = xp.maximum(state.dual + choice.cost_estimate + self.slack, 0.0)  # Q(t+1)
        P = xp.maximum(P + xp.maximum(cost, 0.0), eta)  # P(t+1)
        return State(state.round + 1, Q, self._learn(state, choice, reward, cost), (P,))
