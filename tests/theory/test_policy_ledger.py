import math
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.theory import Setting, gain_on_space, theorem_1

PROBLEM = examples_of.problem()
CKB = examples_of.policy(PROBLEM, explore="rand")
POLICIES = {
    "CKB": (CKB, {}),
    "Doubling": (sb.Doubling(CKB), {"runs": 2}),
    "Autopilot": (examples_of.POLICIES["Autopilot"], {}),
    "RPOL": (examples_of.POLICIES["RPOL"], {}),
}


@pytest.mark.parametrize(("policy", "options"), POLICIES.values(), ids=POLICIES)
def test_a_policys_guarantees_are_those_of_the_theory(policy, options):
    ledger = sb.theory.guarantees(policy, PROBLEM, **options)
    assert ledger.to_json() == policy.guarantees(PROBLEM, **options).to_json()
    assert ledger.covered == isinstance(policy, sb.CKB | sb.Doubling)


def test_the_import_contract_has_one_exception():
    """Only `policy.guarantees()` imports upwards."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    (contract,) = project["tool"]["importlinter"]["contracts"]
    assert contract["ignore_imports"] == ["softbandit.policies.base -> softbandit.theory.policy_ledger"]


SPACE_PROBLEM = sb.problems.rkhs_on(sb.Box(0, 1), seed=1)


def on_space(**settings):
    return sb.CKB(**{**SPACE_PROBLEM.settings(), "horizon": 500, **settings})


def status(ledger):
    return {row.assumption: row.status for row in ledger.rows}


@pytest.mark.parametrize("width", ["theory", "tight"])
def test_the_bound_on_a_space_is_the_theorems_with_the_gain_and_the_searches_of_the_space(width):
    policy = on_space(width=width, cost_kernel=sb.Matern(0.3), cost_bound=10.0)
    lambdas = [float(prior.regularisation) for prior, _ in policy.model.by_output()]
    gains = [
        gain_on_space(kernel, policy.arms, 500, lam).upper
        for kernel, lam in zip((SPACE_PROBLEM.kernel, sb.Matern(0.3)), lambdas, strict=True)
    ]
    B, delta = SPACE_PROBLEM.reward_bound, SPACE_PROBLEM.slater
    exact = theorem_1(
        Setting(
            horizon=500,
            bound=np.array([B, 10.0]),
            noise=np.array([0.1, 0.1]),
            gain=np.array(gains),
            regularisation=np.array(lambdas),
            confidence=0.1,
            width_scale=1.0,
            slater=delta,
            slack=0.0,
            rho=4 * B / delta,
            V=np.array([10.0 * math.sqrt(500) * delta / (4 * B)]),
            dual_bound=2 * B / delta,
            width=width,
        )
    )
    searches = 2 * 0.01 * B * math.sqrt(500)
    ledger = policy.guarantees()
    assert ledger.bound.regret == pytest.approx(exact.regret + searches)
    assert ledger.bound.violation == pytest.approx(exact.violation + searches / (2 * B / delta))
    assert ledger.constants["gamma_T"] == pytest.approx(gains)


def test_a_bound_on_a_space_is_given_under_a_condition_and_does_not_count_as_covered():
    for explore, theorem in (("ucb", "Theorem 3.3"), ("rand", "Theorem 3.6")):
        ledger = on_space(explore=explore).guarantees(SPACE_PROBLEM)
        assert ledger.bound.theorem == theorem
        assert not ledger.covered
        assert ledger.provided == "each search is accurate to C / sqrt(t)"
        assert f"BOUND, provided that {ledger.provided}" in " ".join(str(ledger).split())
        assert [name for name, value in status(ledger).items() if value == "unknown"] == ["maximiser to C / sqrt(t)"]
    runs = [on_space(horizon=T, confidence=0.01).guarantees(SPACE_PROBLEM).bound.regret for T in (100, 200)]
    total = sb.Doubling(on_space(horizon=100, confidence=0.01)).guarantees(SPACE_PROBLEM, runs=2)
    assert total.bound.regret == pytest.approx(sum(runs))
    assert not total.covered


@pytest.mark.parametrize(
    ("settings", "assumption"),
    [
        ({"budget": 9}, "posterior kept whole"),
        ({"explore": "ts"}, "prior sampled exactly"),
        ({"explore": "ucb", "explore_cost": "ts"}, "prior sampled exactly"),
        ({"reward_bound": 0.5}, "norm of f <= B"),
        ({"width_scale": 0.5}, "width at least beta_t"),
        ({"dual": "queue"}, "dual of Algorithm 1"),
    ],
)
def test_on_a_space_a_violated_assumption_leaves_no_number(settings, assumption):
    ledger = on_space(**settings).guarantees(SPACE_PROBLEM)
    assert status(ledger)[assumption] == "violated"
    assert assumption in ledger.why_not
    assert ledger.bound is ledger.provided is None


def test_on_a_space_other_unknown_assumptions_leave_no_number():
    margin = sb.theory.largest_margin(SPACE_PROBLEM.costs).margin

    def raised(X):
        return SPACE_PROBLEM.function(X) + np.array([0.0, margin - 0.5])

    small = on_space(slater=1.0, rho=1e3).guarantees(replace(SPACE_PROBLEM, function=raised, norms=None))
    assert status(small)["Slater's condition"] == "unknown"
    assert small.bound is None
    assert "Slater's condition" in small.why_not

    class Coin:
        def draws(self, rank):
            return sb.DrawCount(uniform=1)

        def estimate(self, belief, width, draws):
            return belief.mean + width * (draws.uniform < 0.5) * belief.std

    own = on_space(explore=Coin()).guarantees()
    assert own.bound is None
    assert own.why_not == "the law of this exploration is known on finite arms only"


def test_on_a_space_norms_are_verified_where_the_problem_states_them_for_the_policys_kernel():
    names = ["norm of f <= B", "norm of g <= G"]
    for settings, problem, expected in (
        ({}, SPACE_PROBLEM, "verified"),
        ({}, None, "given"),
        ({"kernel": sb.Matern(0.3)}, SPACE_PROBLEM, "given"),
    ):
        statuses = status(on_space(**settings).guarantees(problem))
        assert [statuses[name] for name in names] == [expected] * 2
    gardner = sb.problems.standard("gardner-1")
    assert status(sb.CKB(**gardner.settings(), horizon=10).guarantees(gardner))["norm of f <= B"] == "given"
    free = status(on_space(constraints=0).guarantees(SPACE_PROBLEM))
    assert free["norm of f <= B"] == "verified"
    assert "norm of g <= G" not in free


def test_the_ledger_says_where_only_the_trivial_gain_is_known():
    policy = on_space(kernel=sb.Matern(0.01, nu=0.5) * sb.Linear())
    (row,) = [row for row in policy.guarantees().rows if row.assumption == "gamma_T bounded"]
    assert "trivial" in row.detail
    (row,) = [row for row in on_space().guarantees().rows if row.assumption == "gamma_T bounded"]
    assert "trivial" not in row.detail


def test_a_problem_on_another_space_is_refused():
    other = sb.problems.rkhs_on(sb.Box(0, 2), seed=1)
    for problem in (other, PROBLEM):
        with pytest.raises(sb.ArgumentError, match="arms"):
            on_space().guarantees(problem)
    equal = sb.Box(0.0, 1.0)
    assert on_space(arms=equal).guarantees(SPACE_PROBLEM).bound is not None
