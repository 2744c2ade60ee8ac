"""CKB, its agent and its simulation on continuous and mixed domains."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import softbandit as sb
from softbandit.backend.random import POLICY, draw

BOX = sb.Box([0, -1], [1, 1])
MIXED = sb.Space({"u": sb.Float(0, 1), "n": sb.Integer(1, 9), "k": sb.Categorical(["a", "b"])})
SETTINGS = {"reward_bound": 2, "cost_bound": 1, "noise": 0.1, "horizon": 30, "slater": 0.5}

POLICIES = {
    "UCB": sb.CKB(BOX, sb.Matern(0.5), **SETTINGS),
    "Thompson": sb.CKB(BOX, sb.SquaredExponential(0.5), explore="ts", **SETTINGS),
    "RandUCB for the costs, with another kernel": sb.CKB(
        BOX, sb.Matern(0.5), cost_kernel=sb.Matern(0.3, nu=1.5), explore_cost="rand", width_scale=0.2, **SETTINGS
    ),
    "queue, two constraints": sb.CKB(BOX, sb.Matern(0.5), dual="queue", constraints=2, width_scale=0.3, **SETTINGS),
    "unconstrained": sb.CKB(BOX, sb.Matern(0.5), constraints=0, width_scale=0.3, **SETTINGS),
    "mixed": sb.CKB(MIXED, sb.Matern(0.8), width_scale=0.2, **SETTINGS),
    "budget": sb.CKB(BOX, sb.Matern(0.2), budget=4, explore="rand", **SETTINGS),
    "budget, Thompson": sb.CKB(BOX, sb.Matern(0.2), budget=4, explore="ts", **SETTINGS),
    "Doubling": sb.Doubling(sb.CKB(BOX, sb.Matern(0.5), **SETTINGS | {"horizon": 4})),
}
every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)


def feedback(x, constraints, t):
    return float(np.sin(3 * x.sum()) + 0.01 * t), [float(x[0] - 0.6 + 0.1 * i) for i in range(constraints)]


def play(policy, rounds):
    """Return an agent after that many rounds, and its decisions."""
    agent, decisions = sb.Agent(policy, seed=3), []
    for t in range(rounds):
        decisions.append(agent.ask())
        agent.tell(decisions[-1], *feedback(decisions[-1].x, policy.constraints, t))
    return agent, decisions


@every_policy
def test_decisions_are_points_of_the_space(policy):
    _, decisions = play(policy, 6)
    for decision in decisions:
        policy.space.point("x", decision.x)
        assert decision.arm is None
        assert decision.values == policy.space.values(decision.x)


@every_policy
def test_asking_twice_gives_the_same_decision(policy):
    agent, _ = play(policy, 3)
    first, second = agent.ask(), agent.ask()
    np.testing.assert_array_equal(first.x, second.x)
    assert (first.reward_estimate, first.round) == (second.reward_estimate, second.round)


@every_policy
def test_an_agent_on_a_space_continues_to_the_bit_after_saving_and_loading(policy, tmp_path):
    _, uninterrupted = play(policy, 8)
    agent, _ = play(policy, 5)
    agent.save(tmp_path / "run.npz")
    loaded = sb.Agent.load(tmp_path / "run.npz")
    for t in range(5, 8):
        decision = loaded.ask()
        np.testing.assert_array_equal(decision.x, uninterrupted[t].x)
        np.testing.assert_array_equal(decision.cost_estimate, uninterrupted[t].cost_estimate)
        loaded.tell(decision, *feedback(decision.x, policy.constraints, t))


def test_late_feedback_in_any_order_gives_the_posterior_of_the_data():
    policy = POLICIES["UCB"]
    agent, _ = play(policy, 2)
    waiting = []
    for t in range(3):
        waiting.append(agent.ask())
        agent.tell(agent.ask(), 0.1 * t, -0.1)
    for t, decision in reversed(list(enumerate(waiting))):
        agent.tell(decision, float(t), 0.2)
    group = agent._state.posterior[0][0]
    X, Y, lam = group.anchors, group.y, group.regularisation
    Q = np.array([[0.3, 0.2], [0.9, -0.5]])
    k, A = policy.kernel(Q, X), np.linalg.inv(policy.kernel(X, X) + lam * np.eye(8))
    np.testing.assert_allclose(agent.posterior.mean(Q), (k @ A @ Y).T, atol=1e-12)
    np.testing.assert_allclose(agent.posterior.std(Q)[0] ** 2, 1 - np.einsum("nt,tu,nu->n", k, A, k), atol=1e-12)
    np.testing.assert_array_equal(np.sort(Y[:, 0])[-2:], [1.0, 2.0])


def test_decisions_on_an_interval_are_those_of_algorithm_1_on_a_dense_grid():
    """Lines 2-7 written out: UCB, truncation, argmax over a grid, and the dual's step."""
    policy = sb.CKB(sb.Box(0, 1), sb.SquaredExponential(0.2), width_scale=0.3, **SETTINGS)
    agent, k, lam = sb.Agent(policy), policy.kernel, 1 + 2 / 30
    grid = np.linspace(0, 1, 5001)[:, None]
    X, Y, phi = np.empty((0, 1)), np.empty((0, 2)), 0.0
    for t in range(12):
        A = np.linalg.inv(k(X, X) + lam * np.eye(t))
        gain = 0.5 * np.linalg.slogdet(np.eye(t) + k(X, X) / lam)[1]
        root = np.sqrt(2 * (gain + 1 + np.log(2 / 0.1)))

        def estimates(Q, X=X, Y=Y, A=A, root=root):
            mu = k(Q, X) @ A @ Y
            sigma = np.sqrt(1 - np.einsum("nt,tu,nu->n", k(Q, X), A, k(Q, X)))
            f = np.clip(mu[:, 0] + 0.3 * (2 + 0.1 * root) * sigma, -2, 2)
            return f, np.clip(mu[:, 1] - 0.3 * (1 + 0.1 * root) * sigma, -1, 1)

        decision = agent.ask()
        f, g = estimates(grid)
        f_x, g_x = estimates(decision.x[None])
        assert decision.dual == pytest.approx(phi, abs=1e-12)
        assert (decision.reward_estimate, decision.cost_estimate) == pytest.approx((f_x[0], g_x[0]), abs=1e-9)
        assert f_x[0] - phi * g_x[0] >= (f - phi * g).max() - 1e-9
        r, c = np.sin(6 * decision.x[0]), decision.x[0] - 0.5
        agent.tell(decision, r, c)
        X, Y = np.append(X, [decision.x], axis=0), np.append(Y, [[r, c]], axis=0)
        rho = 4 * 2 / 0.5
        phi = min(max(phi + g_x[0] * rho / np.sqrt(30), 0.0), rho)


@pytest.mark.parametrize("explore", ["ucb", "rand", "ts"])
@pytest.mark.parametrize(
    "box", [sb.Box(0, 1), pytest.param(sb.Box([0, 0], [1, 1]), marks=pytest.mark.slow)], ids=["1-D", "2-D"]
)
def test_the_maximiser_is_within_c_over_sqrt_t_of_the_best_of_a_dense_grid(explore, box):
    """C = 0.01 B. (benchmarks/continuous.py does 1,000 rounds.)"""
    problem = sb.problems.rkhs_on(box, seed=2)
    policy = sb.CKB(**problem.settings(), horizon=100, explore=explore, width_scale=0.2)
    agent, misses = sb.Agent(policy), 0
    side = np.linspace(0, 1, 2001 if box.dimension == 1 else 61)
    grid = np.stack(np.meshgrid(*[side] * box.dimension), axis=-1).reshape(-1, box.dimension)
    for t in range(1, 26):
        decision = agent.ask()
        gap = agent.acquisition(grid).max() - agent.acquisition(decision.x[None])[0]
        misses += gap > 0.01 * policy.reward_bound / np.sqrt(t)
        agent.tell(decision, *problem.function(decision.x[None])[0])
    assert misses == 0


class Rough(sb.Kernel):
    """A kernel without a gradient, as a user might write it."""

    def __call__(self, X, Y):
        return np.exp(-np.abs(X[:, None, :] - Y[None, :, :]).sum(axis=2))

    def diag(self, X):
        return np.ones(len(X))


def test_an_acquisition_without_a_gradient_is_still_maximised():
    agent = sb.Agent(sb.CKB(sb.Box(0, 1), Rough(), width_scale=0.2, **SETTINGS))
    for _ in range(5):
        decision = agent.ask()
        z = agent.acquisition(np.linspace(0, 1, 2001)[:, None])
        assert agent.acquisition(decision.x[None])[0] >= z.max() - 0.02 / np.sqrt(decision.round + 1)
        agent.tell(decision, np.sin(5 * decision.x[0]), decision.x[0] - 0.5)


# -- Simulation. --


PROBLEM = sb.problems.rkhs_on(sb.Box([0, 0], [1, 1]), seed=2)


@pytest.mark.parametrize("explore", ["ucb", "ts"])
def test_a_trial_on_a_space_is_the_same_alone_in_a_batch_and_live(explore):
    policy = sb.CKB(**PROBLEM.settings(), horizon=12, explore=explore)
    batch = sb.simulate(policy, PROBLEM, trials=3, seed=4)
    alone = sb.simulate(policy, PROBLEM, trials=[2], seed=4)
    assert batch.arms.shape == (3, 12, 2)
    for name in ("arms", "rewards", "costs", "dual", "cost_estimates"):
        np.testing.assert_array_equal(getattr(batch, name)[2:], getattr(alone, name))
    first = sb.simulate(policy, PROBLEM, seed=4)
    agent = sb.Agent(policy, seed=4)
    for t in range(12):
        decision = agent.ask()
        np.testing.assert_array_equal(decision.x, first.arms[0, t])
        agent.tell(decision, first.rewards[0, t], first.costs[0, t])


def test_scores_on_a_space_agree_with_a_fine_grid():
    policy = sb.CKB(**PROBLEM.settings(), horizon=10)
    trace = sb.simulate(policy, PROBLEM, trials=2)
    scores = sb.score(trace, PROBLEM)
    h = PROBLEM.function(trace.arms.reshape(-1, 2)).reshape(2, 10, 2)
    side = np.linspace(0, 1, 150)
    fine = PROBLEM.function(np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2))
    best = sb.randomized_optimum(fine[:, 0], fine[:, 1]).value
    # The optimum over the space is at least that over the grid, and little more.
    optimum = (scores.strong_regret[:, -1] + h[..., 0].sum(axis=1)) / 10
    assert (optimum >= best - 1e-12).all()
    assert (optimum <= best + 0.02 * PROBLEM.reward_bound).all()
    assert scores.resolution <= 1e-6 * PROBLEM.reward_bound
    np.testing.assert_allclose(scores.violation[:, -1], np.maximum(h[..., 1].sum(axis=1), 0))
    feasible = fine[fine[:, 1] <= 0, 0].max()
    assert feasible <= PROBLEM.best_value <= feasible + 0.02 * PROBLEM.reward_bound


def test_the_optimum_on_an_interval_by_hand():
    # f = x, g = x^2 - 1/4 on [-1, 1]: convex costs, so pi* is the point 1/2. With g = 1/4 - x^2 and f = -x^2, mixing
    # does not help either. With f = x and g = x - 1/2 every mixture of mean 1/2 has the value 1/2.
    box, kernel, bounds = sb.Box(-1, 1), sb.Matern(0.5), (0.1, 1.0, 1.0, 0.2)
    for cost in (lambda x: x**2 - 0.25, lambda x: x - 0.5):
        problem = sb.problems.SpaceProblem(box, kernel, lambda X, g=cost: np.c_[X, g(X)], *bounds)
        scored = sb.randomized_optimum(problem.reward, problem.cost).value
        assert scored == pytest.approx(0.5, abs=1e-6)
        assert problem.best_value == pytest.approx(0.5, abs=1e-3)
    # f = x^2, g = x^2 - 0.3 x - 0.5 at irrational roots: the best point is the larger root of g.
    root = (0.3 + np.sqrt(0.09 + 2)) / 2
    problem = sb.problems.SpaceProblem(box, kernel, lambda X: np.c_[X**2, X**2 - 0.3 * X - 0.5], *bounds)
    assert sb.randomized_optimum(problem.reward, problem.cost).value == pytest.approx(root**2, abs=1e-6)


@pytest.mark.slow
def test_the_regret_on_an_interval_matches_that_on_a_thousand_arms():
    problem = sb.problems.rkhs_on(seed=3)
    arms = problem.discretised(np.linspace(0, 1, 1000)[:, None])
    T, b = 60, 10
    runs = [sb.simulate(sb.CKB(**p.settings(), horizon=T, width_scale=0.2), p, trials=b) for p in (problem, arms)]
    regrets = [sb.score(r, p).strong_regret[:, -1] for r, p in zip(runs, (problem, arms), strict=True)]
    noise = np.hypot(*(r.std(ddof=1) / np.sqrt(b) for r in regrets))
    assert abs(regrets[0].mean() - regrets[1].mean()) < 3 * noise


# -- Stress: an agent continues with finite numbers, whatever it observes. --


@pytest.mark.filterwarnings("ignore:.*agent.forget:softbandit.PolicyWarning")
@pytest.mark.parametrize("lengthscale", [0.01, 100.0])
@pytest.mark.parametrize("explore", ["ucb", "ts"])
@pytest.mark.parametrize("size", [0.0, 1e-12, 1e12])
def test_estimates_stay_finite_for_observations_and_kernels_of_extreme_size(lengthscale, explore, size):
    for kernel in (sb.SquaredExponential(lengthscale), 1e-12 * sb.Matern(lengthscale, nu=0.5)):
        settings = SETTINGS | {"regularisation": 1e-9, "explore": explore, "width_scale": 0.1}
        agent = sb.Agent(sb.CKB(sb.Box(0, 1), kernel, **settings))
        for _ in range(8):
            decision = agent.ask()
            agent.tell(decision, size, -size)
            agent.tell(agent.ask(), size * (1 + 1e-12), size)
        assert np.isfinite([decision.reward_estimate, decision.cost_estimate, agent.dual]).all()
        std = agent.posterior.std(np.linspace(0, 1, 50)[:, None])
        assert (std >= 0).all()
        assert (std**2 <= kernel.diag(np.zeros((1, 1)))[0] * (1 + 1e-12)).all()


def test_two_hundred_observations_of_one_point_give_their_shrunken_mean():
    agent = sb.Agent(sb.CKB(sb.Box(0, 1), sb.SquaredExponential(0.2), **SETTINGS | {"regularisation": 1e-6}))
    decisions = [agent.ask() for _ in range(200)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # past the horizon
        for decision in decisions:
            agent.tell(decision, 1.0, -0.5)
    # n observations of y: mean = n y / (n + lambda)
    expected = [[200 / (200 + 1e-6)], [-100 / (200 + 1e-6)]]
    np.testing.assert_allclose(agent.posterior.mean(decision.x[None]), expected, rtol=1e-8)


# -- Refusals. --


def test_a_policy_that_does_not_fit_the_problem_is_refused():
    policy = POLICIES["UCB"]
    finite = sb.problems.rkhs(arms=10, seed=1)
    with pytest.raises(sb.ArgumentError, match="discretised"):
        sb.simulate(policy, finite)
    with pytest.raises(sb.ArgumentError, match="discretised"):
        sb.simulate(sb.CKB(**finite.settings(), horizon=5), PROBLEM)
    with pytest.raises(sb.ArgumentError, match="the problem's space"):
        sb.simulate(policy, PROBLEM)
    with pytest.raises(sb.ArgumentError, match="engine.*numpy"):
        sb.simulate(sb.CKB(**PROBLEM.settings(), horizon=5), PROBLEM, engine="jax")
    with pytest.raises(sb.KernelError, match="one for each of 2 dimensions"):
        sb.CKB(BOX, sb.Matern([0.1, 0.2, 0.3]), **SETTINGS)
    for budget in (1, 2.5, "all"):
        with pytest.raises(sb.ArgumentError, match="budget"):
            sb.CKB(BOX, sb.Matern(0.5), budget=budget, **SETTINGS)
    with pytest.raises(sb.ArgumentError, match="budget.*finite arms"):
        sb.CKB([[0.0], [1.0]], sb.Matern(0.5), budget=10, **SETTINGS)
    with pytest.raises(sb.KernelError, match=r"k\(x, x\) <= 1"):
        sb.CKB(sb.Box([0, 0], [1, 1]), sb.Linear(), **SETTINGS)


def test_bad_feedback_on_a_space_leaves_the_agent_as_it_was():
    agent, _ = play(POLICIES["UCB"], 3)
    before = agent.ask()
    for reward, cost in ((np.nan, 0.0), (0.0, [0.0, 0.0]), ("a", 0.0), (0.0, np.inf)):
        with pytest.raises(sb.FeedbackError):
            agent.tell(before, reward, cost)
    assert agent.round == 3
    np.testing.assert_array_equal(agent.ask().x, before.x)
    with pytest.raises(sb.ArgumentError, match="among"):
        agent.ask(among=[0])
    with pytest.raises(sb.ArgumentError, match="points"):
        agent.posterior.mean()
    with pytest.raises(sb.ArgumentError, match="2 coordinates"):
        agent.posterior.std([[0.5]])


def test_a_decision_moved_out_of_the_space_is_refused():
    agent, _ = play(POLICIES["UCB"], 1)
    decision = agent.ask()
    with pytest.raises(sb.DecisionError, match="one that was changed.*must come from this agent"):
        agent.tell(replace(decision, x=np.array([2.0, 0.0])), 0.0, 0.0)
    assert agent.round == 1


def test_a_decision_is_a_function_of_state_and_draws():
    policy = POLICIES["Thompson"]
    draws = next(draw(policy.draws(), 9, [0], 0, 1, POLICY).rounds())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        choices = [policy.decide(policy.init(1), draws) for _ in range(2)]
    np.testing.assert_array_equal(choices[0].arm, choices[1].arm)
