import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from softbandit_tests import examples_of
from softbandit_tests import paper_formulas as literal

import softbandit as sb
from softbandit.backend.random import DrawCount


def noises(rounds, m, scale, seed):
    rng = np.random.default_rng(seed)
    return scale * rng.standard_normal(rounds), scale * rng.standard_normal((rounds, m))


def play(policy, problem, eta, xi):
    """An agent on the problem with given noise: arms and duals before each update."""
    agent, arms, duals = sb.Agent(policy), [], []
    for noise, cost_noise in zip(eta, xi, strict=True):
        decision = agent.ask()
        arms.append(decision.arm)
        duals.append(np.atleast_1d(decision.dual))
        reward = problem.reward[decision.arm] + noise
        agent.tell(decision, reward, problem.costs[decision.arm] + cost_noise)
    return np.array(arms), np.array(duals)


def instance(seed):
    """Grids in one dimension and scattered arms in two, of all kernels, by turns."""
    kernel = [None, sb.Matern(0.3, nu=0.5), sb.Matern(0.3, nu=2.5), sb.SquaredExponential([0.2, 0.5])][seed % 4]
    return examples_of.problem(arms=40 + seed, noise=0.1, seed=seed, kernel=kernel, dimension=2 if seed % 4 == 3 else 1)


def assert_same_decisions(policy, problem, rounds, **options):
    m = problem.constraints
    eta, xi = noises(rounds, m, problem.noise, seed=99)
    arms, duals = play(policy, problem, eta, xi)
    K = problem.kernel(problem.arms, problem.arms)
    G = np.broadcast_to(problem.cost_bound, m)
    expected, expected_duals, _ = literal.ckb_ucb(
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


@pytest.mark.parametrize("seed", range(20))
def test_makes_the_decisions_of_algorithm_1(seed):
    problem = instance(seed)
    assert_same_decisions(examples_of.policy(problem, ties="first", horizon=300), problem, rounds=300)


@pytest.mark.parametrize("seed", range(8))
def test_makes_the_decisions_of_algorithm_1_where_little_is_truncated(seed):
    problem = instance(seed)
    policy = examples_of.policy(problem, ties="first", horizon=200, width_scale=0.15)
    assert_same_decisions(policy, problem, rounds=200, width_scale=0.15)


@pytest.mark.parametrize("seed", range(4))
def test_makes_the_decisions_of_algorithm_2(seed):
    problem = instance(seed)
    slack = problem.slater / 4
    policy = examples_of.policy(problem, ties="first", horizon=150, dual="queue", slack=slack)
    assert_same_decisions(policy, problem, rounds=150, queue=True, slack=slack)


@pytest.mark.parametrize("seed", range(4))
def test_slack_and_several_constraints(seed):
    problem = examples_of.problem(constraints=3, seed=seed)
    slack = problem.slater / 2
    policy = examples_of.policy(problem, ties="first", horizon=150, slack=slack)
    assert_same_decisions(policy, problem, rounds=150, slack=slack)


def test_the_first_round_by_hand():
    """Two arms, independent; a step that can be done in the head."""
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
def test_the_dual_stays_in_its_interval_and_lemma_1_holds(seed, explore, share, scale):
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
def test_lemma_of_the_queue(seed, share):
    """Lemma 5.1's first step: Q(t+1)^2/2 - Q(t)^2/2 <= Q(t) (g + eps) + (g + eps)^2 / 2, and Q accumulates."""
    problem = examples_of.problem(seed=seed, arms=20)
    slack = share * problem.slater
    policy = examples_of.policy(problem, dual="queue", slack=slack, explore="rand", horizon=80)
    trace = sb.simulate(policy, problem, seed=seed)
    Q, g = trace.dual[0], trace.cost_estimates[0] + slack
    np.testing.assert_allclose(Q[1:], np.maximum(Q + g, 0)[:-1], atol=1e-12)
    assert (np.diff(Q**2) / 2 <= (Q * g + g**2 / 2)[:-1] + 1e-9).all()
    assert (Q[1:] >= np.cumsum(g)[:-1] - 1e-9).all()


def test_estimates_are_truncated():
    problem = examples_of.problem()
    trace = sb.simulate(examples_of.policy(problem, explore="ts", width_scale=50), problem, trials=8)
    assert np.abs(trace.reward_estimates).max() == problem.reward_bound
    assert np.abs(trace.cost_estimates).max() == problem.cost_bound


def test_ties_go_to_all_arms_at_random_or_to_the_first():
    problem = examples_of.problem()
    first = {
        t: sb.simulate(examples_of.policy(problem, ties=t), problem, 400, rounds=1).arms for t in ("random", "first")
    }
    assert set(np.ravel(first["random"])) == set(range(30))
    assert set(np.ravel(first["first"])) == {0}


def test_without_constraints_it_is_igp_ucb():
    """x_t = argmax mu + beta_t sigma with beta_t of one output, ln(1 / alpha)."""
    problem = instance(2)
    policy = examples_of.policy(problem, constraints=0, ties="first", horizon=100)
    agent, arms, rewards = sb.Agent(policy), [], []
    K, lam, B, R = problem.kernel(problem.arms, problem.arms), 1.02, problem.reward_bound, problem.noise
    for eta in noises(100, 0, R, seed=5)[0]:
        mu, k = literal.posterior(K, arms, rewards, lam) if arms else (np.zeros(len(K)), K)
        beta = B + R * np.sqrt(2 * (literal.information_gain(K, arms, lam) + 1 + np.log(1 / 0.1)))
        expected = np.argmax(np.clip(mu + beta * np.sqrt(np.diagonal(k)), -B, B))
        decision = agent.ask()
        assert decision.arm == expected
        arms.append(decision.arm)
        rewards.append(problem.reward[decision.arm] + eta)
        agent.tell(decision, reward=rewards[-1])


def test_outputs_with_a_kernel_of_their_own_keep_their_own_posterior():
    problem = examples_of.problem(constraints=2, seed=5)
    rough = sb.Matern(0.2, nu=0.5)
    policy = examples_of.policy(problem, cost_kernel=[rough, problem.kernel], regularisation=[0.5, 0.6, 0.5])
    assert [list(group.outputs) for group in policy.model.groups] == [[0, 2], [1]]
    agent = sb.Agent(policy)
    arms, ys = [], []
    rng = np.random.default_rng(0)
    for _ in range(30):
        decision = agent.ask()
        arms.append(decision.arm)
        ys.append(rng.standard_normal(3))
        agent.tell(decision, ys[-1][0], ys[-1][1:])
    X = problem.arms
    for i, (kernel, lam) in enumerate([(problem.kernel, 0.5), (rough, 0.6), (problem.kernel, 0.5)]):
        mu, k = literal.posterior(kernel(X, X), arms, [y[i] for y in ys], lam)
        np.testing.assert_allclose(agent.posterior.mean()[i], mu, atol=1e-9)
        np.testing.assert_allclose(agent.posterior.covariance()[i], k, atol=1e-9)
        np.testing.assert_allclose(agent.posterior.std()[i] ** 2, np.diagonal(k), atol=1e-9)


def test_estimates_stand_in_the_order_of_the_outputs():
    """With three kernels interleaved, each output's estimate is that of its own posterior."""
    problem = examples_of.problem(constraints=3, seed=2)
    kernels = [problem.kernel, sb.Matern(0.4), problem.kernel]
    policy = examples_of.policy(problem, cost_kernel=kernels, explore="ucb", explore_cost="greedy", width=1.0)
    state = policy.init(1)
    y = np.array([[1.0, 2.0, 3.0, 4.0]])
    posterior = policy.model.condition(state.posterior, np.array([4]), y)
    h = policy.model.estimate(posterior, 1, sb.Draws(np.zeros((1, 0)), np.zeros((1, 1))))
    mean, std = policy.model.mean(posterior), policy.model.std(posterior)
    np.testing.assert_allclose(h[0, 0], mean[0, 0] + std[0, 0], atol=1e-12)
    np.testing.assert_allclose(h[0, 1:], mean[0, 1:], atol=1e-12)
    lam = 1 + 2 / policy.horizon
    np.testing.assert_allclose(mean[0, :, 4], y[0] / (1 + lam), rtol=1e-12)


def test_a_width_may_be_a_number_numbers_or_a_function_of_t():
    problem = examples_of.problem()
    for width in (0.7, [0.7, 0.7], lambda t: 0.7, lambda t: [0.7, 0.7]):
        trace = sb.simulate(examples_of.policy(problem, width=width), problem)
        np.testing.assert_array_equal(trace.arms, sb.simulate(examples_of.policy(problem, width=0.7), problem).arms)
    called = []
    sb.simulate(examples_of.policy(problem, width=lambda t: called.append(t) or 1.0), problem, rounds=3)
    assert called[-3:] == [1, 2, 3]
    half = sb.simulate(examples_of.policy(problem, width=1.4, width_scale=0.5), problem)
    np.testing.assert_array_equal(half.arms, trace.arms)


def test_draws_are_counted():
    rank = examples_of.policy().model.groups[0].features.rank
    for explore, cost, count in [
        ("ucb", None, (0, 1)),
        ("ts", None, (2 * rank, 1)),
        ("rand", "ucb", (1, 1)),
        ("ts", sb.RandUCB(sb.UniformDiscrete()), (rank, 2)),
    ]:
        assert examples_of.policy(explore=explore, explore_cost=cost).draws() == DrawCount(*count)


def test_replace_works_out_defaults_anew():
    policy = examples_of.policy(horizon=100)
    longer = policy.replace(horizon=400)
    assert pytest.approx(2 * policy.V, rel=1e-14) == longer.V
    assert policy.replace(rho=1.0).rho == 1.0
    assert policy.replace(rho=1.0).replace(horizon=400).rho == 1.0


GOOD = {
    "arms": np.linspace(0, 1, 10)[:, None],
    "kernel": sb.SquaredExponential(0.2),
    "reward_bound": 1.0,
    "cost_bound": 1.0,
    "noise": 0.1,
    "horizon": 100,
    "slater": 0.5,
}
NOT_NUMBERS = [math.nan, math.inf, -math.inf, "1", None, [[1.0]], 1j, True]
BAD = {
    "arms": [
        [],
        np.zeros((0, 2)),
        np.zeros((2, 0)),
        [[math.nan]],
        [[math.inf, 1.0]],
        [1.0, 2.0],
        "arms",
        [[1], [2, 3]],
    ],
    "kernel": [None, "rbf", 0.2, sb.Linear() * 100.0, sb.SquaredExponential, sb.SquaredExponential([0.1, 0.2])],
    "cost_kernel": ["rbf", 3, [sb.Linear(), sb.Linear()], 2.0 * sb.SquaredExponential(0.2), [None]],
    "explore": ["UCB", "thomson", 3, None, sb.UCB],
    "explore_cost": ["randucb", 0, object()],
    "reward_bound": [*NOT_NUMBERS, 0.0, -1.0],
    "cost_bound": [math.nan, math.inf, "1", 0.0, -1.0, [1.0, 2.0], [-1.0], None],
    "noise": [*NOT_NUMBERS, -0.1],
    "cost_noise": [math.nan, "1", -0.1, [1.0, 1.0], [-1.0]],
    "horizon": [10**400, 0, -5, 1.5, "100", None, math.nan, True],
    "slater": [0.0, -0.1, 1.1, math.nan, "0.5", None],
    "confidence": [*NOT_NUMBERS, 0.0, 1.0, -0.1, 1.1],
    "regularisation": [math.nan, "1", 0.0, -1.0, [1.0], [1.0, 0.0]],
    "width": ["theorem", -1.0, math.nan, [1.0], lambda t: -1.0, lambda t: "wide", object()],
    "width_scale": [*NOT_NUMBERS, -1.0],
    "dual": ["queues", None, 3],
    "rho": [0.0, -1.0, math.nan, "8"],
    "V": [0.0, -1.0, math.nan, "3", [1.0, 1.0]],
    "slack": [-0.1, 0.26, math.nan, "0.1", None],
    "constraints": [-1, 1.0, "1", None, True],
    "ties": ["last", None, 0],
    "factors": [[], [[0], [1]], 3],
    "budget": [10, 0, 2.5, "all"],  # on finite arms none is good; see test_on_space.py
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in BAD for value in BAD[name]], ids=str)
def test_a_bad_setting_is_refused_with_what_was_expected_and_what_came(name, value):
    sb.CKB(**GOOD)
    with pytest.raises(sb.ArgumentError, match=r"(?s).+expected .+got .+\. [A-Z].+[.?]"):
        sb.CKB(**{**GOOD, name: value})


def test_every_setting_has_bad_values():
    import inspect

    assert set(BAD) == set(inspect.signature(sb.CKB).parameters)


def test_near_names_are_suggested():
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'greedy'"):
        sb.CKB(**GOOD, explore="gredy")
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'queue'"):
        sb.CKB(**GOOD, dual="que")


def test_the_remedies_work():
    arms = np.linspace(0, 3, 10)[:, None]
    with pytest.raises(sb.KernelError, match=r"k\(x, x\) <= 1.*9 at arm 9.*rescaled"):
        sb.CKB(**{**GOOD, "arms": arms, "kernel": sb.Linear()})
    sb.CKB(**{**GOOD, "arms": arms, "kernel": sb.Linear().rescaled(arms)})
    with pytest.raises(sb.ArgumentError, match=r"arms\[:, None\]"):
        sb.CKB(**{**GOOD, "arms": arms[:, 0]})
    with pytest.raises(sb.ArgumentError, match="slater / 2 = 0.25"):
        sb.CKB(**GOOD, slack=0.3)
    sb.CKB(**GOOD, slack=0.25)
    without = {name: value for name, value in GOOD.items() if name != "slater"}
    with pytest.raises(sb.ArgumentError, match="Pass slater, or else rho"):
        sb.CKB(**without)
    sb.CKB(**without, rho=3.0)
    with pytest.raises(sb.ArgumentError, match="0 without slater"):
        sb.CKB(**without, rho=3.0, slack=0.1)


def test_settings_cannot_be_changed_afterwards():
    policy = sb.CKB(**GOOD)
    with pytest.raises(AttributeError):
        policy.rho = 3.0
    with pytest.raises(ValueError, match="read-only"):
        policy.arms[0] = 3.0


def test_changing_what_was_passed_in_changes_nothing():
    arms, bounds = np.linspace(0, 1, 10)[:, None], [1.0]
    policy = sb.CKB(**{**GOOD, "arms": arms, "cost_bound": bounds})
    arms *= 0.5
    bounds[0] = 99.0
    again = policy.replace(horizon=50)
    np.testing.assert_array_equal(again.arms, np.linspace(0, 1, 10)[:, None])
    np.testing.assert_array_equal(again.bounds, [[1.0], [1.0]])


def test_replace_reuses_the_factorised_kernel():
    policy = sb.CKB(**GOOD)
    assert policy.replace(horizon=50).model.factors[0] is policy.model.factors[0]
    other = policy.replace(kernel=sb.Matern(0.3))
    assert (other.model.factors[0].phi != policy.model.factors[0].phi).any()


@pytest.mark.parametrize("gap", [0.0, 3e-13, 5e-12, 1e-9, 1e-3])
def test_what_is_near_is_tied_if_its_terms_are_of_that_size(gap):
    """Values closer than 1e-12 of their size are ties."""
    policy = examples_of.policy()
    z = np.array([[0.0, 1.0 - gap, 0.5, 1.0]] * 1000)
    uniform = np.random.default_rng(0).random((1000, 1))
    draws = sb.Draws(np.empty((1000, 0)), uniform)
    expected = np.where(uniform[:, 0] < 0.5, 1, 3) if gap < 1e-12 else np.full(1000, 3)
    for scale in (None, lambda arm: np.ones(len(arm))):
        np.testing.assert_array_equal(policy._best(z, draws, scale), expected)


def test_a_bound_too_large_to_truncate_does_not_make_ties():
    """The tolerance of ties follows the acquisition's own size, not the bound's."""
    problem = examples_of.problem()
    tight, loose = (
        sb.simulate(examples_of.policy(problem, width=1.0, constraints=0, reward_bound=bound), problem, trials=5)
        for bound in (100.0, 1e14)
    )
    np.testing.assert_array_equal(tight.arms, loose.arms)


class Broken:
    """An exploration whose estimate is not one."""

    def __init__(self, estimate):
        self.made = estimate

    def draws(self, rank):
        return (0, 1)

    def estimate(self, belief, width, draws):
        return self.made(belief)


def test_an_exploration_that_cannot_work_is_refused_at_once():
    sb.CKB(**GOOD, explore=Broken(lambda belief: belief.mean + belief.std))
    with pytest.raises(sb.ArgumentError, match=r"finite estimates of shape \(1, 2, 10\), got shape \(10,\)"):
        sb.CKB(**GOOD, explore=Broken(lambda belief: belief.mean[0, 0]))
    with pytest.raises(sb.ArgumentError, match="got NaN or infinity. Check Broken.estimate"):
        sb.CKB(**GOOD, explore=Broken(lambda belief: belief.mean * np.nan))
    with pytest.raises(sb.ArgumentError, match=r"Write UCB\(\)"):
        sb.CKB(**GOOD, explore=sb.UCB)


def test_a_queue_with_its_own_step_needs_no_slater():
    without = {name: value for name, value in GOOD.items() if name != "slater"}
    assert sb.CKB(**without, dual="queue", V=3.0).V == 3.0
    with pytest.raises(sb.ArgumentError, match="Pass slater, or else rho"):
        sb.CKB(**without, dual="queue")


def test_all_pairs_of_rules_run():
    problem = examples_of.problem(constraints=2, seed=5)
    for explore, cost, dual, ties in itertools.product(
        ("ucb", "ts", "rand", "greedy"), (None, "ucb", "ts"), ("projected", "queue"), ("random", "first")
    ):
        policy = examples_of.policy(problem, explore=explore, explore_cost=cost, dual=dual, ties=ties)
        assert np.isfinite(sb.simulate(policy, problem, trials=2, rounds=5).dual).all()
