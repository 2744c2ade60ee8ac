import numpy as np
import pytest

import softbandit as sb
from softbandit.backend.random import Draws


def test_functions_with_another_length_than_the_arms_are_refused():
    problem = sb.problems.rkhs()
    with pytest.raises(sb.ArgumentError, match="reward, cost: expected"):
        sb.problems.Problem(**{**vars(problem), "cost": np.zeros(99)})
    with pytest.raises(sb.ArgumentError, match="reward: expected 100 values, one per arm, got 99"):
        sb.problems.Problem(**{**vars(problem), "reward": np.zeros(99), "cost": np.zeros(99)})


def test_contexts_with_another_length_than_the_arms_are_refused():
    with pytest.raises(sb.ArgumentError, match="contexts: expected 100 values, one per arm, got 99"):
        sb.problems.Problem(**{**vars(sb.problems.rkhs()), "contexts": np.zeros(99)})


@pytest.mark.parametrize(
    "bad",
    [
        {"reward": [np.nan] * 100},
        {"slater": 5},
        {"reward_bound": -1},
        {"cost_bound": [1, 2]},
        {"noise": -1},
        {"cost_noise": -1},
        {"cost_noise": [1, 2]},
    ],
)
def test_invalid_constants_of_a_problem_are_refused(bad):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        sb.problems.Problem(**{**vars(sb.problems.rkhs()), **bad})


def with_cost_noise(law):
    """A problem whose noise has the scales 0.5, 0.25 and 2."""
    problem = sb.problems.rkhs(arms=20, constraints=2, seed=5)
    return sb.problems.Problem(**{**vars(problem), "noise": 0.5, "cost_noise": [0.25, 2.0], "law": law})


@pytest.mark.parametrize("law", [sb.problems.GaussianNoise(), sb.problems.UniformNoise(), sb.problems.StudentNoise()])
def test_the_noise_of_each_output_is_that_of_scale_1_times_its_own_scale(law):
    problem, unit = with_cost_noise(law), sb.problems.rkhs(arms=20, constraints=2, seed=5, noise=1.0, law=law)
    rng, arm = np.random.default_rng(0), np.arange(20)
    draws = Draws(rng.standard_normal((20, 3)), rng.random((20, 6 if law == sb.problems.StudentNoise() else 3)))
    (reward, cost), (unit_reward, unit_cost) = (p.observe(arm, draws) for p in (problem, unit))
    np.testing.assert_allclose(reward - problem.reward, 0.5 * (unit_reward - unit.reward), atol=1e-12)
    np.testing.assert_allclose(cost - problem.costs, [0.25, 2.0] * (unit_cost - unit.costs), atol=1e-12)


def test_a_policy_is_given_the_noise_of_each_output_and_the_ledger_compares_them_one_by_one():
    problem = with_cost_noise(sb.problems.GaussianNoise())
    np.testing.assert_array_equal(problem.sub_gaussian, [0.5, 0.25, 2.0])
    right = sb.CKB(**problem.settings(), horizon=50)
    np.testing.assert_array_equal(right.model.noise, [0.5, 0.25, 2.0])
    swapped = right.replace(cost_noise=[2.0, 0.25])
    status = [
        next(row.status for row in policy.guarantees(problem).rows if row.assumption == "noise R-sub-Gaussian")
        for policy in (right, swapped)
    ]
    assert status == ["verified", "violated"]


@pytest.mark.extra
def test_both_engines_observe_the_noise_of_each_output():
    problem = with_cost_noise(sb.problems.GaussianNoise())
    policy = sb.CKB(**problem.settings(), horizon=2000, explore="rand")
    for engine in ("numpy", "jax"):
        trace = sb.simulate(policy, problem, engine=engine)
        noise = np.c_[trace.rewards[0] - problem.reward[trace.arms[0]], trace.costs[0] - problem.costs[trace.arms[0]]]
        # A standard deviation of 2,000 Gaussian draws has a relative standard error of 1 / sqrt(4,000) = 1.6%.
        np.testing.assert_allclose(noise.std(axis=0), [0.5, 0.25, 2.0], rtol=5 * 0.016)


def test_a_space_problem_has_noise_of_each_output_too():
    problem = sb.problems.rkhs_on(seed=1)
    other = sb.problems.SpaceProblem(problem.arms, problem.kernel, problem.function, 0.5, 1, 1, 0.1, cost_noise=2.0)
    x, draws = np.array([[0.3]]), Draws(np.array([[1.0, 1.0]]), np.empty((1, 0)))
    reward, cost = other.observe(x, draws)
    np.testing.assert_allclose([reward[0], cost[0, 0]] - problem.function(x)[0], [0.5, 2.0])
    np.testing.assert_array_equal(other.discretised([[0.1], [0.2]]).noises, [0.5, 2.0])
