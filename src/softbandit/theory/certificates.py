"""Certificates of the sufficient condition (the paper's Assumption 3).

Three events, with h_t the estimate of one output and beta_t its theory width:

    E_est    |h - mu| <= c1 sigma everywhere and always      P >= 1 - p_1      c1 = beta_t
    E_conc   |h_t - mu| <= c2 sigma everywhere, in round t   P >= 1 - p_2t
    E_anti   h_t - mu >= c1 sigma at the arms of pi*         P >= p_3          (mirrored for a cost)

The condition requires p_3 > 0, 1 + 2 / (p_3 - p_2t) <= 1 / p_4 and sum_t p_2t <= C'. The
first event depends on the width alone. For the other two each exploration has a `Law`: in
closed form if one is known, else by Monte Carlo. (The paper states E_anti on average
over pi*; the truncation that follows needs it at each arm. See docs/theory.md.)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.errors import ArgumentError
from softbandit.model import Exploration
from softbandit.theory.deviation import USABLE, Law, Trial, law

SATISFIED, FAILED, OPEN = "satisfied", "not satisfied", "not decided"


@dataclass(frozen=True, eq=False)
class Condition:
    """The sufficient condition for a reward and m costs, with its constants if it is satisfied.

    If a deviation is not bounded, p_2t = p_3 / 2 t^2, which is below p_3 in every round.
    (The paper's 2 / t^2 exceeds its p_3 = 0.0027 until t = 27.)
    """

    laws: Sequence[Law]
    verdict: str
    reason: str
    doubts: Sequence[float] = ()  # the probability that each sampled law is wrong

    @property
    def p_3(self) -> float:
        """A lower bound on P(E_anti): the outputs' draws are independent."""
        return math.prod(law.anti[0] for law in self.laws)

    def p_2(self, t: int) -> float:
        """Return an upper bound on P(not E_conc) in round t."""
        return self._undecided + (0.0 if self._sure else self.p_3 / (2 * t * t))

    def total(self, T: int) -> float:
        """Return C', an upper bound on the sum of p_2t over T rounds; for sampled laws it grows with T."""
        return T * self._undecided + (0.0 if self._sure else self.p_3 * math.pi**2 / 12)

    @property
    def p_4(self) -> float:
        return 1 / (1 + 2 / (self.p_3 - self.p_2(1)))

    def reach(self, T: int) -> Floats:
        """Return c2 / beta_t of each output, for all rounds up to T."""
        share = self.p_3 / (2 * T * T) / max(1, sum(not law.sure for law in self.laws))
        return np.array([law.reach(law.least + share) for law in self.laws])

    @property
    def _sure(self) -> bool:
        return all(law.sure for law in self.laws)

    @property
    def _undecided(self) -> float:
        """The probability of a larger deviation that sampling cannot exclude, in any round."""
        return sum(law.least for law in self.laws)


def certify(explorations: Sequence[Exploration], trials: Sequence[Trial], one_arm: bool | None = None) -> Condition:
    """Decide whether explorations of reward and costs satisfy the sufficient condition together.

    `one_arm`: whether pi* is known to sit on one arm, which Thompson sampling needs.
    """
    explorations = validation.listed(
        "explorations", explorations, "one per output", "For example [sb.UCB(), sb.UCB()]."
    )
    trials = validation.listed("trials", trials, "one per exploration", "Pass a list of theory.Trial.")
    if one_arm is not None:
        validation.flag("one_arm", one_arm)
    if len(explorations) != len(trials):
        raise ArgumentError.of("trials", f"one for each of {len(explorations)} explorations", len(trials), "Pair them.")
    if not explorations:
        raise ArgumentError.of("explorations", "at least the reward's", explorations, "Pass one per output.")
    laws = [law(exploration, trial) for exploration, trial in zip(explorations, trials, strict=True)]
    doubts = [trial.doubt for law, trial in zip(laws, trials, strict=True) if law.sampled]
    return Condition(laws, *_verdict(laws, trials[0].scale, one_arm), doubts)


def _verdict(laws: Sequence[Law], scale: float, one_arm: bool | None) -> tuple[str, str]:
    """Return the verdict, and the inequality that decides it."""
    condition = Condition(laws, "", "")
    p_3, largest_p_3 = condition.p_3, math.prod(law.anti[1] for law in laws)
    for output in laws:
        if output.anti[1] <= (USABLE if output.sampled else 0.0):
            probability = f"at most {output.anti[1]:.1e}, too small to use" if output.sampled else "0"
            return FAILED, f"P(E_anti) >= p_3 > 0 fails: for one output it is {probability}"
    if scale < 1:
        formally = f"; formally p_3 = {p_3:.1e} > 0, but the bound is void" if p_3 > 0 else ""
        return FAILED, f"c1 = beta_t requires the theory's width, and this one is {scale:g} of it{formally}"
    if any(law.one_arm for law in laws) and not one_arm:
        obstacle = "it mixes several" if one_arm is False else "not known here"
        return OPEN, f"P(E_anti) of this exploration is known only if pi* sits on one arm: {obstacle}"
    p_2, sampled = condition.p_2(1), any(law.sampled for law in laws)
    if p_2 < p_3:
        falling = " / t^2" if p_2 and not sampled else ""
        evidence = ", on Monte Carlo evidence" if sampled else ""
        return SATISFIED, f"p_3 = {p_3:.3g} > p_2t = {p_2:.2g}{falling}{evidence}"
    return OPEN, f"p_3 > p_2t is open: p_3 in [{p_3:.2g}, {largest_p_3:.2g}], p_2t at most {p_2:.2g}"
