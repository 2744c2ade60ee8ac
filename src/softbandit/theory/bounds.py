"""Theorems 1 and 2 of the paper as numbers: bounds on R_+(T) and V(T) with every constant, for any valid width.

docs/theory.md derives them step by step. Let m constraints have one phi_i, V_i and G_i each,
epsilon be the slack, and Q_i and N the costs of the dual's steps and of its noise: T (G_i + eps)^2
and 0 if estimates move it. Both theorems bound a sum T1 + T2 <= chi(phi), and then

    R_+(T) <= chi(0) + sum_i Q_i / 2 V_i + N + 2 B T eps / delta
    V_i(T) <= [(chi(rho) + sum_i (V_i rho^2 / 2 + Q_i / 2 V_i) + N) / (rho - phi*) - T eps]_+

with chi(rho) in place of chi(0) if measured costs move the dual.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.errors import ArgumentError
from softbandit.model import VALID, checked_confidence
from softbandit.policies import checked_slack, slater_margin
from softbandit.theory.certificates import SATISFIED, Condition

OUTPUTS = ("bound", "noise", "gain", "regularisation")  # arrays over outputs


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
    width: str = "theory"  # or "tight", valid for any lambda > 0
    measured: bool = False  # the dual is moved by observed costs
    search: float = 0.0  # C: round t's acquisition is maximised to C / sqrt(t)

    def __post_init__(self) -> None:
        bound = validation.vector("bound", self.bound)
        outputs = {name: validation.vector(name, getattr(self, name), len(bound)) for name in OUTPUTS}
        sizes = {name: validation.nonnegative(name, getattr(self, name)) for name in ("rho", "search")}
        validation.store(self, **outputs, **sizes, V=validation.vector("V", self.V, len(bound) - 1))
        validation.store(
            self,
            horizon=validation.whole("horizon", self.horizon, least=1, most=2**53),
            confidence=checked_confidence(self.confidence),
            dual_bound=_or_unknown("dual_bound", self.dual_bound, math.inf),
            slater=_or_unknown("slater", self.slater, math.nan),
            measured=validation.flag("measured", self.measured),
            slack=validation.nonnegative("slack", self.slack),
            width_scale=validation.number("width_scale", self.width_scale),
        )
        validation.named("width", self.width, VALID)
        if self.slack:
            checked_slack(self.slack, self.slater)
        if not self.width_scale >= 1:
            remedy = "A width below the theory's has no bound."
            raise ArgumentError.of("width_scale", "at least 1", self.width_scale, remedy)
        for name in ("bound", "regularisation", "V"):
            validation.numbers_above(name, getattr(self, name), len(getattr(self, name)), least=0.0, strict=True)
        for name in ("noise", "gain"):
            validation.numbers_above(name, getattr(self, name), len(bound), least=0.0, strict=False)

    @property
    def beta(self) -> Floats:
        """The largest valid width of each output, beta_T."""
        log_term = math.log(len(self.bound) / self.confidence)
        width = VALID[self.width](self.bound, self.noise, self.regularisation, log_term)
        return np.asarray(width(self.horizon, self.gain).diagonal())  # each output's width after its own gain

    def deviation_sum(self, cap: Floats | float = 1.0) -> Floats:
        """Return upper bounds on sum_t min(cap, sigma_{t-1}(x_t)) of each output."""
        outputs = np.broadcast(self.gain, self.regularisation, cap)
        return np.array([deviation_sum(self.horizon, *output) for output in outputs])

    @property
    def search_sum(self) -> float:
        """An upper bound on sum_t C / sqrt(t)."""
        return 2 * self.search * math.sqrt(self.horizon)

    def squared_costs(self) -> Floats:
        """Return upper bounds on sum_t (c + eps)^2 of each cost c that moves the dual.

        Estimates are at most G. The noise of measured costs adds to it as to a noncentral chi-squared
        variable of T degrees of freedom; all m bounds hold with probability 1 - alpha / 2.
        """
        T, m, R = self.horizon, len(self.V), self.noise[1:]
        largest = T * (self.bound[1:] + self.slack) ** 2
        if not self.measured or not m:
            return np.asarray(largest)
        x = math.log(2 * m / self.confidence)
        return np.asarray(largest + T * R**2 + 2 * R * np.sqrt((T * R**2 + 2 * largest) * x) + 2 * R**2 * x)

    def noise_sum(self) -> float:
        """Return a bound on sum_it (phi_it - phi_i) noise_it, which measured costs add, at every corner phi.

        It holds with probability 1 - alpha / 2.
        """
        m = len(self.V)
        if not self.measured or not m:
            return 0.0
        return float(self.rho * self.noise[1:].sum() * math.sqrt(2 * self.horizon * math.log(4 * m / self.confidence)))


def _or_unknown(what: str, value: object, unknown: float) -> float:
    """Return a number, or the one that means that it is not known."""
    if isinstance(value, float) and (value == unknown or (math.isnan(value) and math.isnan(unknown))):
        return unknown
    return validation.nonnegative(what, value)


def deviation_sum(T: int, gain: float, regularisation: float, cap: float = 1.0) -> float:
    """Return the largest sum over T rounds of min(cap, sigma_t), given sigma_t <= 1 and the total gain.

    Each round gains w / 2 with w = ln(1 + sigma^2 / lambda), so the sum is of h(w_t) with
    h(w) = min(cap, sqrt(lambda (e^w - 1))) and sum w_t <= 2 gain: at most T times the concave
    envelope of h at 2 gain / T. h is concave up to w = ln 2; if it reaches the cap later, the
    envelope leaves h at its tangent through that point.

    >>> deviation_sum(100, gain=50 * math.log(2), regularisation=1.0)  # sigma = 1 throughout
    100.0
    """
    T, lam = validation.whole("T", T, 1, 2**53), validation.positive("regularisation", regularisation)
    w, largest = 2 * validation.nonnegative("gain", gain) / T, min(validation.positive("cap", cap), 1.0)

    def h(w: float) -> float:
        return math.sqrt(lam * math.expm1(w))

    def tangent(at: float, w: float) -> float:
        return h(at) + lam * math.exp(at) / (2 * h(at)) * (w - at)

    reached = math.log1p(largest**2 / lam)  # h(reached) = largest
    if w >= reached:
        return T * largest
    if reached <= math.log(2):
        return T * h(w)
    from scipy.optimize import brentq

    leaves = brentq(lambda at: tangent(at, reached) - largest, 1e-12, math.log(2))
    return T * (h(w) if w <= leaves else tangent(leaves, w))


class Bound(NamedTuple):
    """R_+(T) <= regret, and V_i(T) <= violation for every i: all together with at least that probability."""

    theorem: str
    probability: float
    regret: float
    violation: float


def theorem_1(setting: Setting) -> Bound:
    """Return the bound for CKB-UCB (Theorem 3.3): the estimates are optimistic, so T1 <= sum_t C / sqrt(t).

    A truncated estimate deviates by at most 2 B, and by (1 + s) beta_t sigma_{t-1}.
    """
    _check_setting(setting)
    largest = (1 + setting.width_scale) * setting.beta
    deviation = largest * setting.deviation_sum(cap=2 * setting.bound / largest)
    reward, costs = float(deviation[0]) + setting.search_sum, setting.rho * float(deviation[1:].sum())
    chi_0 = reward + costs if setting.measured else reward
    return _bound("Theorem 3.3", 1 - setting.confidence, setting, chi_0, reward + costs)


def theorem_2(setting: Setting, condition: Condition) -> Bound:
    """Return the bound for explorations that satisfy the sufficient condition (Theorem 3.6).

    T1 + T2 <= (c_f S_f + rho sum_i c_i S_i) / p_4 + D C' + M sqrt(2 T ln(2^m / alpha)) + 2 sum_t C / sqrt(t),
    with D = 4 B + 4 rho sum_i G_i and M = D (1 + max_t p_2t) + (c_f + rho sum_i c_i) / p_4.
    """
    _check_setting(setting)
    validation.instance("condition", condition, Condition, "a Condition", "Build it with theory.certify.")
    if condition.verdict != SATISFIED:
        raise ArgumentError.of("condition", "one that is satisfied", condition.verdict, condition.reason + ".")
    T, m = setting.horizon, len(setting.V)
    weight = np.append(1.0, np.full(m, setting.rho))  # the largest of each output in the acquisition
    c = setting.beta * (1 + condition.reach(T))
    D = 4 * float(weight @ setting.bound)
    M = D * (1 + condition.p_2(1)) + float(weight @ c) / condition.p_4
    chi = float(weight @ (c * setting.deviation_sum())) / condition.p_4 + D * condition.total(T)
    # The martingale bound holds for one phi. Step 4 needs it at every corner of [0, rho]^m; measured costs, at phi_t.
    corners = 0 if setting.measured else m
    chi += M * math.sqrt(2 * T * (corners * math.log(2) - math.log(setting.confidence)))
    chi += 2 * setting.search_sum
    return _bound("Theorem 3.6", 1 - 2 * setting.confidence - sum(condition.doubts), setting, chi, chi)


def _check_setting(setting: object) -> None:
    validation.instance("setting", setting, Setting, "a Setting", "Build it with theory.Setting(...).")


def _bound(theorem: str, probability: float, s: Setting, chi_0: float, chi_rho: float) -> Bound:
    """Return what T1 + T2 <= chi implies for regret (phi = 0) and violation (each phi_i 0 or rho)."""
    T, B = s.horizon, float(s.bound[0])
    if s.measured and len(s.V):
        theorem, probability = f"{theorem} with measured costs", probability - s.confidence
    step = float(np.sum(s.squared_costs() / (2 * s.V))) + s.noise_sum()
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
    B, T = validation.positive("reward_bound", reward_bound), validation.whole("horizon", horizon, 1, 2**53)
    delta, needed = slater_margin(slater), validation.nonnegative("violation", violation) / T
    epsilon = min(needed, delta / 2)
    return Slack(epsilon, 2 * B * T * epsilon / delta, 4 * B / (delta - epsilon), needed <= delta / 2)
