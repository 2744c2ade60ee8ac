"""Certificates of the sufficient condition (the paper's Assumption 3).

Three events, with h_t the estimate of one output and beta_t its theory width:

    E_est    |h - mu| <= c1 sigma everywhere and always      P >= 1 - p_1      c1 = beta_t
    E_conc   |h_t - mu| <= c2 sigma everywhere, in round t   P >= 1 - p_2t
    E_anti   h_t - mu >= c1 sigma at the arms of pi*         P >= p_3          (mirrored for a cost)

The condition asks for p_3 > 0, 1 + 2 / (p_3 - p_2t) <= 1 / p_4 and sum_t p_2t <= C'. The
first event is the width's business. For the other two each exploration has a `Law`: in
closed form where it is known, else by Monte Carlo. (The paper states E_anti on average
over pi*; the truncation that follows needs it at each arm. See docs/theory.md.)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from softbandit.checks import Floats
from softbandit.errors import ArgumentError
from softbandit.explore import (
    UCB,
    Exploration,
    Gaussian,
    Greedy,
    RandUCB,
    Thompson,
    TruncatedGaussian,
    UniformDiscrete,
)
from softbandit.theory.law import ROUNDING, USABLE, Law, Trial
from softbandit.theory.sampling import sampled_law


@singledispatch
def law(exploration: Any, trial: Trial) -> Law:
    """The law of an exploration's deviation; an unknown exploration is sampled."""
    return sampled_law(exploration, trial)


@law.register
def _(exploration: UCB, trial: Trial) -> Law:
    p = float(trial.scale >= 1)
    return Law((p, p), lambda _: trial.scale, 0.0, sure=True)


@law.register
def _(exploration: Greedy, trial: Trial) -> Law:
    return Law((0.0, 0.0), lambda _: 0.0, 0.0, sure=True)


@law.register
def _(exploration: Thompson, trial: Trial) -> Law:
    """h_t(x) ~ N(mu, beta^2 sigma^2) at each of n arms; together by the union bound."""
    n, p = len(trial.features.diag), upper_tail(_threshold(trial.scale))
    return Law((p, p), lambda q: trial.scale * math.sqrt(2 * math.log(n / q)), 0.0, sure=False, one_arm=True)


@law.register
def _(exploration: RandUCB, trial: Trial) -> Law:
    return z_law(exploration.distribution, exploration, trial)


@singledispatch
def z_law(distribution: Any, exploration: RandUCB, trial: Trial) -> Law:
    """The law of Z_t: one for all arms, so no union bound."""
    return sampled_law(exploration, trial)


@z_law.register
def _(distribution: Gaussian, exploration: RandUCB, trial: Trial) -> Law:
    p = upper_tail(_threshold(trial.scale))
    return Law((p, p), lambda q: trial.scale * math.sqrt(2 * math.log(1 / q)), 0.0, sure=False)


@z_law.register
def _(distribution: UniformDiscrete, exploration: RandUCB, trial: Trial) -> Law:
    points = np.linspace(0, 2, distribution.points)
    return _discrete(points, np.full(len(points), 1 / len(points)), trial)


@z_law.register
def _(distribution: TruncatedGaussian, exploration: RandUCB, trial: Trial) -> Law:
    return _discrete(*distribution.support(), trial)


def _discrete(points: Floats, probability: Floats, trial: Trial) -> Law:
    p = float(probability[points >= _threshold(trial.scale) * (1 - ROUNDING)].sum())
    return Law((p, p), lambda _: trial.scale * float(np.abs(points).max()), 0.0, sure=True)


def _threshold(scale: float) -> float:
    """What Z must reach for scale Z >= 1."""
    return 1 / scale if scale > 0 else math.inf


def upper_tail(z: float) -> float:
    """P(N(0, 1) >= z).    And P(|N(0, 1)| > z) <= exp(-z^2 / 2), which `reach` inverts."""
    return 0.5 * math.erfc(z / math.sqrt(2))


SATISFIED, FAILED, OPEN = "satisfied", "not satisfied", "not decided"


@dataclass(frozen=True, eq=False)
class Condition:
    """The sufficient condition for a reward and m costs, and its constants where it is satisfied.

    Where a deviation is not bounded, we take p_2t = p_3 / 2 t^2, which is below p_3 in every
    round. (The paper's 2 / t^2 exceeds its p_3 = 0.0027 until t = 27.)
    """

    laws: Sequence[Law]
    verdict: str
    reason: str

    @property
    def p_3(self) -> float:
        """At most P(E_anti): the outputs' draws are independent."""
        return math.prod(law.anti[0] for law in self.laws)

    def p_2(self, t: int) -> float:
        """At least P(not E_conc) in round t."""
        if all(law.sure for law in self.laws):
            return 0.0
        return max(self.p_3 / (2 * t * t), sum(law.least for law in self.laws))

    def total(self, T: int) -> float:
        """C', at least the sum of p_2t over T rounds."""
        if all(law.sure for law in self.laws):
            return 0.0
        return self.p_3 * math.pi**2 / 12 + T * sum(law.least for law in self.laws)

    @property
    def p_4(self) -> float:
        return 1 / (1 + 2 / (self.p_3 - self.p_2(1)))

    def reach(self, T: int) -> Floats:
        """c2 / beta_t of each output, for all rounds up to T."""
        unsure = sum(not law.sure for law in self.laws)
        return np.array([law.reach(self.p_2(T) / max(unsure, 1)) for law in self.laws])


def certify(explorations: Sequence[Exploration], trials: Sequence[Trial], one_arm: bool | None = None) -> Condition:
    """Whether explorations of reward and costs satisfy the sufficient condition together.

    `one_arm`: whether pi* is known to sit on one arm, which Thompson sampling needs.
    """
    if len(explorations) != len(trials):
        raise ArgumentError.of("trials", f"one for each of {len(explorations)} explorations", len(trials), "Pair them.")
    laws = [law(each, trial) for each, trial in zip(explorations, trials, strict=True)]
    return Condition(laws, *_verdict(laws, trials[0].scale, one_arm))


def _verdict(laws: Sequence[Law], scale: float, one_arm: bool | None) -> tuple[str, str]:
    condition = Condition(laws, "", "")
    low, high = condition.p_3, math.prod(law.anti[1] for law in laws)
    sampled = any(law.method != "closed form" for law in laws)
    if high <= (USABLE if sampled else 0.0):
        return FAILED, f"P(E_anti) >= p_3 > 0 fails: p_3 is {f'at most {high:.1e}' if sampled else '0'}"
    if scale < 1:
        formally = f"; formally p_3 = {low:.1e} > 0, but the bound is void" if low > 0 else ""
        return FAILED, f"c1 = beta_t asks for the theory's width, and this is {scale:g} of it{formally}"
    if any(law.one_arm for law in laws) and not one_arm:
        how = "it mixes several" if one_arm is False else "not known here"
        return OPEN, f"P(E_anti) is known for Thompson sampling only where pi* sits on one arm: {how}"
    p_2 = condition.p_2(1)
    if p_2 < low:
        falling = " / t^2" if p_2 and not sampled else ""
        return SATISFIED, f"p_3 = {low:.3g} > p_2t = {p_2:.2g}{falling}"
    return OPEN, f"p_3 > p_2t is open: p_3 in [{low:.2g}, {high:.2g}], p_2t at most {p_2:.2g}"
