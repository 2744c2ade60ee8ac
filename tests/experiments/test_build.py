import math

import numpy as np
import pytest

import softbandit as sb
from softbandit.experiments.build import build_policy, build_problem, safe_arm, width_without_gain

PROBLEM = sb.problems.rkhs(seed=3)


def build(label="ckb-ucb", **settings):
    return build_policy(label, settings, PROBLEM, {"horizon": 100})


def test_a_policy_gets_the_settings_of_the_problem_and_of_the_file():
    policy = build(width_scale=0.3)
    assert policy.reward_bound == PROBLEM.reward_bound
    assert (policy.horizon, policy.width_scale) == (100, 0.3)


def test_settings_of_a_policy_override_common_settings():
    assert build_policy("a", {"policy": "ckb-ucb", "horizon": 7}, PROBLEM, {"horizon": 100}).horizon == 7


def test_the_word_default_leaves_a_setting_at_its_default():
    assert build(regularisation="default").given["regularisation"] is None


def test_slack_share_is_a_share_of_the_slater_margin():
    assert build(slack_share=0.25).slack == pytest.approx(PROBLEM.slater / 4)


def test_a_width_without_gain_is_the_theorys_width_at_zero_gain():
    B, G, R = PROBLEM.reward_bound, PROBLEM.cost_bound, PROBLEM.noise
    root = math.sqrt(2 * (1 + math.log(2 / 0.05)))
    assert width_without_gain(PROBLEM, 0.05) == pytest.approx([B + R * root, G + R * root])
    assert build(width="without gain", confidence=0.05).width == pytest.approx([B + R * root, G + R * root])


def test_a_width_without_gain_has_the_noise_of_each_output():
    problem = sb.problems.measured("SS-D")
    bounds, root = [problem.reward_bound, problem.cost_bound], math.sqrt(2 * (1 + math.log(2 / 0.1)))
    expected = [b + R * root for b, R in zip(bounds, [problem.noise, problem.cost_noise], strict=True)]
    assert width_without_gain(problem, 0.1) == pytest.approx(expected)


def test_a_measured_system_is_named_by_the_file_or_by_the_grid():
    by_file = build_problem({"kind": "measured", "name": "SS-D"}, {}, seed=3)
    by_grid = build_problem({"kind": "measured", "name": "SS-E"}, {"problem.name": "SS-D"})
    assert by_file.name == by_grid.name == sb.problems.measured("SS-D").name


def test_a_width_with_a_factor_sets_both():
    policy = build(width="tight x 0.5")
    assert (policy.width, policy.width_scale) == ("tight", 0.5)
    with pytest.raises(sb.ArgumentError, match="width"):
        build(width="tight x half")


def test_explore_with_a_law_builds_rand_ucb_with_that_distribution():
    policy = build("ckb", explore={"law": "uniform", "points": 5})
    assert policy.explore == sb.RandUCB(sb.UniformDiscrete(points=5))


def test_safe_arms_are_feasible_and_the_median_is_in_the_middle_by_cost():
    feasible = np.flatnonzero(PROBLEM.cost <= 0)
    assert safe_arm(PROBLEM, "safest") == PROBLEM.cost.argmin()
    below = (PROBLEM.cost[feasible] < PROBLEM.cost[safe_arm(PROBLEM, "median")]).sum()
    assert below == len(feasible) // 2
    assert safe_arm(PROBLEM, [3, 4]) == [3, 4]
    assert build("stageopt").safe == safe_arm(PROBLEM, "median")


def test_opb_knows_the_cost_of_its_safe_arm():
    assert [*build("opb").safe_cost] == [PROBLEM.cost[safe_arm(PROBLEM, "median")]]
    assert build("opb", safe_cost=-0.01).safe_cost == -0.01


def test_a_random_safe_arm_depends_on_the_seed_alone():
    drawn = [safe_arm(PROBLEM, "random", seed) for seed in range(20)]
    assert drawn == [safe_arm(PROBLEM, "random", seed) for seed in range(20)]
    assert len(set(drawn)) > 5
    assert (PROBLEM.cost[drawn] <= 0).all()


def test_a_cap_changes_rho_and_keeps_the_default_v():
    default, capped = build(), build(cap=1.0)
    assert capped.rho == 1.0
    assert pytest.approx(default.V) == capped.V


def test_a_problem_without_a_feasible_arm_raises_safe_seed_error():
    both = np.array([[1.0, -2.0], [-2.0, 1.0]])
    problem = sb.problems.Problem(
        np.eye(2), sb.Linear(), np.zeros(2), both, noise=0.1, reward_bound=1, cost_bound=2, slater=0.5
    )
    with pytest.raises(sb.SafeSeedError, match="an arm that is feasible"):
        safe_arm(problem, "median")


def test_a_problem_gets_the_settings_of_the_grid_point_and_the_seed():
    spec = {"kind": "rkhs", "arms": 20, "noise": 0.1}
    problem = build_problem(spec, {"problem.noise": 0.5, "width_scale": 1.0}, seed=4)
    assert problem.noise == 0.5
    np.testing.assert_array_equal(problem.reward, sb.problems.rkhs(arms=20, seed=4).reward)
