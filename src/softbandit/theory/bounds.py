"""Theorems 1 and 2 of the paper as numbers: bounds on R_+(T) and V(T) with every constant.

docs/theory.md derives them step by step. Let m constraints have one phi_i, V_i and G_i each,
epsilon be the slack, c = c1 + c2 the largest deviation of the estimates in units of sigma,
and S = sum_t sigma_{t-1}(x_t). Both theorems bound a sum T1 + T2 <= chi(phi), and then

    R_+(T) <= chi(0) + sum_i T (G_i + eps)^2 / 2 V_i + 2 B T eps / delta
    V_i(T) <= [(chi(rho) + sum_i (V_i rho^2 / 2 + T (G_i + eps)^2 / 2 V_i)) / (rho - phi*) - T eps]_+
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.errors import ArgumentError
from softbandit.model import checked_confidence
from softbandit.policies import checked_slack, slater_margin
from softbandit.theory.certificates import SATISFIED, Condition


@dataclass(frozen=True, eq=False)
class Setting:
    """The quantities in the theorems. Arrays over outputs have the reward first, then each cost."""

    horizon: int  # T
    bound: Floats  # (1 + m,): B, G_1, ..., G_m
    noise: Floats  # (1 + m,)
    gain: Floats  # (1 + m,): upper bounds on gamma_T of each output
    regularisation: Floats  # (1 + m,): lambda
    confidence: float  # alpha
    width_scale: float  # at least 1: the factor on beta_t
    slater: float  # delta
    slack: float  # epsilon
    rho: float
    V: Floats  # (m,)
    dual_bound: float  # >= max_i phi*_i of the tightened problem, such as 2 B / (delta - epsilon)

    def __post_init__(self) -> None:
        checked_confidence(self.confidence)
        if self.slack:
            checked_slack(self.slack, self.slater)
        if not self.width_scale >= 1:
            remedy = "A width below the theory's has no bound."
            raise ArgumentError.of("width_scale", "at least 1", self.width_scale, remedy)

    @property
    def beta(self) -> Floats:
        """The largest theory width of each output, beta_T."""
        log_term = math.log(len(self.bound) / self.confidence)
        return np.asarray(self.bound + self.noise * np.sqrt(2 * (self.gain + 1 + log_term)))

    @property
    def deviation_sum(self) -> Floats:
        """Upper bounds on sum_t sigma_{t-1}(x_t) of each output.

        By Cauchy-Schwarz and s <= ln(1 + s / lambda) / ln(1 + 1 / lambda) for s in [0, 1]:
        sqrt(T sum sigma^2) <= sqrt(2 T gamma_T / ln(1 + 1 / lambda)), and never above T.
        """
        T = self.horizon
        return np.minimum(T, np.sqrt(2 * T * self.gain / np.log1p(1 / self.regularisation)))


class Bound(NamedTuple):
    """R_+(T) <= regret, and V_i(T) <= violation for every i: all together with at least that probability."""

    theorem: str
    probability: float
    regret: float
    violation: float


def theorem_1(setting: Setting) -> Bound:
    """Return the bound for CKB-UCB (Theorem 3.3): the estimates are optimistic, so T1 <= 0."""
    deviation = (1 + setting.width_scale) * setting.beta * setting.deviation_sum
    reward, costs = float(deviation[0]), float(deviation[1:].sum())
    return _bound("Theorem 3.3", 1 - setting.confidence, setting, reward, reward + setting.rho * costs)


def theorem_2(setting: Setting, condition: Condition) -> Bound:
    """Return the bound for explorations that satisfy the sufficient condition (Theorem 3.6).

    T1 + T2 <= (c_f S_f + rho sum_i c_i S_i) / p_4 + D C' + M sqrt(2 T ln(2^m / alpha)), with
    D = 4 B + 4 rho sum_i G_i and M = D (1 + max_t p_2t) + (c_f + rho sum_i c_i) / p_4.
    """
    if condition.verdict != SATISFIED:
        raise ArgumentError.of("condition", "one that is satisfied", condition.verdict, condition.reason + ".")
    T, m = setting.horizon, len(setting.V)
    weight = np.append(1.0, np.full(m, setting.rho))  # the largest of each output in the acquisition
    c = setting.beta * (1 + condition.reach(T))
    D = 4 * float(weight @ setting.bound)
    M = D * (1 + condition.p_2(1)) + float(weight @ c) / condition.p_4
    chi = float(weight @ (c * setting.deviation_sum)) / condition.p_4 + D * condition.total(T)
    # The martingale bound holds for one phi; the proof needs it at every corner of [0, rho]^m.
    chi += M * math.sqrt(2 * T * (m * math.log(2) - math.log(setting.confidence)))
    return _bound("Theorem 3.6", 1 - 2 * setting.confidence - sum(condition.doubts), setting, chi, chi)


def _bound(theorem: str, probability: float, s: Setting, chi_0: float, chi_rho: float) -> Bound:
    """Return what T1 + T2 <= chi implies for regret (phi = 0) and violation (each phi_i 0 or rho)."""
    T, B, G = s.horizon, float(s.bound[0]), s.bound[1:]
    step = float(np.sum(T * (G + s.slack) ** 2 / (2 * s.V)))
    regret = chi_0 + step + (2 * B * T * s.slack / s.slater if s.slack else 0.0)
    if s.rho <= s.dual_bound:
        return Bound(theorem, probability, regret, math.inf)
    total = chi_rho + step + float(np.sum(s.V)) * s.rho**2 / 2
    return Bound(theorem, probability, regret, max(0.0, total / (s.rho - s.dual_bound) - T * s.slack))


class Slack(NamedTuple):
    """A slack epsilon, its cost in regret, and whether it cancels the violation for which it was computed."""

    epsilon: float
    regret: float  # 2 B T epsilon / delta
    rho: float  # a cap of twice the tightened problem's bound on the dual, 4 B / (delta - epsilon)
    cancels: bool  # epsilon did not have to be reduced to delta / 2


def cancelling_slack(violation: float, horizon: int, slater: float, reward_bound: float) -> Slack:
    """Return the slack that cancels the leading term V of a violation bound: epsilon = V / T, capped at delta / 2.

    It costs at most 2 B T epsilon / delta in regret (the paper's Claim 1). The slack also changes the
    bound's other terms a little, through G + epsilon and delta - epsilon: print the ledger again.

    >>> cancelling_slack(violation=100.0, horizon=1000, slater=0.5, reward_bound=2.0)
    Slack(epsilon=0.1, regret=800.0, rho=20.0, cancels=True)
    """
    B, T = validation.positive("reward_bound", reward_bound), validation.whole("horizon", horizon, least=1)
    delta, needed = slater_margin(slater), validation.nonnegative("violation", violation) / T
    epsilon = min(needed, delta / 2)
    return Slack(epsilon, 2 * B * T * epsilon / delta, 4 * B / (delta - epsilon), needed <= delta / 2)
