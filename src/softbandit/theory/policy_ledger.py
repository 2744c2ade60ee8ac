"""The ledger of any policy: computed for CKB, summed for Doubling; for the others, why there is no bound."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.domains import accuracy
from softbandit.errors import ArgumentError, Description
from softbandit.gp import Features, features
from softbandit.model import UCB, Exploration
from softbandit.policies import CKB, Doubling, Policy
from softbandit.theory import assumptions
from softbandit.theory.assumptions import UNKNOWN, VIOLATED, Row, Truth, explorations
from softbandit.theory.bounds import Bound, Setting, theorem_1, theorem_2
from softbandit.theory.certificates import FAILED, OPEN, SATISFIED, Condition, certify
from softbandit.theory.deviation import Trial, closed_form
from softbandit.theory.gain_on_spaces import gain_on_space
from softbandit.theory.information_gain import greedy_gain, spectral_gain
from softbandit.theory.ledger import Constants, Guarantees
from softbandit.theory.optimum import largest_margin, optimal_dual, randomized_optimum, single_arm

__all__ = ["Guarantees", "Truth", "guarantees"]

DOUBLING_RUNS = 3
MOST_RUNS = 53  # the last one has at least 2^52 rounds
DESIGN_STEPS = 400  # of the design that bounds the information gain
ACCURATE = "each search is accurate to C / sqrt(t)"


def guarantees(policy: Policy, problem: Truth | None = None, runs: int = DOUBLING_RUNS) -> Guarantees:
    """Return the ledger of a policy's guarantee; with a problem, assumptions are verified on it.

    For Doubling it covers the first `runs` runs.
    """
    validation.instance("policy", policy, Policy, "a policy", "For example sb.CKB(...).")
    validation.whole("runs", runs, least=1, most=MOST_RUNS)
    if isinstance(policy, CKB):
        return _on_space(policy, problem) if policy.continuous else _on_arms(policy, problem)
    if isinstance(policy, Doubling):
        return _doubling(policy, problem, runs)
    name = type(policy).__name__
    why_not = f"softbandit computes no bound for {name}. Claimed for it: {policy.about.guarantee}"
    return Guarantees(name, policy.horizon, (), OPEN, "it applies to CKB", None, why_not)


def _doubling(policy: Doubling, problem: Truth | None, runs: int) -> Guarantees:
    """Return the ledger of the first runs together: the sum of their bounds."""
    first = policy.policy.horizon
    horizons = [first << k for k in range(runs)]
    ledgers = [guarantees(policy.policy.replace(horizon=T), problem) for T in horizons]
    bounds = [ledger.bound for ledger in ledgers if ledger.bound is not None]
    last = replace(ledgers[-1], policy=f"Doubling of {ledgers[-1].policy}")
    if len(bounds) < len(ledgers):
        return last
    probability = 1 - sum(1 - bound.probability for bound in bounds)
    if probability <= 0:
        why_not = f"the failure probabilities of the {runs} runs add up to 1 or more; lower confidence"
        return replace(last, bound=None, why_not=why_not, constants={})
    theorem, T = f"{bounds[0].theorem}, in each of {len(bounds)} runs", sum(horizons)
    regret, violation = sum(bound.regret for bound in bounds), sum(bound.violation for bound in bounds)
    trivial = (last.trivial[0] * T / horizons[-1], last.trivial[1] * T / horizons[-1])
    return replace(last, horizon=T, bound=Bound(theorem, probability, regret, violation), trivial=trivial)


def _without_bound(policy: CKB, rows: Sequence[Row], verdict: str, reason: str, why_not: str | None) -> Guarantees:
    """Return CKB's ledger before a bound is computed."""
    names = " and ".join(dict.fromkeys(type(exploration).__name__ for exploration in explorations(policy)))
    B, G, T = policy.bounds[0, 0], policy.bounds[1:], policy.horizon
    trivial = (2 * float(B) * T, float(G.max(initial=0.0)) * T)
    return Guarantees(f"{type(policy).__name__} with {names}", T, rows, verdict, reason, None, why_not, trivial=trivial)


def _describe(rows: Sequence[Row], status: str) -> str | None:
    """Return the assumptions of that status in one line; None if there are none."""
    return "; ".join(f"{row.assumption}: {row.detail}" for row in rows if row.status == status) or None


def _on_space(policy: CKB, problem: Truth | None) -> Guarantees:
    """Return the ledger of CKB that searches a space; its bound holds if the searches are accurate."""
    if problem is not None:
        _check_fit(policy, problem)
    rows = [*assumptions.norm_rows(policy, problem), *assumptions.space_rows(policy)]
    rows += [*assumptions.setting_rows(policy, problem), *assumptions.constraint_rows(policy, problem, None)]
    condition = _condition(policy, None, True)
    undecided = None if condition.verdict == SATISFIED else condition.reason
    unknown = [row for row in rows if row.assumption != assumptions.SEARCH]
    why_not = _describe(rows, VIOLATED) or undecided or _describe(unknown, UNKNOWN)
    ledger = _without_bound(policy, rows, condition.verdict, condition.reason, why_not)
    if why_not:
        return ledger
    ledger = _with_bound(ledger, policy, condition, None)
    return replace(ledger, provided=None if ledger.bound is None else ACCURATE)


def _on_arms(policy: CKB, problem: Truth | None) -> Guarantees:
    """Return the ledger of CKB on finite arms."""
    if problem is not None:
        _check_fit(policy, problem)
    price, mixture = _optimum(policy, problem)
    one_arm = None if mixture is None else bool((mixture > 0).sum() == 1)
    condition = _condition(policy, mixture, one_arm)
    rows = _rows(policy, problem, price)
    if policy.constraints and any(law.one_arm for law in condition.laws):
        rows.append(assumptions.one_arm_row(one_arm))
    undecided = None if condition.verdict == SATISFIED else condition.reason
    why_not = _describe(rows, VIOLATED) or undecided or _describe(rows, UNKNOWN)
    ledger = _without_bound(policy, rows, condition.verdict, condition.reason, why_not)
    return ledger if why_not else _with_bound(ledger, policy, condition, price)


def _with_bound(ledger: Guarantees, policy: CKB, condition: Condition, price: float | None) -> Guarantees:
    """Return the ledger with the theorem's bound, if its probability is positive, and the condition's constants."""
    setting = _setting(policy, price)
    ucb = all(type(exploration) is UCB for exploration in explorations(policy))
    bound = theorem_1(setting) if ucb else theorem_2(setting, condition)
    constants = _constants(setting, condition)
    if policy.continuous:
        ledger = replace(ledger, rows=[*ledger.rows, assumptions.gain_row(policy, setting.gain)])
    if bound.probability > 0:
        return replace(ledger, bound=bound, constants=constants)
    why_not = f"confidence = {policy.confidence:g} is too large: the bound fails with probability 2 alpha or more"
    return replace(ledger, why_not=why_not, constants=constants)


def _check_fit(policy: CKB, problem: Truth) -> None:
    if not all(hasattr(problem, name) for name in ("arms", "reward", "costs", "sub_gaussian")):
        raise ArgumentError.of("problem", "a problem", problem, "For example sb.problems.rkhs().")
    m, got = policy.constraints, problem.costs.shape[1]
    if m not in (0, got):
        raise ArgumentError.of("problem", f"the policy's {m} constraints", got, "Pass the problem it is for.")
    same = np.array_equal(policy.arms, problem.arms)
    if policy.continuous:
        same = policy.arms.axes == getattr(problem.arms, "axes", None)
    if not same:
        remedy = "Build the policy with **problem.settings()."
        raise ArgumentError.of("problem", "the policy's arms", Description("others"), remedy)


def _optimum(policy: CKB, problem: Truth | None) -> tuple[float | None, Floats | None]:
    """Return the largest optimal dual and pi* under the constraints tightened by the slack; None if unknown."""
    if problem is None:
        return None, None
    if not policy.constraints:
        return None, single_arm(len(problem.reward), int(problem.reward.argmax()))
    tightened = problem.costs + policy.slack
    if largest_margin(tightened).margin <= 0:
        return None, None
    price = float(optimal_dual(problem.reward, tightened).price.max())
    return price, randomized_optimum(problem.reward, tightened).weights


def _rows(policy: CKB, problem: Truth | None, price: float | None) -> list[Row]:
    rows = assumptions.norm_rows(policy, problem) + assumptions.kernel_rows(policy)
    rows += assumptions.setting_rows(policy, problem)
    if getattr(problem, "contexts", None) is not None:
        rows.append(Row("one context", VIOLATED, "the problem has several, for which the paper states no theorem"))
    return rows + assumptions.constraint_rows(policy, problem, price)


def _condition(policy: CKB, mixture: Floats | None, one_arm: bool | None) -> Condition:
    """Return the sufficient condition for the policy's explorations."""
    bounds = policy.bounds[:, 0]
    per_output = zip(policy.model.by_output(), bounds, policy.model.noise, strict=True)
    trials = [
        Trial(
            features=_features(policy, group),
            regularisation=float(group.regularisation),
            bound=float(B),
            noise=float(R),
            log_term=math.log(len(bounds) / policy.confidence),
            scale=policy.width_scale,
            sign=1.0 if i == 0 else -1.0,
            target=mixture,
            seed=i,
            horizon=policy.horizon,
            width=policy.width if isinstance(policy.width, str) else "theory",
        )
        for i, ((group, _), B, R) in enumerate(per_output)
    ]
    if policy.continuous and not all(map(_is_known_on_spaces, explorations(policy), trials)):
        return Condition([], OPEN, "the law of this exploration is known on finite arms only")
    condition = certify(explorations(policy), trials, one_arm if policy.constraints else True)
    if isinstance(policy.width, str) or condition.verdict == FAILED:
        return condition
    return replace(condition, verdict=OPEN, reason="c1 = beta_t requires the theory's width, and this one is your own")


def _features(policy: CKB, group: Any) -> Features:
    """Return the features of the arms; on a space, of one point, since the laws that are known there use none."""
    return features(group.kernel, policy.arms.corners()[:1]) if policy.continuous else cast(Features, group.features)


def _is_known_on_spaces(exploration: Exploration, trial: Trial) -> bool:
    law = closed_form(exploration, trial)
    return law is not None and not law.one_arm


def _setting(policy: CKB, price: float | None) -> Setting:
    return Setting(
        horizon=policy.horizon,
        bound=policy.bounds[:, 0],
        noise=policy.model.noise,
        gain=_gains(policy),
        regularisation=assumptions.regularisations(policy),
        confidence=policy.confidence,
        width_scale=policy.width_scale,
        slater=policy.slater or math.nan,
        slack=policy.slack,
        rho=float(policy.rho or 0.0) if policy.constraints else 0.0,
        V=np.atleast_1d(np.asarray(policy.V, dtype=float)),
        dual_bound=assumptions.dual_bound(policy) if price is None else price,
        width=str(policy.width),
        measured=policy.dual_feedback == "measured",
        search=accuracy(1, float(policy.bounds[0, 0])) if policy.continuous else 0.0,  # C
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
    if policy.continuous:
        for outputs, prior in policy.model.groups:
            gains[outputs] = gain_on_space(prior.kernel, policy.arms, T, prior.regularisation).upper
        return gains
    for group in policy.model.groups:
        phi, lam = group.features, group.regularisation
        by_design = greedy_gain(phi, T, lam, steps=DESIGN_STEPS).upper[-1]
        gains[group.outputs] = min(by_design, spectral_gain(phi, T, lam)[0])
    return gains
