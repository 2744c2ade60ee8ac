"""The ledger of any policy: computed for CKB, summed for Doubling; for the others, why there is no bound."""

from dataclasses import replace

from softbandit import validation
from softbandit.policies.base import Policy
from softbandit.policies.ckb import CKB
from softbandit.policies.doubling import Doubling
from softbandit.policies.practical import Practical
from softbandit.theory.assumptions import VIOLATED, Row, Truth
from softbandit.theory.bounds import Bound
from softbandit.theory.certificates import OPEN
from softbandit.theory.ledger import Guarantees, assess
from softbandit.theory.ledger_on_spaces import assess_on_space

__all__ = ["Guarantees", "Truth", "guarantees"]

DOUBLING_RUNS = 3


def guarantees(policy: Policy, problem: Truth | None = None, runs: int = DOUBLING_RUNS) -> Guarantees:
    """Return the ledger of a policy's guarantee; with a problem, assumptions are verified on it.

    For Doubling it covers the first `runs` runs.
    """
    if isinstance(policy, CKB):
        return assess_on_space(policy, problem) if policy.continuous else assess(policy, problem)
    if isinstance(policy, Doubling):
        return _doubling(policy, problem, runs)
    if isinstance(policy, Practical):
        return _practical(policy)
    name = type(policy).__name__
    why_not = f"softbandit computes no bound for {name}; its authors' claim: {policy.about.guarantee}"
    return Guarantees(name, policy.horizon or 0, (), OPEN, "it applies to CKB", None, why_not)


def _doubling(policy: Doubling, problem: Truth | None, runs: int) -> Guarantees:
    """Return the ledger of the first runs together: the sum of their bounds."""
    first = policy.policy.horizon
    horizons = [first << k for k in range(validation.whole("runs", runs, least=1))]
    ledgers = [guarantees(policy.policy.replace(horizon=T), problem) for T in horizons]
    bounds = [ledger.bound for ledger in ledgers if ledger.bound is not None]
    last = replace(ledgers[-1], policy=f"Doubling of {ledgers[-1].policy}")
    if len(bounds) < len(ledgers):
        return last
    probability = 1 - sum(1 - bound.probability for bound in bounds)
    if probability <= 0:
        why_not = f"the failure probabilities of the {runs} runs add up to 1 or more; lower confidence"
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
    return Guarantees("Practical CKB", policy.horizon, rows, OPEN, "outside the theorem", None, why_not)
