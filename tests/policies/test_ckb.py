import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from softbandit_tests import examples_of, paper_formulas

import softbandit as sb
from softbandit.backend.random import DrawCount


def noises(rounds, m, scale, seed):
    """Noise of the reward (rounds,) and of the costs (rounds, m)."""
    rng = np.random.default_rng(seed)
    return scale * rng.standard_normal(rounds), scale * rng.standard_normal((rounds, m))


def play(policy, problem, eta, xi):
    """Run an agent on the problem with given noise; return its arms, and its duals before each update."""
    agent, arms, duals = sb.Agent(policy), [], []
    for noise, cost_noise in zip(eta, xi, strict=True):
        decision = agent.ask()
        arms.append(decision.arm)
        duals.append(np.atleast_1d(decision.dual))
        reward = problem.reward[decision.arm] + noise
        agent.tell(decision, reward, problem.costs[decision.arm] + cost_noise)
    return np.array(arms), np.array(duals)


def instance(seed):
    """A problem of 40 + seed arms, on a grid in one dimension or scattered in two, with one of four kernels in turn."""
    kernel = [None, sb.Matern(0.3, nu=0.5), sb.Matern(0.3, nu=2.5), sb.SquaredExponential([0.2, 0.5])][seed % 4]
    return examples_of.problem(arms=40 + seed, noise=0.1, seed=seed, kernel=kernel, dimension=2 if seed % 4 == 3 else 1)


def assert_same_decisions(policy, problem, rounds, **options):
    m = problem.constraints
    eta, xi = noises(rounds, m, problem.noise, seed=99)
    arms, duals = play(policy, problem, eta, xi)
    K = problem.kernel(problem.arms, problem.arms)
    G = np.broadcast_to(problem.cost_bound, m)
    expected, expected_duals, _ = paper_formulas.ckb_ucb(
        K,
        problem.reward,
        problem.costs,
        problem.reward_bound,
        G,
        problem.noise,
        policy.horizon,
        problem.slater,
        0.1,
        eta,
        xi,
        rounds=rounds,
        **options,
    )
    np.testing.assert_array_equal(arms, expected)
    np.testing.assert_allclose(duals, expected_duals, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 20))])
def test_ckb_makes_the_decisions_of_algorithm_1(seed):
    problem = instance(seed)
    assert_same_decisions(examples_of.policy(problem, ties="first", horizon=300), problem, rounds=300)


@pytest.mark.parametrize("seed", range(8))
def test_ckb_makes_the_decisions_of_algorithm_1_with_narrow_widths_that_are_rarely_truncated(seed):
    problem = instance(seed)
    policy = examples_of.policy(problem, ties="first", horizon=200, width_scale=0.15)
    assert_same_decisions(policy, problem, rounds=200, width_scale=0.15)


def tight(problem):
    """Settings of the tight width with lambda = R^2 / (0.1 B^2) for each output."""
    bounds = np.append(problem.reward_bound, problem.cost_bound)
    return {"width": "tight", "regularisation": problem.noise**2 / (0.1 * bounds**2)}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("queue", [False, True])
def test_ckb_with_tight_widths_and_measured_costs_decides_as_the_formulas_say(seed, queue):
    problem = instance(seed)
    settings = {"dual_feedback": "measured", "dual": "queue" if queue else "projected"}
    policy = examples_of.policy(problem, ties="first", horizon=150, **tight(problem), **settings)
    assert_same_decisions(policy, problem, rounds=150, tight=True, measured=True, queue=queue)


@pytest.mark.parametrize("settings", [{"tight": True}, {"measured": True}])
def test_ckb_with_either_alone_and_two_constraints_decides_as_the_formulas_say(settings):
    problem = examples_of.problem(constraints=2, seed=5, noise=0.1)
    chosen = tight(problem) if "tight" in settings else {"dual_feedback": "measured"}
    policy = examples_of.policy(problem, ties="first", horizon=150, **chosen)
    assert_same_decisions(policy, problem, rounds=150, **settings)


@pytest.mark.parametrize("seed", range(4))
def test_ckb_with_a_queue_makes_the_decisions_of_algorithm_2(seed):
    problem = instance(seed)
    slack = problem.slater / 4
    policy = examples_of.policy(problem, ties="first", horizon=150, dual="queue", slack=slack)
    assert_same_decisions(policy, problem, rounds=150, queue=True, slack=slack)


@pytest.mark.parametrize("seed", range(4))
def test_ckb_with_slack_and_three_constraints_makes_the_decisions_of_algorithm_1(seed):
    problem = examples_of.problem(constraints=3, seed=seed)
    slack = problem.slater / 2
    policy = examples_of.policy(problem, ties="first", horizon=150, slack=slack)
    assert_same_decisions(policy, problem, rounds=150, slack=slack)


def test_the_first_two_rounds_of_two_independent_arms_by_hand():
    policy = sb.CKB(
        np.eye(2),
        sb.Linear(),
        reward_bound=2,
        cost_bound=3,
        noise=0.5,
        horizon=4,
        slater=1,
        width=0.5,
        regularisation=1,
    )
    assert policy.rho == 8.0
    assert policy.V == 3 * 2 / 8
    agent = sb.Agent(policy)
    first = agent.ask()
    assert (first.round, first.dual) == (0, 0.0)
    assert (first.reward_estimate, first.cost_estimate) == (0.5, -0.5)  # mu = 0, sigma = 1, beta = 0.5
    agent.tell(first, reward=3.0, cost=2.0)
    assert agent.dual == 0.0  # the optimistic estimate was below 0: 0 - 0.5 / 0.75 is projected to 0
    mean, std = agent.posterior.mean(), agent.posterior.std()
    np.testing.assert_allclose(mean[:, first.arm], [1.5, 1.0])  # y / (1 + lambda)
    np.testing.assert_allclose(std[:, first.arm], [math.sqrt(0.5)] * 2)
    np.testing.assert_allclose(mean[:, 1 - first.arm], 0)
    np.testing.assert_allclose(agent.posterior.covariance()[1], np.diag(std[1] ** 2), atol=1e-15)
    second = agent.ask()
    assert second.arm == first.arm
    assert second.reward_estimate == pytest.approx(1.5 + 0.5 * math.sqrt(0.5))
    agent.tell(second, reward=3.0, cost=2.0)
    assert agent.dual == pytest.approx((1.0 - 0.5 * math.sqrt(0.5)) / 0.75)


@given(st.integers(0, 50), st.sampled_from(["ucb", "ts", "rand", "greedy"]), st.floats(0, 1), st.floats(0.01, 3))
def test_the_dual_stays_in_its_interval_and_satisfies_lemma_7_1(seed, explore, share, scale):
    """Lemma 7.1, on every simulated path:
    sum_t g_t (phi - phi_t) <= V/2 (phi_1 - phi)^2 + sum_t g_t^2 / 2V for phi in [0, rho]."""
    problem = examples_of.problem(seed=seed, arms=20)
    policy = examples_of.policy(problem, explore=explore, width_scale=scale, horizon=80)
    trace = sb.simulate(policy, problem, trials=2, seed=seed)
    rho, V, g = policy.rho, policy.V, trace.cost_estimates
    assert (trace.dual >= 0).all()
    assert (trace.dual <= rho).all()
    phi = share * rho
    left = np.cumsum(g * (phi - trace.dual), axis=1)
    right = V / 2 * phi**2 + np.cumsum(g**2, axis=1) / (2 * V)
    assert (left <= right + 1e-9 * np.maximum(1, np.abs(right))).all()


@given(st.integers(0, 50), st.floats(0, 0.5))
def test_the_queue_satisfies_the_first_step_of_lemma_5_1(seed, share):
    """Q(t+1)^2/2 - Q(t)^2/2 <= Q(t) (g + eps) + (g + eps)^2 / 2, and Q accumulates."""
    problem = examples_of.problem(seed=seed, arms=20)
    slack = share * problem.slater
    policy = examples_of.policy(problem, dual="queue", slack=slack, explore="rand", horizon=80)
    trace = sb.simulate(policy, problem, seed=seed)
    Q, g = trace.dual[0], trace.cost_estimates[0] + slack
    np.testing.assert_allclose(Q[1:], np.maximum(Q + g, 0)[:-1], atol=1e-12)
    assert (np.diff(Q**2) / 2 <= (Q * g + g**2 / 2)[:-1] + 1e-9).all()
    assert (Q[1:] >= np.cumsum(g)[:-1] - 1e-9).all()


def test_estimates_are_truncated_at_the_bounds():
    problem = examples_of.problem()
    trace = sb.simulate(examples_of.policy(problem, explore="ts", width_scale=50), problem, trials=8)
    assert np.abs(trace.reward_estimates).max() == problem.reward_bound
    assert np.abs(trace.cost_estimates).max() == problem.cost_bound


def test_ties_in_the_first_round_go_to_all_arms_at_random_or_to_the_first():
    problem = examples_of.problem()
    for ties, expected in (("random", set(range(30))), ("first", {0})):
        trace = sb.simulate(examples_of.policy(problem, ties=ties), problem, 400, rounds=1)
        assert set(trace.arms.ravel()) == expected


def test_a_bound_too_large_to_truncate_creates_no_ties():
    """The tolerance of ties is relative to the acquisition, not to the bound."""
    problem = examples_of.problem()
    tight, loose = (
        sb.simulate(examples_of.policy(problem, width=1.0, constraints=0, reward_bound=bound), problem, trials=5)
        for bound in (100.0, 1e14)
    )
    np.testing.assert_array_equal(tight.arms, loose.arms)


def test_ckb_without_constraints_is_igp_ucb():
    """x_t = argmax mu + beta_t sigma with beta_t of one output, ln(1 / alpha)."""
    problem = instance(2)
    policy = examples_of.policy(problem, constraints=0, ties="first", horizon=100)
    agent, arms, rewards = sb.Agent(policy), [], []
    K, lam, B, R = problem.kernel(problem.arms, problem.arms), 1.02, problem.reward_bound, problem.noise
    for eta in noises(100, 0, R, seed=5)[0]:
        mu, k = paper_formulas.posterior(K, arms, rewards, lam) if arms else (np.zeros(len(K)), K)
        beta = B + R * np.sqrt(2 * (paper_formulas.information_gain(K, arms, lam) + 1 + np.log(1 / 0.1)))
        expected = np.argmax(np.clip(mu + beta * np.sqrt(np.diagonal(k)), -B, B))
        decision = agent.ask()
        assert decision.arm == expected
        arms.append(decision.arm)
        rewards.append(problem.reward[decision.arm] + eta)
        agent.tell(decision, reward=rewards[-1])


def test_a_width_may_be_a_number_numbers_or_a_function_of_t():
    problem = examples_of.problem()
    for width in (0.7, [0.7, 0.7], lambda t: 0.7, lambda t: [0.7, 0.7]):
        trace = sb.simulate(examples_of.policy(problem, width=width), problem)
        np.testing.assert_array_equal(trace.arms, sb.simulate(examples_of.policy(problem, width=0.7), problem).arms)
    half = sb.simulate(examples_of.policy(problem, width=1.4, width_scale=0.5), problem)
    np.testing.assert_array_equal(half.arms, trace.arms)


def test_a_round_draws_what_the_explorations_need_and_one_number_for_ties():
    rank = examples_of.policy().model.groups[0].features.rank
    for explore, cost, count in [
        ("ucb", None, (0, 1)),
        ("ts", None, (2 * rank, 1)),
        ("rand", "ucb", (1, 1)),
        ("ts", sb.RandUCB(sb.UniformDiscrete()), (rank, 2)),
    ]:
        assert examples_of.policy(explore=explore, explore_cost=cost).draws() == DrawCount(*count)


def test_every_combination_of_exploration_dual_and_ties_runs():
    problem = examples_of.problem(constraints=2, seed=5)
    for explore, cost, dual, ties in itertools.product(
        ("ucb", "ts", "rand", "greedy"), (None, "ucb", "ts"), ("projected", "queue"), ("random", "first")
    ):
        policy = examples_of.policy(problem, explore=explore, explore_cost=cost, dual=dual, ties=ties)
        assert np.isfinite(sb.simulate(policy, problem, trials=2, rounds=5).dual).all()
