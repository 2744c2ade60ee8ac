import json

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.theory import norm_on_arms
from softbandit.theory.assumptions import GIVEN, UNKNOWN, VERIFIED, VIOLATED

ONE_ARM, MIXED = examples_of.problem(seed=1), examples_of.problem(seed=7)
WIDTHS = ("theory", "tight")


def status(ledger):
    return {row.assumption: row.status for row in ledger.rows}


def test_the_problems_are_what_their_names_say():
    arms = [(sb.randomized_optimum(p.reward, p.cost).weights > 0).sum() for p in (ONE_ARM, MIXED)]
    assert arms == [1, 2]


def test_without_a_problem_the_settings_are_taken_as_given():
    ledger = examples_of.policy(ONE_ARM).guarantees()
    assert ledger.covered
    statuses = status(ledger)
    for name in ("norm of f <= B", "norm of g <= G", "noise R-sub-Gaussian", "Slater's condition", "at most T rounds"):
        assert statuses[name] == GIVEN
    assert statuses["k(x, x) <= 1"] == statuses["width at least beta_t"] == VERIFIED


def test_with_a_problem_assumptions_are_verified():
    statuses = status(examples_of.policy(ONE_ARM).guarantees(ONE_ARM))
    assert set(statuses.values()) == {VERIFIED, GIVEN}
    assert [name for name, value in statuses.items() if value == GIVEN] == ["at most T rounds"]


@pytest.mark.parametrize(
    ("settings", "assumption"),
    [
        ({"reward_bound": 0.5}, "norm of f <= B"),
        ({"cost_bound": 0.5}, "norm of g <= G"),
        ({"kernel": sb.Linear()}, "norm of f <= B"),
        ({"noise": 0.01}, "noise R-sub-Gaussian"),
        ({"slater": 1.0, "cost_bound": 100.0}, "Slater's condition"),
        ({"rho": 0.01}, "rho above phi*"),
        ({"width_scale": 0.5}, "width at least beta_t"),
        ({"regularisation": 0.01}, "lambda >= 1"),
        ({"dual": "queue"}, "dual of Algorithm 1"),
        ({"explore": "ts"}, "pi* sits on one arm"),
    ],
)
def test_a_false_assumption_is_violated_and_named(settings, assumption):
    problem = examples_of.problem(seed=7)
    if "slater" in settings:  # a problem whose margin is small
        costs = problem.cost - problem.cost.min() - 0.2
        problem = sb.problems.Problem(**{**vars(problem), "cost": costs, "slater": 0.2})
    ledger = examples_of.policy(problem, **settings).guarantees(problem)
    assert status(ledger)[assumption] == VIOLATED
    assert not ledger.covered
    assert assumption in ledger.why_not


def test_thompsons_optimum_and_a_users_width_are_unknown_without_a_problem():
    thompson = examples_of.policy(ONE_ARM, explore="ts").guarantees()
    assert status(thompson)["pi* sits on one arm"] == UNKNOWN
    assert not thompson.covered
    assert "only if pi* sits on one arm" in thompson.why_not
    for width in (1e6, np.array([1e6, 1e6]), lambda t: 1e6):
        ledger = examples_of.policy(ONE_ARM, width=width).guarantees()
        assert status(ledger)["width at least beta_t"] == UNKNOWN
        assert ledger.verdict == "not decided"
        assert not ledger.covered


def test_a_users_width_below_the_theorys_is_violated():
    ledger = examples_of.policy(ONE_ARM, width=0.01).guarantees()
    assert status(ledger)["width at least beta_t"] == VIOLATED
    assert ledger.verdict == "not decided"


@pytest.mark.parametrize(
    ("settings", "theorem"),
    [
        ({"explore": "ucb"}, "Theorem 3.3"),
        ({"explore": "rand"}, "Theorem 3.6"),
        ({"explore": "rand", "explore_cost": "ucb"}, "Theorem 3.6"),
        ({"explore": "ts"}, "Theorem 3.6"),
        ({"explore": sb.RandUCB(sb.UniformDiscrete(5))}, "Theorem 3.6"),
        ({"explore": sb.RandUCB(sb.TruncatedGaussian())}, "Theorem 3.6"),
    ],
)
def test_covered_policies_name_their_theorem(settings, theorem):
    assert examples_of.policy(ONE_ARM, **settings).guarantees(ONE_ARM).bound.theorem == theorem


@pytest.mark.parametrize(
    "settings", [{"explore": "greedy"}, {"width_scale": 0.99}, {"explore": "rand", "width_scale": 0.3}]
)
def test_greedy_and_scaled_widths_are_not_covered(settings):
    ledger = examples_of.policy(ONE_ARM, **settings).guarantees(ONE_ARM)
    assert not ledger.covered
    assert ledger.verdict == "not satisfied"


def test_ledgers_with_two_constraints_and_with_none_have_the_rows_that_apply():
    pair = examples_of.problem(constraints=2, seed=5)
    ledger = examples_of.policy(pair).guarantees(pair)
    assert {"norm of g_0 <= G_0", "norm of g_1 <= G_1"} <= set(status(ledger))
    assert ledger.covered
    free = examples_of.policy(ONE_ARM, constraints=0).guarantees(ONE_ARM)
    assert free.covered
    assert "Slater's condition" not in status(free)
    assert "V(T)" not in str(free)


def test_slack_needs_a_cap_above_the_tightened_dual():
    """With slack the optimal dual is bounded by 2 B / (delta - epsilon), not 2 B / delta."""
    policy = examples_of.policy(ONE_ARM, slack=ONE_ARM.slater / 2)
    row = next(row for row in policy.guarantees().rows if row.assumption == "rho above phi*")
    assert row.status == UNKNOWN  # 4 B / delta is exactly the bound on phi* at epsilon = delta / 2
    wider = policy.replace(rho=8.1 * ONE_ARM.reward_bound / ONE_ARM.slater)
    assert wider.guarantees().covered


def test_with_slack_the_optimum_is_that_of_the_tightened_problem():
    problem = next(
        p
        for p in (examples_of.problem(seed=seed) for seed in range(100))
        if [(sb.randomized_optimum(p.reward, p.cost + slack).weights > 0).sum() for slack in (0.0, 0.4 * p.slater)]
        == [1, 2]
    )
    policy = examples_of.policy(problem, explore="ts", rho=1e3)
    assert status(policy.guarantees(problem))["pi* sits on one arm"] == VERIFIED
    tightened = policy.replace(slack=0.4 * problem.slater)
    assert status(tightened.guarantees(problem))["pi* sits on one arm"] == VIOLATED


def test_the_problem_of_another_policy_is_refused():
    policy = examples_of.policy(ONE_ARM)
    moved = sb.problems.Problem(**{**vars(ONE_ARM), "arms": 3 * ONE_ARM.arms})
    for other in (examples_of.problem(constraints=2, seed=5), examples_of.problem(arms=9), moved, "problem"):
        with pytest.raises(sb.ArgumentError, match="problem: expected"):
            policy.guarantees(other)


def test_a_problem_with_contexts_is_not_covered():
    problem = sb.problems.Problem(**{**vars(ONE_ARM), "contexts": np.arange(30) % 2})
    ledger = examples_of.policy(ONE_ARM).guarantees(problem)
    assert status(ledger)["one context"] == VIOLATED


def test_an_infeasible_problem_violates_slaters_condition():
    problem = sb.problems.Problem(**{**vars(ONE_ARM), "cost": np.abs(ONE_ARM.cost) + 0.1})
    ledger = examples_of.policy(ONE_ARM, cost_bound=100.0).guarantees(problem)
    assert status(ledger)["Slater's condition"] == VIOLATED
    assert "no mixture of arms" in ledger.why_not


def test_a_slater_margin_that_was_not_given_is_verified_on_the_problem():
    settings = {**MIXED.settings(), "slater": None}
    ledger = sb.CKB(**settings, horizon=60, rho=1e3).guarantees(MIXED)
    assert status(ledger)["Slater's condition"] == VERIFIED
    assert ledger.covered


def test_thompson_sampling_without_constraints_is_covered():
    assert examples_of.policy(MIXED, explore="ts", constraints=0).guarantees(MIXED).covered
    assert examples_of.policy(MIXED, explore="ts", constraints=0).guarantees().covered


def test_a_coarse_factorisation_violates_the_exact_kernel():
    phi = sb.theory.features(ONE_ARM.kernel, ONE_ARM.arms, tolerance=0.1)
    ledger = examples_of.policy(ONE_ARM, factors=[phi]).guarantees(ONE_ARM)
    assert status(ledger)["kernel kept whole"] == VIOLATED


def test_a_ledger_holds_the_constants_of_the_condition():
    constants = examples_of.policy(ONE_ARM, explore="rand").guarantees(ONE_ARM).constants
    assert set(constants) == {"p_1", "p_2", "p_3", "p_4", "C'", "c1", "c2", "gamma_T"}
    assert constants["p_1"] == 0.1
    assert constants["p_3"] == pytest.approx(0.02517, rel=1e-3)
    assert len(constants["c1"]) == len(constants["c2"]) == 2


def test_a_failure_probability_above_one_half_leaves_no_bound():
    ledger = examples_of.policy(ONE_ARM, explore="rand", confidence=0.6).guarantees(ONE_ARM)
    assert not ledger.covered
    assert "confidence = 0.6 is too large" in ledger.why_not


class Coin:
    def draws(self, rank):
        return sb.DrawCount(uniform=1)

    def estimate(self, belief, width, draws):
        return belief.mean + width * (draws.uniform < 0.5) * belief.std


def test_a_users_exploration_is_covered_on_monte_carlo_evidence():
    ledger = examples_of.policy(ONE_ARM, explore=Coin(), explore_cost="rand").guarantees(ONE_ARM)
    assert ledger.covered
    assert np.isfinite(ledger.bound.regret)
    assert ledger.bound.probability == pytest.approx(1 - 0.2 - 0.01)
    assert "Monte Carlo" in str(ledger)
    assert status(ledger)["draws independent"] == GIVEN


def test_the_bound_of_doubling_is_the_sum_over_its_runs():
    policy = examples_of.policy(ONE_ARM, horizon=100)
    total = sb.Doubling(policy).guarantees(ONE_ARM, runs=2)
    runs = [policy.replace(horizon=T).guarantees(ONE_ARM).bound for T in (100, 200)]
    assert total.bound.regret == pytest.approx(sum(bound.regret for bound in runs))
    assert total.bound.probability == pytest.approx(0.8)
    assert total.horizon == 300
    greedy = sb.Doubling(policy.replace(explore="greedy")).guarantees(ONE_ARM)
    assert not greedy.covered
    assert greedy.policy == "Doubling of CKB with Greedy"
    too_long = sb.Doubling(policy).guarantees(ONE_ARM, runs=11)  # 1 - 11 * 0.1 < 0
    assert not too_long.covered
    assert "11 runs add up to 1 or more" in too_long.why_not


def test_the_ledger_of_a_baseline_says_that_no_bound_is_computed():
    ledger = examples_of.POLICIES["RPOL"].guarantees()
    assert not ledger.covered
    assert "no bound for RPOL" in str(ledger)


def test_the_ledger_of_a_policy_that_is_not_told_its_rounds_names_no_horizon():
    lines = str(sb.theory.guarantees(sb.Autopilot(ONE_ARM.arms))).splitlines()
    assert lines[:3] == ["Guarantees of Autopilot", "", "sufficient condition: not decided; it applies to CKB"]


def test_a_ledger_prints_within_eighty_columns_and_exports_to_json():
    for settings in ({}, {"explore": "ts"}, {"explore": "greedy"}, {"dual": "queue"}, {"rho": 0.1}):
        ledger = examples_of.policy(MIXED, **settings).guarantees(MIXED)
        text = str(ledger)
        assert max(map(len, text.splitlines())) <= 80
        assert ("NOT COVERED" in text) != ledger.covered
        exported = json.loads(ledger.to_json())
        assert exported["covered"] == ledger.covered
        assert len(exported["rows"]) == len(ledger.rows)


def test_a_bound_beyond_the_trivial_one_is_called_void():
    assert "void: 2 B T" in str(examples_of.policy(ONE_ARM, explore="rand").guarantees(ONE_ARM))


@pytest.mark.parametrize("seed", range(5))
def test_the_norm_on_the_arms_is_the_norm_of_the_function(seed):
    problem = examples_of.problem(seed=seed, arms=60)
    phi = examples_of.policy(problem).model.factors[0]
    norm, error = norm_on_arms(phi, problem.reward)
    assert norm == pytest.approx(problem.reward_bound, rel=1e-6)
    assert error < 1e-9


def test_the_norm_on_two_arms_by_hand():
    phi = sb.theory.features(sb.Linear(), np.array([[0.6, 0.0], [0.0, 0.8]]))
    assert norm_on_arms(phi, np.array([0.3, 0.8]))[0] == pytest.approx(np.hypot(0.5, 1.0))


@pytest.mark.parametrize(
    ("law", "status"), [("gaussian", "verified"), ("uniform", "verified"), ("student", "violated")]
)
def test_the_law_of_the_noise_decides_whether_it_is_sub_gaussian(law, status):
    problem = sb.problems.rkhs(arms=30, seed=1, law=law)
    ledger = sb.CKB(**problem.settings(), horizon=100).guarantees(problem)
    assert f"{status} noise R-sub-Gaussian" in str(ledger)
    assert ledger.covered is (status == "verified")


@pytest.mark.parametrize("explore", ["ucb", "rand", "ts"])
@pytest.mark.parametrize("feedback", ["estimate", "measured"])
def test_tight_widths_are_covered_at_any_lambda(explore, feedback):
    settings = {"explore": explore, "dual_feedback": feedback, "confidence": 0.05}
    for regularisation in (None, 1e-3, 5.0):
        ledger = examples_of.policy(ONE_ARM, width="tight", regularisation=regularisation, **settings).guarantees(
            ONE_ARM
        )
        assert ledger.covered, ledger.why_not
        assert status(ledger)["lambda > 0"] == VERIFIED
        assert ("measured" in ledger.bound.theorem) is (feedback == "measured")
    papers = examples_of.policy(ONE_ARM, regularisation=1e-3, **settings).guarantees(ONE_ARM)
    assert status(papers)["lambda >= 1"] == VIOLATED


def test_the_tight_width_gives_smaller_bounds_than_the_papers():
    problem = sb.problems.rkhs(seed=1)
    papers, tight = (sb.CKB(**problem.settings(), horizon=10_000, width=w).guarantees(problem).bound for w in WIDTHS)
    assert tight.regret < 0.7 * papers.regret
    assert tight.violation < 0.5 * papers.violation


def test_a_scaled_tight_width_is_not_covered():
    ledger = examples_of.policy(ONE_ARM, width="tight", width_scale=0.9).guarantees(ONE_ARM)
    assert not ledger.covered
    assert "0.9 x the tight width" in str(ledger)
