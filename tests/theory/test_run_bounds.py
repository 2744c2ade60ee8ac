import math

import numpy as np
import pytest
from softbandit_tests import examples_of
from softbandit_tests import paper_formulas as literal

import softbandit as sb
from softbandit.model import from_settings
from softbandit.theory.regression import RunPosterior
from softbandit.theory.run_bounds import Bounds, PointBounds, arm_bounds
from softbandit.theory.run_model import Run, replay_model, step_of

PROBLEM = examples_of.problem(seed=7, noise=0.3)
ALPHA = 0.05


def run_of(policy, problem, rounds, trials=1):
    return Run.of(policy, sb.simulate(policy, problem, trials=trials, rounds=rounds, engine="numpy"))


def lambdas(policy):
    """The certificate's lambda of each output: any choice is valid."""
    return [group.regularisation for group, _ in replay_model(policy, ALPHA).by_output()]


def last(bounds):
    *_, final = bounds
    return final


def test_bounds_are_the_tight_ones_intersected_over_time_in_plain_loops():
    policy = examples_of.policy(PROBLEM, explore="rand", width_scale=0.1)
    run = run_of(policy, PROBLEM, 12)
    K, R = PROBLEM.kernel(PROBLEM.arms, PROBLEM.arms), PROBLEM.noise
    got = last(arm_bounds(policy, run, ALPHA))
    for row, (B, lam) in enumerate(zip((policy.reward_bound, policy.cost_bound), lambdas(policy), strict=True)):
        lower, upper = np.full(30, -B), np.full(30, B)  # k(x, x) = 1
        for t in range(1, 13):
            arms = run.arms[0, :t]
            mu, k = literal.posterior(K, arms, run.observed[0, :t, row], lam)
            gain = 0.5 * np.linalg.slogdet(np.eye(t) + K[np.ix_(arms, arms)] / lam)[1]
            beta = math.sqrt(B**2 + R**2 / lam * (2 * gain + 2 * math.log(2 / ALPHA)))
            width = beta * np.sqrt(np.diagonal(k))
            lower, upper = np.maximum(lower, mu - width), np.minimum(upper, mu + width)
        np.testing.assert_allclose(got.lower[0, row], lower, atol=1e-9)
        np.testing.assert_allclose(got.upper[0, row], upper, atol=1e-9)


def test_bounds_do_not_depend_on_the_policy_that_is_asked_for_them():
    """Widths, lambda and exploration change decisions, not what the same rounds say."""
    ckb = examples_of.policy(PROBLEM)
    run = run_of(ckb, PROBLEM, 15)
    expected = last(arm_bounds(ckb, run, ALPHA))
    others = [
        ckb.replace(width_scale=0.01, regularisation=7.0, explore="ts"),
        sb.Doubling(ckb),
        examples_of.policy(PROBLEM, kind=sb.baselines.ConstrainedEI),
    ]
    for policy in others:
        got = last(arm_bounds(step_of(policy), run, ALPHA))
        np.testing.assert_allclose(got.lower, expected.lower, atol=1e-9)
        np.testing.assert_allclose(got.upper, expected.upper, atol=1e-9)


@pytest.mark.parametrize("noise", [0.0, 1e-4, 0.3])
def test_bounds_at_points_of_a_space_are_those_over_arms_at_the_same_points(noise, monkeypatch):
    settings = {"reward_bound": 2.0, "cost_bound": 1.5, "noise": noise, "horizon": 60, "slater": 0.5}
    grid = np.linspace(0, 1, 21)[:, None]
    monkeypatch.setattr(from_settings, "_some_points", lambda arms: grid)  # the same lambda on both
    on_arms = sb.CKB(grid, sb.Matern(0.3), **settings)
    on_space = sb.CKB(sb.Box(0, 1), sb.Matern(0.3), **settings)
    rng = np.random.default_rng(0)
    arms = rng.integers(0, 21, (1, 25))
    Y = np.stack([np.sin(3 * grid[arms, 0]), 0.5 - grid[arms, 0]], axis=-1) + noise * rng.standard_normal((1, 25, 2))
    over_arms = last(arm_bounds(on_arms, Run(arms, Y), ALPHA))
    at_points = PointBounds.of(on_space, grid[arms[0]], Y[0], ALPHA)(grid)
    # lambda is at least 1e-10 on a space; without noise that is not what it is over arms, sqrt(1e-10) = 1e-5 apart
    tolerance = 1e-4 if noise == 0 else 1e-7
    np.testing.assert_allclose(at_points.lower, over_arms.lower[0], atol=tolerance)
    np.testing.assert_allclose(at_points.upper, over_arms.upper[0], atol=tolerance)


def test_true_functions_lie_within_the_bounds_and_the_bounds_shrink():
    policy = examples_of.policy(PROBLEM, explore="rand", width_scale=0.2)
    run = run_of(policy, PROBLEM, 60, trials=20)
    truth = np.stack([PROBLEM.reward, PROBLEM.cost])
    widths = []
    for lower, upper in arm_bounds(policy, run, ALPHA):
        assert np.all(lower <= truth)
        assert np.all(truth <= upper)
        widths.append((upper - lower).sum())
    assert np.all(np.diff(widths) <= 0)
    assert widths[-1] < 0.7 * widths[0]


def test_a_contradiction_beyond_rounding_is_reported():
    bounds = Bounds(np.array([[0.0, 1.0]]), np.array([[1.0, 1.0 - 1e-6]]))
    assert bounds.contradict(np.array([[1.0]])).tolist() == [[False, True]]
    assert not bounds.contradict(np.array([[1e6]])).any()


def test_the_posterior_of_a_run_is_that_of_its_gaussian_model_in_plain_formulas():
    policy = examples_of.policy(PROBLEM)
    run = run_of(policy, PROBLEM, 25)
    arms, R = run.arms[0], PROBLEM.noise
    posterior = RunPosterior.of(policy, PROBLEM.arms[arms], run.observed[0])
    mean, std = posterior.moments(PROBLEM.arms)
    for row, lam in enumerate(lambdas(policy)):
        prior = R**2 / lam * PROBLEM.kernel(PROBLEM.arms, PROBLEM.arms)
        solve = np.linalg.solve(prior[np.ix_(arms, arms)] + R**2 * np.eye(25), np.eye(25))
        np.testing.assert_allclose(mean[row], prior[:, arms] @ solve @ run.observed[0, :, row], atol=1e-9)
        covariance = prior - prior[:, arms] @ solve @ prior[arms]
        np.testing.assert_allclose(posterior.covariance(PROBLEM.arms)[row], covariance, atol=1e-8)
        np.testing.assert_allclose(std[row] ** 2, np.diagonal(covariance), atol=1e-8)
