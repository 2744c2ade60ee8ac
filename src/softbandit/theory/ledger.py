"""The ledger: each assumption behind a guarantee, how it stands, and the bound that follows or why none does."""

import json
import math
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from softbandit.backend.shapes import Floats
from softbandit.errors import ArgumentError, Description
from softbandit.model.explorations import UCB
from softbandit.theory import assumptions
from softbandit.theory.assumptions import GIVEN, UNKNOWN, VIOLATED, Row, Subject, Truth
from softbandit.theory.bounds import Bound, Setting, theorem_1, theorem_2
from softbandit.theory.certificates import FAILED, OPEN, SATISFIED, Condition, certify
from softbandit.theory.deviation import Trial
from softbandit.theory.information_gain import greedy_gain, spectral_gain
from softbandit.theory.optimum import largest_margin, optimal_dual, randomized_optimum

DESIGN_STEPS = 400  # of the design that bounds the information gain


class Facts(NamedTuple):
    """What a problem says of the optimum of the constraints, tightened by the slack; None where it says nothing."""

    price: float | None  # the largest optimal dual
    target: Floats | None  # the optimal mixture


@dataclass(frozen=True)
class Guarantees:
    """The ledger of one policy. Print it, or export it with `to_json`."""

    policy: str
    horizon: int
    rows: Sequence[Row]
    verdict: str  # of the sufficient condition
    reason: str  # which inequality decides it
    bound: Bound | None
    why_not: str | None  # why there is no bound
    constants: dict[str, Any] = field(default_factory=dict)  # of the sufficient condition, where it is satisfied
    trivial: tuple[float, float] = (math.inf, math.inf)  # 2 B T and the largest G_i T

    @property
    def covered(self) -> bool:
        return self.bound is not None

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "bound": self.bound and self.bound._asdict(), "covered": self.covered}

    def to_json(self) -> str:
        """As JSON; an infinite number is null."""
        return json.dumps(_finite(self.to_dict()), indent=2)

    def __str__(self) -> str:
        lines = [*_wrapped("Guarantees of ", f"{self.policy}, T = {self.horizon:,}"), ""]
        for row in self.rows:
            lines += _wrapped(f"{row.status:9}{row.assumption:26}", row.detail)
        lines += ["", *_wrapped("sufficient condition: ", f"{self.verdict}; {self.reason}"), ""]
        if self.bound is None:
            return "\n".join([*lines, *_wrapped("NOT COVERED. ", str(self.why_not))])
        lines += _wrapped("COVERED by ", f"{self.bound.theorem}, with probability at least {self.bound.probability:g}:")
        lines.append(_against("R_+(T)", self.bound.regret, self.trivial[0], "2 B T"))
        if self.trivial[1]:
            lines.append(_against("V(T)  ", self.bound.violation, self.trivial[1], "G T"))
        return "\n".join(lines)


def assess(subject: Subject, problem: Truth | None = None) -> Guarantees:
    """The ledger of a policy; with a problem, assumptions are verified on it."""
    s = subject
    if problem is not None:
        _check_fit(s, problem)
    facts = _facts(s, problem)
    one_arm = None if facts.target is None else bool((facts.target > 0).sum() == 1)
    condition = _condition(s, facts.target, one_arm)
    rows = [
        *assumptions.norm_rows(s, problem),
        assumptions.kernel_row(s),
        assumptions.factorised_row(s),
        assumptions.noise_row(s, problem),
        assumptions.regularisation_row(s),
        assumptions.width_row(s),
        Row("at most T rounds", GIVEN, f"T = {s.horizon:,}"),
        assumptions.independence_row(s),
    ]
    if getattr(problem, "contexts", None) is not None:
        rows.append(Row("one context", VIOLATED, "the problem has several, for which the paper states no theorem"))
    if len(s.V):
        rows += [assumptions.slater_row(s, problem), assumptions.cap_row(s, facts.price), assumptions.dual_row(s)]
    if len(s.V) and any(law.one_arm for law in condition.laws):
        rows.append(assumptions.one_arm_row(one_arm))
    why_not = _obstacle(rows, condition)
    bound, constants = (None, {}) if why_not else _bound(s, condition, facts.price)
    if bound is not None and bound.probability <= 0:
        why_not = f"confidence = {s.confidence:g} leaves no probability: the bound fails with 2 alpha or more"
        bound = None
    trivial = (2 * float(s.bound[0]) * s.horizon, float(s.bound[1:].max(initial=0.0)) * s.horizon)
    reason = condition.reason
    return Guarantees(s.name, s.horizon, rows, condition.verdict, reason, bound, why_not, constants, trivial)


def _check_fit(s: Subject, problem: Truth) -> None:
    if not all(hasattr(problem, name) for name in ("arms", "reward", "costs", "sub_gaussian")):
        raise ArgumentError.of("problem", "a problem", problem, "For example sb.problems.rkhs().")
    if len(s.V) not in (0, problem.costs.shape[1]):
        got = Description(f"{problem.costs.shape[1]}")
        raise ArgumentError.of("problem", f"the policy's {len(s.V)} constraints", got, "Pass the problem it is for.")
    if not np.array_equal(s.arms, problem.arms):
        remedy = "Build the policy with **problem.settings()."
        raise ArgumentError.of("problem", "the policy's arms", Description("others"), remedy)


def _facts(s: Subject, problem: Truth | None) -> Facts:
    if problem is None:
        return Facts(None, None)
    if not len(s.V):
        return Facts(None, np.eye(1, len(problem.reward), int(problem.reward.argmax()))[0])
    tightened = problem.costs + s.slack
    if largest_margin(tightened).margin <= 0:
        return Facts(None, None)
    price = float(optimal_dual(problem.reward, tightened).price.max())
    return Facts(price, randomized_optimum(problem.reward, tightened).weights)


def _condition(s: Subject, target: Floats | None, one_arm: bool | None) -> Condition:
    log_term = math.log(len(s.bound) / s.confidence)
    trials = [
        Trial(
            features=phi,
            regularisation=float(lam),
            bound=float(B),
            noise=float(R),
            log_term=log_term,
            scale=s.width_scale,
            sign=1.0 if i == 0 else -1.0,
            target=target,
            seed=i,
            horizon=s.horizon,
        )
        for i, (phi, lam, B, R) in enumerate(zip(s.features, s.regularisation, s.bound, s.noise, strict=True))
    ]
    found = certify(s.explorations, trials, True if not len(s.V) else one_arm)
    if isinstance(s.width, str) or found.verdict == FAILED:
        return found
    return replace(found, verdict=OPEN, reason="c1 = beta_t asks for the theory's width, and this is your own")


def _obstacle(rows: Sequence[Row], condition: Condition) -> str | None:
    violated = [row for row in rows if row.status == VIOLATED]
    if violated:
        return "; ".join(f"{row.assumption}: {row.detail}" for row in violated)
    if condition.verdict != SATISFIED:
        return condition.reason
    unknown = [row for row in rows if row.status == UNKNOWN]
    return "; ".join(f"{row.assumption}: {row.detail}" for row in unknown) or None


def _bound(s: Subject, condition: Condition, price: float | None) -> tuple[Bound, dict[str, Any]]:
    setting = Setting(
        horizon=s.horizon,
        bound=s.bound,
        noise=s.noise,
        gain=_gains(s),
        regularisation=s.regularisation,
        confidence=s.confidence,
        width_scale=s.width_scale,
        slater=s.slater or math.nan,
        slack=s.slack,
        rho=s.rho if len(s.V) else 0.0,
        V=s.V,
        dual_bound=assumptions.dual_bound(s) if price is None else price,
    )
    reach = condition.reach(s.horizon)
    constants = {
        "p_1": s.confidence,
        "p_2": condition.p_2(1),
        "p_3": condition.p_3,
        "p_4": condition.p_4,
        "C'": condition.total(s.horizon),
        "c1": setting.beta.tolist(),
        "c2": (setting.beta * reach).tolist(),
        "gamma_T": setting.gain.tolist(),
    }
    ucb = all(type(each) is UCB for each in s.explorations)
    return theorem_1(setting) if ucb else theorem_2(setting, condition), constants


def _gains(s: Subject) -> Floats:
    """A bound on gamma_T of each output."""
    known: dict[tuple[int, float], float] = {}
    for phi, lam in zip(s.features, s.regularisation, strict=True):
        if (id(phi), lam) not in known:
            design = greedy_gain(phi, s.horizon, lam, steps=DESIGN_STEPS).upper[-1]
            known[id(phi), lam] = float(min(design, spectral_gain(phi, s.horizon, lam)[0]))
    return np.array([known[id(phi), lam] for phi, lam in zip(s.features, s.regularisation, strict=True)])


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(text, 79, initial_indent=head, subsequent_indent=" " * len(head)) or [head.rstrip()]


def _against(name: str, bound: float, trivial: float, formula: str) -> str:
    note = "" if bound < trivial else f"   (void: {formula} = {trivial:,.0f} always holds)"
    return f"  {name} <= {bound:,.0f}{note}"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
