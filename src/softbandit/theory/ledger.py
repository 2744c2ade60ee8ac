"""The ledger: the status of each assumption behind a guarantee, and the bound that follows or why there is none."""

import json
import math
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple

import numpy as np

from softbandit.backend.shapes import Floats
from softbandit.errors import ArgumentError, Description
from softbandit.model.explorations import UCB
from softbandit.policies.ckb import CKB
from softbandit.theory import assumptions
from softbandit.theory.assumptions import UNKNOWN, VIOLATED, Row, Truth
from softbandit.theory.bounds import Bound, Setting, theorem_1, theorem_2
from softbandit.theory.certificates import FAILED, OPEN, SATISFIED, Condition, certify
from softbandit.theory.deviation import Trial
from softbandit.theory.information_gain import greedy_gain, spectral_gain
from softbandit.theory.optimum import largest_margin, optimal_dual, randomized_optimum

DESIGN_STEPS = 400  # of the design that bounds the information gain
Constants = dict[str, float | list[float]]


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
    constants: Constants = field(default_factory=dict)  # of the sufficient condition, if it is satisfied
    trivial: tuple[float, float] = (math.inf, math.inf)  # 2 B T and the largest G_i T

    @property
    def covered(self) -> bool:
        return self.bound is not None

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "bound": self.bound and self.bound._asdict(), "covered": self.covered}

    def to_json(self) -> str:
        """Return the ledger as JSON; an infinite number becomes null."""
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


class _Optimum(NamedTuple):
    """The problem's optimum under the constraints tightened by the slack; None if unknown."""

    price: float | None = None  # the largest optimal dual
    mixture: Floats | None = None  # pi*

    @property
    def one_arm(self) -> bool | None:
        """Whether pi* sits on one arm."""
        return None if self.mixture is None else bool((self.mixture > 0).sum() == 1)


def assess(policy: CKB, problem: Truth | None = None) -> Guarantees:
    """Return the ledger of CKB on finite arms; with a problem, assumptions are verified on it."""
    if problem is not None:
        _check_fit(policy, problem)
    optimum = _optimum(policy, problem)
    condition = _condition(policy, optimum)
    rows = _rows(policy, problem, optimum, condition)
    why_not = _obstacle(rows, condition)
    bound, constants = (None, {}) if why_not else _bound(policy, condition, optimum.price)
    if bound is not None and bound.probability <= 0:
        confidence = f"confidence = {policy.confidence:g}"
        bound, why_not = None, f"{confidence} is too large: the bound fails with probability 2 alpha or more"
    name, verdict, reason = policy_name(policy), condition.verdict, condition.reason
    trivial = trivial_bounds(policy)
    return Guarantees(name, policy.horizon, rows, verdict, reason, bound, why_not, constants, trivial)


def policy_name(policy: CKB) -> str:
    explorations = assumptions.exploration_per_output(policy)
    names = " and ".join(dict.fromkeys(type(exploration).__name__ for exploration in explorations))
    return f"{type(policy).__name__} with {names}"


def trivial_bounds(policy: CKB) -> tuple[float, float]:
    """Return the bounds on regret and violation that always hold."""
    B, G, T = policy.bounds[0, 0], policy.bounds[1:], policy.horizon
    return 2 * float(B) * T, float(G.max(initial=0.0)) * T


def describe(rows: Sequence[Row], status: str) -> str | None:
    """Return the assumptions of that status in one line; None if there are none."""
    return "; ".join(f"{row.assumption}: {row.detail}" for row in rows if row.status == status) or None


def _check_fit(policy: CKB, problem: Truth) -> None:
    if not all(hasattr(problem, name) for name in ("arms", "reward", "costs", "sub_gaussian")):
        raise ArgumentError.of("problem", "a problem", problem, "For example sb.problems.rkhs().")
    m, got = policy.constraints, problem.costs.shape[1]
    if m not in (0, got):
        raise ArgumentError.of("problem", f"the policy's {m} constraints", got, "Pass the problem it is for.")
    if not np.array_equal(policy.arms, problem.arms):
        remedy = "Build the policy with **problem.settings()."
        raise ArgumentError.of("problem", "the policy's arms", Description("others"), remedy)


def _optimum(policy: CKB, problem: Truth | None) -> _Optimum:
    if problem is None:
        return _Optimum()
    if not policy.constraints:
        return _Optimum(mixture=np.eye(1, len(problem.reward), int(problem.reward.argmax()))[0])
    tightened = problem.costs + policy.slack
    if largest_margin(tightened).margin <= 0:
        return _Optimum()
    price = float(optimal_dual(problem.reward, tightened).price.max())
    return _Optimum(price, randomized_optimum(problem.reward, tightened).weights)


def _rows(policy: CKB, problem: Truth | None, optimum: _Optimum, condition: Condition) -> list[Row]:
    rows = [
        *assumptions.norm_rows(policy, problem),
        assumptions.kernel_row(policy),
        assumptions.factorised_row(policy),
        *assumptions.setting_rows(policy, problem),
    ]
    if getattr(problem, "contexts", None) is not None:
        rows.append(Row("one context", VIOLATED, "the problem has several, for which the paper states no theorem"))
    rows += assumptions.constraint_rows(policy, problem, optimum.price)
    if policy.constraints and any(law.one_arm for law in condition.laws):
        rows.append(assumptions.one_arm_row(optimum.one_arm))
    return rows


def _condition(policy: CKB, optimum: _Optimum) -> Condition:
    """Return the sufficient condition for the policy's explorations."""
    bounds, features = policy.bounds[:, 0], assumptions.features_per_output(policy)
    per_output = zip(features, assumptions.lambda_per_output(policy), bounds, policy.model.noise, strict=True)
    trials = [
        Trial(
            features=phi,
            regularisation=float(lam),
            bound=float(B),
            noise=float(R),
            log_term=math.log(len(bounds) / policy.confidence),
            scale=policy.width_scale,
            sign=1.0 if i == 0 else -1.0,
            target=optimum.mixture,
            seed=i,
            horizon=policy.horizon,
        )
        for i, (phi, lam, B, R) in enumerate(per_output)
    ]
    one_arm = optimum.one_arm if policy.constraints else True
    condition = certify(assumptions.exploration_per_output(policy), trials, one_arm)
    if isinstance(policy.width, str) or condition.verdict == FAILED:
        return condition
    return replace(condition, verdict=OPEN, reason="c1 = beta_t requires the theory's width, and this one is your own")


def _obstacle(rows: Sequence[Row], condition: Condition) -> str | None:
    """Return why there is no bound, if there is none."""
    undecided = None if condition.verdict == SATISFIED else condition.reason
    return describe(rows, VIOLATED) or undecided or describe(rows, UNKNOWN)


def _bound(policy: CKB, condition: Condition, price: float | None) -> tuple[Bound, Constants]:
    """Return the bound, and the constants of the sufficient condition."""
    setting, explorations = _setting(policy, price), assumptions.exploration_per_output(policy)
    ucb = all(type(exploration) is UCB for exploration in explorations)
    return theorem_1(setting) if ucb else theorem_2(setting, condition), _constants(setting, condition)


def _setting(policy: CKB, price: float | None) -> Setting:
    return Setting(
        horizon=policy.horizon,
        bound=policy.bounds[:, 0],
        noise=policy.model.noise,
        gain=_gains(policy),
        regularisation=assumptions.lambda_per_output(policy),
        confidence=policy.confidence,
        width_scale=policy.width_scale,
        slater=policy.slater or math.nan,
        slack=policy.slack,
        rho=float(policy.rho or 0.0) if policy.constraints else 0.0,
        V=np.atleast_1d(np.asarray(policy.V, dtype=float)),
        dual_bound=assumptions.dual_bound(policy) if price is None else price,
    )


def _constants(setting: Setting, condition: Condition) -> Constants:
    return {
        "p_1": setting.confidence,
        "p_2": condition.p_2(1),
        "p_3": condition.p_3,
        "p_4": condition.p_4,
        "C'": condition.total(setting.horizon),
        "c1": setting.beta.tolist(),
        "c2": (setting.beta * condition.reach(setting.horizon)).tolist(),
        "gamma_T": setting.gain.tolist(),
    }


def _gains(policy: CKB) -> Floats:
    """Return an upper bound on gamma_T of each output."""
    gains, T = np.empty(1 + policy.constraints), policy.horizon
    for group in policy.model.groups:
        phi, lam = group.features, group.regularisation
        by_design = greedy_gain(phi, T, lam, steps=DESIGN_STEPS).upper[-1]
        gains[group.outputs] = min(by_design, spectral_gain(phi, T, lam)[0])
    return gains


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(text, 79, initial_indent=head, subsequent_indent=" " * len(head)) or [head.rstrip()]


def _against(name: str, bound: float, trivial: float, formula: str) -> str:
    note = "" if bound < trivial else f"   (void: {formula} = {trivial:,.0f} always holds)"
    return f"  {name} <= {bound:,.0f}{note}"


def _finite(value: object) -> object:
    """Return the value with None in place of numbers that JSON lacks."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
