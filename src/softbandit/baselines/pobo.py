"""POBO: pessimistic-optimistic Bayesian optimisation, with a dual for soft and a penalty for hard constraints."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from softbandit import validation
from softbandit.backend import Bools, HostOnly, OutputsPerArm, PerArm, PerCost, Traced, namespace, weighted_sum
from softbandit.policies import About, AcquisitionPolicy, Choice, State, slater_margin


@dataclass(frozen=True, eq=False)
class POBO(AcquisitionPolicy):
    """Optimistic bounds u_f, l_i; Q_i(1) = 0 for a soft constraint, P_i(1) = 1 for a hard one:

    x_t      = argmax u_f(x) - sum_soft Q_i(t) l_i(x) / V_t - sum_hard P_i(t) [l_i(x)]_+
    Q_i(t+1) = [Q_i(t) + l_i(x_t) + epsilon_t]_+
    P_i(t+1) = max(P_i(t) + [c_i]_+, eta_t)

    V_t       = V_scale (delta / 8) sqrt(t) / beta_t
    epsilon_t = slack_scale (6 beta_t sqrt(gain) + 2) / sqrt(t)
    eta_t     = growth t

    beta_t is the reward's width, c_i the noisy cost. The dual is Q_i of a soft constraint, P_i of a hard one.

    Guo, Cao, He, Liu & Shi 2023, *POBO: Safe and optimal resource management for cloud
    microservices*. After the authors' program, which has one soft and one hard constraint, ln t
    for the information gain, and 0.05 for both delta and alpha.

    Parameters
    ----------
    hard
        The constraints, counted from 0, that should hold in every round; by default all are soft.
    V_scale, slack_scale, growth
        The factors in V_t, epsilon_t and eta_t.
    """

    hard: HostOnly[int | Sequence[int]] = ()
    V_scale: Traced[float] = 1.0
    slack_scale: Traced[float] = 1e-4
    growth: Traced[float] = 0.05
    is_hard: Traced[Bools] = field(init=False, repr=False)  # (m,)
    V_factor: Traced[float] = field(init=False, repr=False)  # V_t beta_t / sqrt(t)

    about = About(
        "a virtual queue for each soft constraint, a growing penalty on certain violation of each hard one",
        "Guo, Cao, He, Liu & Shi 2023",
        "horizon; Slater margin; which constraints are hard",
        "regret and violation sublinear (as published)",
    )

    def _complete(self) -> None:
        self._set(is_hard=validation.marked("hard", self.hard, self.constraints))
        self._set(V_scale=validation.positive("V_scale", self.V_scale))
        self._set(slack_scale=validation.nonnegative("slack_scale", self.slack_scale))
        self._set(growth=validation.nonnegative("growth", self.growth))
        delta = 1.0 if self.is_hard.all() else slater_margin(self.slater)  # only soft constraints use it
        self._set(V_factor=self.V_scale * delta / 8)

    def init(self, trials: int) -> State:
        return super().init(trials)._replace(dual=np.tile(self.is_hard.astype(float), (trials, 1)))  # Q(1), P(1)

    def acquisition(self, state: State, u_f: PerArm, l_g: OutputsPerArm) -> PerArm:
        xp, t = namespace(state.dual), state.round + 1
        inverse_V = self.model.reward_width(state.posterior, t) / (self.V_factor * xp.sqrt(t))
        price = xp.where(self.is_hard, state.dual, state.dual * inverse_V)
        return u_f - weighted_sum(price, xp.where(self.is_hard[:, None], xp.maximum(l_g, 0.0), l_g))

    def next_dual(self, state: State, choice: Choice, cost: PerCost) -> PerCost:
        xp, t = namespace(state.dual), state.round + 1
        beta, gain = self.model.reward_width(state.posterior, t), state.posterior[0].gain[:, None]
        epsilon = self.slack_scale * (6 * beta * xp.sqrt(gain) + 2) / xp.sqrt(t)
        Q = xp.maximum(state.dual + choice.cost_estimate + epsilon, 0.0)  # Q(t+1)
        P = xp.maximum(state.dual + xp.maximum(cost, 0.0), self.growth * t)  # P(t+1)
        return xp.where(self.is_hard, P, Q)
