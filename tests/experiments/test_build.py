import math

import numpy as np
import pytest

import softbandit as sb
from softbandit.experiments.build import build_policy, build_problem, safe_arm, width_without_gain

PROBLEM = sb.problems.rkhs(seed=3)


def built(label="ckb-ucb", **own):
    return build_policy(label, own, PROBLEM, {"horizon": 100})


def test_a_policy_is_told_what_the_problem_says():
    policy = built(width_scale=0.3)
    assert policy.reward_bound == PROBLEM.reward_bound
    assert (policy.horizon, policy.width_scale) == (100, 0.3)


def test_its_own_settings_come_last():
    assert build_policy("a", {"policy": "ckb-ucb", "horizon": 7}, PROBLEM, {"horizon": 100}).horizon == 7


def test_a_default_stands_for_itself():
    assert built(regularisation="default").given["regularisation"] is None


def test_slack_is_a_share_of_the_margin():
    assert built(slack_share=0.25).slack == pytest.approx(PROBLEM.slater / 4)


def test_a_width_without_gain_is_the_theorys_at_zero_gain():
    B, G, R = PROBLEM.reward_bound, PROBLEM.cost_bound, PROBLEM.noise
    root = math.sqrt(2 * (1 + math.log(2 / 0.05)))
    assert width_without_gain(PROBLEM, 0.05) == pytest.approx([B + R * root, G + R * root])
    assert built(width="without gain", confidence=0.05).width == pytest.approx([B + R * root, G + R * root])


def test_a_law_makes_a_randomised_ucb():
    policy = built("ckb", explore={"law": "uniform", "points": 5})
    assert policy.explore == sb.RandUCB(sb.UniformDiscrete(points=5))


def test_a_safe_arm_is_safe_and_the_median_one_is_in_the_middle():
    feasible = np.flatnonzero(PROBLEM.cost <= 0)
    assert safe_arm(PROBLEM, "safest") == PROBLEM.cost.argmin()
    below = (PROBLEM.cost[feasible] < PROBLEM.cost[safe_arm(PROBLEM, "median")]).sum()
    assert below == len(feasible) // 2
    assert safe_arm(PROBLEM, [3, 4]) == [3, 4]
    assert built("stageopt").safe == safe_arm(PROBLEM, "median")


def test_a_random_safe_arm_depends_on_the_seed_alone():
    drawn = [safe_arm(PROBLEM, "random", seed) for seed in range(20)]
    assert drawn == [safe_arm(PROBLEM, "random", seed) for seed in range(20)]
    assert len(set(drawn)) > 5
    assert (PROBLEM.cost[drawn] <= 0).all()


def test_a_cap_keeps_the_usual_step():
    usual, capped = built(), built(cap=1.0)
    assert capped.rho == 1.0
    assert pytest.approx(usual.V) == capped.V


def test_no_safe_arm_is_said():
    both = np.array([[1.0, -2.0], [-2.0, 1.0]])
    problem = sb.problems.Problem(
        np.eye(2), sb.Linear(), np.zeros(2), both, noise=0.1, reward_bound=1, cost_bound=2, slater=0.5
    )
    with pytest.raises(sb.SafeSeedError, match="an arm that is feasible"):
        safe_arm(problem, "median")


def test_a_problem_takes_the_grids_settings_and_a_seed():
    spec = {"kind": "rkhs", "arms": 20, "noise": 0.1}
    problem = build_problem(spec, {"problem.noise": 0.5, "width_scale": 1.0}, seed=4)
    assert problem.noise == 0.5
    np.testing.assert_array_equal(problem.reward, sb.problems.rkhs(arms=20, seed=4).reward)
