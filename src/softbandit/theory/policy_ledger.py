"""The ledger of any policy: worked out for CKB, added up for Doubling, a reason why there is none for the others."""

from dataclasses import replace

import numpy as np

from softbandit import validation
from softbandit.policies.base import Policy
from softbandit.policies.ckb import CKB
from softbandit.policies.doubling import Doubling
from softbandit.policies.practical import Practical
from softbandit.theory.assumptions import VIOLATED, Row, Subject, Truth
from softbandit.theory.bounds import Bound
from softbandit.theory.ledger import Guarantees, assess
from softbandit.theory.ledger_on_spaces import assess_on_space

DOUBLING_RUNS = 3


def guarantees(policy: Policy, problem: Truth | None = None, runs: int = DOUBLING_RUNS) -> Guarantees:
    """Return the ledger of a policy's guarantee; with a problem, assumptions are verified on it.

    For Doubling it covers the first `runs` runs.
    """
    if isinstance(policy, CKB):
        return _ckb(policy, problem)
    if isinstance(policy, Doubling):
        return _doubling(policy, problem, runs)
    if isinstance(policy, Practical):
        return _practical(policy)
    name = type(policy).__name__
    why_not = f"softbandit works out no theorem for {name}; its authors' claim: {policy.about.guarantee}"
    return Guarantees(name, policy.horizon or 0, (), "not decided", "it is made for CKB", None, why_not)


def _ckb(policy: CKB, problem: Truth | None) -> Guarantees:
    by_output = policy.model.by_output()
    explorations = [exploration for _, exploration in by_output]
    names = " and ".join(dict.fromkeys(type(exploration).__name__ for exploration in explorations))
    subject = Subject(
        name=f"{type(policy).__name__} with {names}",
        arms=policy.arms,
        horizon=policy.horizon,
        bound=policy.bounds[:, 0],
        noise=policy.model.noise,
        regularisation=np.array([modelled.regularisation for modelled, _ in by_output]),
        features=() if policy.continuous else [modelled.features for modelled, _ in by_output],
        explorations=explorations,
        confidence=policy.confidence,
        width=policy.width,
        width_scale=policy.width_scale,
        projected=policy.dual == "projected",
        slater=policy.slater,
        slack=policy.slack,
        rho=float(policy.rho or 0.0),
        V=np.atleast_1d(np.asarray(policy.V, dtype=float)),
    )
    return assess_on_space(subject, problem, policy.budget) if policy.continuous else assess(subject, problem)


def _doubling(policy: Doubling, problem: Truth | None, runs: int) -> Guarantees:
    """Return the ledger for the first runs together: each has its own bound, and they add up."""
    first = policy.policy.horizon
    horizons = [first << k for k in range(validation.whole("runs", runs, least=1))]
    ledgers = [guarantees(policy.policy.replace(horizon=T), problem) for T in horizons]
    bounds = [ledger.bound for ledger in ledgers if ledger.bound is not None]
    last = replace(ledgers[-1], policy=f"Doubling of {ledgers[-1].policy}")
    if len(bounds) < len(ledgers):
        return last
    probability = 1 - sum(1 - bound.probability for bound in bounds)
    if probability <= 0:
        why_not = f"each of {runs} runs may fail, and together they leave no probability; lower confidence"
        return replace(last, bound=None, why_not=why_not, constants={})
    total = Bound(
        theorem=f"{bounds[0].theorem}, in each of {len(bounds)} runs",
        probability=probability,
        regret=sum(bound.regret for bound in bounds),
        violation=sum(bound.violation for bound in bounds),
    )
    T = sum(horizons)
    trivial = (last.trivial[0] * T / last.horizon, last.trivial[1] * T / last.horizon)
    return replace(last, horizon=T, bound=total, trivial=trivial)


def _practical(policy: Practical) -> Guarantees:
    """Return the ledger of a policy that learns from the data what the theorem takes as known."""
    names = ["kernel", "norms B and G", "noise R", "widths", "rho and V" if policy.constraints else ""]
    rows = tuple(Row(name, VIOLATED, "learned from the data") for name in names if name)
    why_not = "practical mode: kernel, bounds, noise and widths come from the data; the theorem takes them as known"
    return Guarantees("Practical CKB", policy.horizon, rows, "not decided", "outside the theorem", None, why_not)
