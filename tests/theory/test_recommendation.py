from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.theory.recommendation import Beliefs, chances, expected_excess, normal, recommend


def beliefs(mean, std, correlation=0.0):
    """Points 0, 1, ... with these moments, (1 + m, n) each."""
    mean, std = np.array(mean), np.array(std)
    n = mean.shape[1]
    shape = np.full((n, n), correlation) + (1 - correlation) * np.eye(n)

    def covariance(support):
        return std[:, support, None] * std[:, None, support] * shape[np.ix_(support, support)]

    return Beliefs(np.arange(float(n))[:, None], normal(mean, std), covariance, arms=True, values=None)


def test_the_single_arm_has_the_largest_mean_of_those_that_are_probably_feasible():
    """P(cost <= 0) is 0.5, 0.977 and nearly 1 at the three arms."""
    means, stds = [[3.0, 2.0, 1.0], [0.0, -1.0, -5.0]], [[1.0] * 3, [1.0, 0.5, 1.0]]
    got = recommend(beliefs(means, stds), 0.9)
    assert (got.arm, got.reward, got.cost) == (1, 2.0, -1.0)
    assert got.feasible == pytest.approx(0.97725, abs=1e-5)  # Phi(2)
    assert recommend(beliefs(means, stds), 0.99).arm == 2
    assert recommend(beliefs(means, stds), 0.4).arm == 0


def test_without_a_probably_feasible_arm_the_one_of_the_least_expected_excess_is_recommended():
    got = recommend(beliefs([[3.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]), 0.9)
    assert got.arm == 1
    assert got.feasible == pytest.approx(0.15866, abs=1e-5)  # Phi(-1)
    assert got.mixture.arms.tolist() == [1]  # the least excess


def test_far_beyond_its_limit_a_well_known_arm_is_recommended_and_not_an_unknown_one_that_costs_more():
    """P(cost <= 0) is 1e-23 at the first and 1e-7 at the second, which is expected to cost five times as much."""
    got = recommend(beliefs([[0.0, 9.0], [1.0, 5.0]], [[0.1, 0.1], [0.1, 1.0]]), 0.9)
    assert got.arm == 0
    assert got.mixture.arms.tolist() == [0]


def test_expected_excess_is_the_mean_of_draws_in_units_of_the_spread():
    mean, std = np.array([[9.0, 9, 9], [-1, 0.5, 2], [0, 4, -4]]), np.array([[1.0, 1, 1], [1, 0.5, 0], [2, 1, 0]])
    draws = (mean + std * np.random.default_rng(0).standard_normal((400_000, 3, 3)))[:, 1:]
    expected = (np.maximum(draws, 0) / mean[1:].std(axis=1)[:, None]).mean(axis=0).sum(axis=0)
    # 64 quantiles leave out what is beyond 2.4 deviations: E[(z - 2.4)_+] = 0.003 per deviation, of which there are 2.
    np.testing.assert_allclose(expected_excess(normal(mean, std)), expected, atol=0.006)


def test_on_a_log_scale_an_arm_far_beyond_its_limit_is_not_taken_for_feasible():
    """The cost is e^z - 10 with z ~ N(9, 1): zero at ln 10, 6.7 deviations below. Its mean is 1.3 times its deviation,

    so a normal approximation would call it feasible with probability 0.1."""
    scores = np.array([[0.0], [9.0]])

    def quantile(k):
        values = scores + k
        return np.array([values[0], np.exp(values[1]) - 10])

    assert chances(quantile)[0] == pytest.approx(ndtr(np.log(10) - 9), rel=1e-9)
    mixture = Beliefs(np.zeros((1, 1)), quantile, None, arms=True, values=None).mixture(np.ones(1), 0.9)
    np.testing.assert_allclose(mixture.cost_interval, np.exp(9 + 1.6448536 * np.array([-1, 1])) - 10, rtol=1e-6)
    assert mixture.cost == pytest.approx(np.exp(9) - 10)


@pytest.mark.filterwarnings("ignore::softbandit.PolicyWarning")
@pytest.mark.parametrize("seed", range(3))
def test_autopilot_recommends_the_least_cost_also_on_a_log_scale(seed):
    """Costs of 5 to 10,000, all above the limit, with noise of 20%: it once recommended the arm of 10,000."""
    x, rng = np.linspace(0, 1, 40), np.random.default_rng(seed)
    agent = sb.Agent(sb.Autopilot(x[:, None]), seed=seed)
    for _ in range(30):
        decision = agent.ask()
        agent.tell(decision, x[decision.arm], 10 ** (4 * x[decision.arm]) * np.exp(0.2 * rng.standard_normal()) + 4)
    got = agent.recommend()
    assert x[got.arm] < 0.3  # 10^1.2 + 4 = 20
    assert got.feasible < 1e-3


def test_a_cautious_mixture_is_at_least_as_likely_as_asked_for_also_below_one_half():
    means, stds = [[0.0, 1.0, 1.0], [-1.0, 3.0, 3.1]], [[0.1] * 3, [1.0, 2.0, 2.0]]
    assert recommend(beliefs(means, stds), 0.2).cautious.feasible >= 0.2


def test_the_mixture_is_optimal_for_the_means_and_the_cautious_one_for_upper_quantiles():
    means, stds = [[0.0, 1.0], [-1.0, 3.0]], [[0.1, 0.1], [0.2, 0.4]]
    got = recommend(beliefs(means, stds), 0.9)
    np.testing.assert_allclose(got.mixture.weights, [0.75, 0.25])
    assert (got.mixture.reward, got.mixture.cost) == (pytest.approx(0.25), pytest.approx(0.0, abs=1e-12))
    assert got.mixture.feasible == pytest.approx(0.5)
    low, high = -1 + 1.2815516 * 0.2, 3 + 1.2815516 * 0.4  # quantiles of order 0.9
    weight = high / (high - low)
    np.testing.assert_allclose(got.cautious.weights, [weight, 1 - weight])
    assert got.cautious.feasible > 0.9


def test_the_probability_of_a_mixture_uses_the_covariance_of_its_points():
    means, stds = [[0.0, 1.0], [-1.0, 2.5]], [[0.1, 0.1], [2.0, 2.0]]
    weights = np.array([0.8, 0.2])
    for correlation in (-0.9, 0.0, 0.7):
        mixture = beliefs(means, stds, correlation).mixture(weights, 0.8)
        variance = 4 * (0.64 + 0.04 + 2 * 0.16 * correlation)
        rng = np.random.default_rng(0)
        draws = -0.3 + np.sqrt(variance) * rng.standard_normal(200_000)
        # The share of draws has a standard error of at most 0.5 / sqrt(200,000) = 0.0011.
        assert mixture.feasible == pytest.approx((draws <= 0).mean(), abs=0.005)
        low, high = mixture.cost_interval
        # A quantile's standard error is sqrt(0.1 * 0.9 / 200,000) over its density, 0.175 / std: 0.004 std.
        np.testing.assert_allclose([low, high], np.quantile(draws, [0.1, 0.9]), atol=0.02 * np.sqrt(variance))


def test_several_limits_are_met_together_with_the_product_of_their_probabilities():
    got = recommend(beliefs([[1.0], [-1.0], [-2.0]], [[1.0], [1.0], [1.0]]), 0.9)
    assert got.feasible == pytest.approx(0.841345 * 0.977250, abs=1e-5)
    assert got.cost.tolist() == [-1.0, -2.0]


def test_a_cost_that_is_known_is_feasible_or_not():
    assert recommend(beliefs([[1.0], [0.0]], [[1.0], [0.0]]), 0.9).feasible == 1
    assert recommend(beliefs([[1.0], [0.1]], [[1.0], [0.0]]), 0.9).feasible == 0


def test_intervals_are_central_and_hold_with_the_probability_asked_for():
    """The normal quantile of order 0.95 is 1.6449."""
    got = recommend(beliefs([[5.0], [-1.0], [-2.0]], [[1.0], [0.1], [2.0]]), 0.9)
    np.testing.assert_allclose(got.single.reward_interval, [5 - 1.6449, 5 + 1.6449], atol=1e-3)
    np.testing.assert_allclose(got.single.cost_interval, [[-1.16449, -0.83551], [-5.2897, 1.2897]], atol=1e-3)
    assert "reward 5 [3.355, 6.645], cost -1 [-1.164, -0.8355], -2 [-5.29, 1.29]" in str(got)


def in_contexts(means, stds, contexts):
    return replace(beliefs(means, stds), contexts=np.array(contexts))


def test_with_contexts_each_keeps_one_arm_and_mixtures_weigh_them_equally():
    """Costs are known. Context 0 must pay 1 in total; context 1 has slack: by hand, arm 3 half of its time."""
    means = [[2.0, 0.0, 1.0, 3.0], [2.0, 1.0, -3.0, 1.0]]
    got = recommend(in_contexts(means, [[0.1] * 4, [0.0] * 4], [0, 0, 1, 1]), 0.9)
    assert got.single.arms.tolist() == [1, 2]  # no arm of context 0 meets its limit by itself: the lower cost
    np.testing.assert_allclose(got.single.weights, [0.5, 0.5])
    # Arm 0 and 2 always: cost (2 - 3) / 2 = -1/2, reward 3/2. Arm 3 in a share s of context 1 adds s (1 + 3) / 2 = 1/2.
    assert got.mixture.arms.tolist() == [0, 2, 3]
    np.testing.assert_allclose(got.mixture.weights, [0.5, 0.375, 0.125])
    assert got.mixture.reward == pytest.approx(1 + 0.375 + 0.375)
    assert str(got).startswith("One point per context")
    with pytest.raises(sb.ArgumentError, match="expected one point, got 2, one per context"):
        _ = got.arm


def test_autopilot_recommends_an_arm_for_each_of_its_contexts():
    """Cost x - 0.3 in context 0 and x - 0.7 in context 1: 0.3 and 0.7 are the best of arms 0, 0.1, ..., 1."""
    arms = np.array([[c, x] for c in range(2) for x in np.linspace(0, 1, 11)])
    agent, rng = sb.Agent(sb.Autopilot(arms, contexts=arms[:, 0], horizon=80)), np.random.default_rng(0)
    for t in range(80):
        decision = agent.ask(among=np.flatnonzero(arms[:, 0] == t % 2))
        c, x = decision.x
        agent.tell(decision, x + 0.02 * rng.standard_normal(), x - (0.31, 0.71)[int(c)] + 0.02 * rng.standard_normal())
    got = agent.recommend(probability=0.6)
    assert got.single.x[:, 0].tolist() == [0, 1]
    # Arms one step (0.1) below are feasible for certain; one above is not.
    assert (np.abs(got.single.x[:, 1] - [0.3, 0.7]) < 0.11).all()
    assert (got.single.x[:, 1] < [0.35, 0.75]).all()
    labels = arms[got.mixture.arms, 0]
    assert got.mixture.weights[labels == 0].sum() == pytest.approx(0.5)
    assert got.mixture.reward == pytest.approx(0.51, abs=0.05)  # the mean of x that meets the limit on average


def test_with_contexts_and_limits_out_of_reach_each_keeps_its_arm_of_the_least_cost():
    got = recommend(in_contexts([[2.0, 0.0, 1.0, 3.0], [2.0, 1.0, 5.0, 4.0]], [[0.1] * 4] * 2, [0, 0, 1, 1]), 0.9)
    assert got.mixture.arms.tolist() == got.single.arms.tolist() == [1, 3]


def test_with_contexts_and_several_limits_out_of_reach_the_mixture_has_the_least_excess_over_all_of_them():
    """Arms 0 and 2 exceed one limit by 3 and stay below the other by 2.9: together both are exceeded by 0.05."""
    costs = [[3.0, 1.0, -2.9, 1.0], [-2.9, 1.0, 3.0, 1.0]]
    got = recommend(in_contexts([[0.0] * 4, *costs], [[0.0] * 4] * 3, [0, 0, 1, 1]), 0.9)
    assert got.mixture.arms.tolist() == [0, 2]
    np.testing.assert_allclose(got.mixture.cost, [0.05, 0.05])


def test_without_constraints_the_best_mean_is_recommended():
    got = recommend(beliefs([[1.0, 3.0, 2.0]], [[1.0, 1.0, 1.0]]), 0.9)
    assert (got.arm, got.feasible, got.mixture.arms.tolist()) == (1, 1.0, [1])
    assert str(got).count("reward 3") == 3


@pytest.mark.parametrize("bad", [0, 1, 2, "x", None])
def test_a_probability_outside_0_and_1_is_refused(bad):
    with pytest.raises(sb.ArgumentError, match="probability: expected"):
        recommend(beliefs([[1.0], [0.1]], [[1.0], [0.0]]), bad)


def played(policy, problem, rounds):
    agent = sb.Agent(policy)
    trace = sb.simulate(policy, problem, rounds=rounds, engine="numpy")
    for t in range(rounds):
        agent.tell(agent.ask(), trace.rewards[0, t], np.reshape(trace.costs[0, t], -1)[: policy.constraints])
    return agent


def test_an_agent_recommends_the_optimum_of_a_problem_it_has_learned():
    problem = examples_of.problem(seed=7, noise=0.1)
    got = played(examples_of.policy(problem, horizon=400, width="tight"), problem, 400).recommend()
    optimum = sb.randomized_optimum(problem.reward, problem.cost)
    value = problem.reward[got.mixture.arms] @ got.mixture.weights
    assert value == pytest.approx(optimum.value, abs=0.1)
    assert problem.cost[got.mixture.arms] @ got.mixture.weights == pytest.approx(0, abs=0.2)
    assert problem.cost[got.arm] <= 0
    np.testing.assert_array_equal(got.x, problem.arms[got.arm])


@pytest.mark.filterwarnings("ignore::softbandit.PolicyWarning")
def test_if_no_limit_can_be_met_autopilot_recommends_the_least_violation():
    """f = x and g = 1 + x: no x meets the limit, and 0 exceeds it least."""
    for seed in range(4):
        agent, rng = sb.Agent(sb.Autopilot(sb.Box([0], [1])), seed=seed), np.random.default_rng(seed)
        for _ in range(40):
            decision = agent.ask()
            y = decision.x[0] + np.array([0, 1]) + 0.1 * rng.standard_normal(2)
            agent.tell(decision, *y)
        # The mean of 30 rounds near 0 is known to 0.1 / sqrt(30) = 0.02, and the slope of g is 1.
        assert agent.recommend().x[0] < 0.1


@pytest.mark.parametrize("name", examples_of.POLICIES)
def test_every_agent_recommends(name):
    policy = examples_of.POLICIES[name]
    problem = examples_of.problem(constraints=2, seed=5) if policy.constraints == 2 else examples_of.problem()
    got = played(policy, problem, 25).recommend()
    assert 0 <= got.arm < 30
    assert 0 <= got.feasible <= 1
    for mixture in (got.mixture, got.cautious):
        assert mixture.weights.sum() == pytest.approx(1)
        assert len(mixture.weights) <= 1 + policy.constraints


@pytest.mark.parametrize("kind", [sb.CKB, sb.Autopilot])
def test_on_a_space_points_are_recommended_with_their_named_values(kind):
    """f = a and g = a - 0.6, without noise to speak of: the best is a = 0.6."""
    space = sb.Space({"a": sb.Float(0.0, 1.0), "b": sb.Float(0.0, 2.0)})
    if kind is sb.CKB:
        constants = {"reward_bound": 2, "cost_bound": 2, "noise": 0.01, "slater": 0.3, "width": "tight"}
        policy = sb.CKB(space, sb.SquaredExponential(0.5), horizon=40, **constants)
    else:
        policy = sb.Autopilot(space, horizon=40)
    agent, rng = sb.Agent(policy), np.random.default_rng(0)
    for _ in range(40):
        decision = agent.ask()
        a = decision.values["a"]
        agent.tell(decision, a + 0.01 * rng.standard_normal(), a - 0.6 + 0.01 * rng.standard_normal())
    got = agent.recommend()
    assert got.arm is None
    assert got.values["a"] == pytest.approx(0.6, abs=0.05)
    assert got.values.keys() == {"a", "b"}
    assert f"a = {got.values['a']:.4g}" in str(got)
