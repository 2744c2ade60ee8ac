import json

import examples_of
import numpy as np
import pytest

import softbandit as sb
from softbandit.theory import norm_on_arms
from softbandit.theory.ledger import GIVEN, UNKNOWN, VERIFIED, VIOLATED

ONE_ARM, MIXED = examples_of.problem(seed=1), examples_of.problem(seed=7)


def status(ledger):
    return {row.assumption: row.status for row in ledger.rows}


def test_the_problems_are_what_their_names_say():
    arms = [(sb.randomized_optimum(p.reward, p.cost).weights > 0).sum() for p in (ONE_ARM, MIXED)]
    assert arms == [1, 2]


def test_without_a_problem_the_users_word_is_taken():
    ledger = examples_of.policy(ONE_ARM).guarantees()
    assert ledger.covered
    found = status(ledger)
    for name in ("norm of f <= B", "norm of g <= G", "noise R-sub-Gaussian", "Slater's condition", "at most T rounds"):
        assert found[name] == GIVEN
    assert found["k(x, x) <= 1"] == found["width at least beta_t"] == VERIFIED


def test_with_a_problem_assumptions_are_verified():
    found = status(examples_of.policy(ONE_ARM).guarantees(ONE_ARM))
    assert set(found.values()) == {VERIFIED, GIVEN}
    assert [name for name, value in found.items() if value == GIVEN] == ["at most T rounds"]


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
def test_a_false_assumption_is_found_and_named(settings, assumption):
    problem = examples_of.problem(seed=7)
    if "slater" in settings:  # a problem whose margin is small
        costs = problem.cost - problem.cost.min() - 0.2
        problem = sb.problems.Problem(**{**vars(problem), "cost": costs, "slater": 0.2})
    ledger = examples_of.policy(problem, **settings).guarantees(problem)
    assert status(ledger)[assumption] == VIOLATED
    assert not ledger.covered
    assert assumption in ledger.why_not


def test_what_cannot_be_known_is_unknown():
    thompson = examples_of.policy(ONE_ARM, explore="ts").guarantees()
    assert status(thompson)["pi* sits on one arm"] == UNKNOWN
    assert not thompson.covered
    assert "only where pi* sits on one arm" in thompson.why_not
    own = examples_of.policy(ONE_ARM, width=3.0).guarantees()
    assert status(own)["width at least beta_t"] == UNKNOWN
    assert not own.covered


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


def test_several_constraints_and_none():
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
    assert row.status == VIOLATED  # 4 B / delta is exactly the bound at epsilon = delta / 2
    wider = policy.replace(rho=8.1 * ONE_ARM.reward_bound / ONE_ARM.slater)
    assert wider.guarantees().covered


def test_it_prints_within_eighty_columns_and_exports_to_json():
    for settings in ({}, {"explore": "ts"}, {"explore": "greedy"}, {"dual": "queue"}, {"rho": 0.1}):
        ledger = examples_of.policy(MIXED, **settings).guarantees(MIXED)
        text = str(ledger)
        assert max(map(len, text.splitlines())) <= 80
        assert ("NOT COVERED" in text) != ledger.covered
        found = json.loads(ledger.to_json())
        assert found["covered"] == ledger.covered
        assert len(found["rows"]) == len(ledger.rows)


def test_a_bound_beyond_the_trivial_one_is_called_void():
    assert "void: 2 B T" in str(examples_of.policy(ONE_ARM, explore="rand").guarantees(ONE_ARM))


@pytest.mark.parametrize("seed", range(5))
def test_the_norm_on_the_arms_is_the_functions(seed):
    problem = examples_of.problem(seed=seed, arms=60)
    phi = examples_of.policy(problem).surrogate.factors[0]
    norm, missed = norm_on_arms(phi, problem.reward)
    assert norm == pytest.approx(problem.reward_bound, rel=1e-6)
    assert missed < 1e-9


def test_the_norm_by_hand():
    phi = sb.theory.features(sb.Linear(), np.array([[0.6, 0.0], [0.0, 0.8]]))
    assert norm_on_arms(phi, np.array([0.3, 0.8]))[0] == pytest.approx(np.hypot(0.5, 1.0))
