import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binomtest
from softbandit_tests import examples_of, paper_formulas

import softbandit as sb
from softbandit.backend import POLICY, PROBLEM, draw


def test_the_theorys_width_uses_each_outputs_bound_and_noise_and_the_gain_before_the_round():
    problem = examples_of.problem(constraints=2, seed=5)
    policy = sb.CKB(
        problem.arms,
        problem.kernel,
        reward_bound=2.0,
        cost_bound=[3.0, 4.0],
        noise=0.5,
        cost_noise=[0.6, 0.7],
        horizon=50,
        slater=0.5,
        confidence=0.05,
        constraints=2,
    )
    state, arms = policy.init(1), [3, 3, 17, 4]
    for arm in arms:
        posterior = policy.model.condition(state.posterior, np.array([arm]), np.zeros((1, 3)))
        state = state._replace(posterior=posterior)
    gain = paper_formulas.information_gain(problem.kernel(problem.arms, problem.arms), arms, 1 + 2 / 50)
    root = math.sqrt(2 * (gain + 1 + math.log(3 / 0.05)))
    (block,) = policy.model.blocks
    expected = [2 + 0.5 * root, -(3 + 0.6 * root), -(4 + 0.7 * root)]
    np.testing.assert_allclose(block.width(5, state.posterior[0].gain)[0], expected, rtol=1e-12)


def test_the_papers_width_is_that_of_one_constraint():
    policy = examples_of.policy(noise=1.0, reward_bound=1.0, cost_bound=1.0, confidence=0.1)
    (block,) = policy.model.blocks
    beta = 1 + math.sqrt(2 * (0 + 1 + math.log(2 / 0.1)))
    np.testing.assert_allclose(block.width(1, np.zeros(1)), [[beta, -beta]], rtol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_errors_stay_within_the_theorys_width_on_synthetic_problems(seed):
    """|f - mu| <= beta sigma at every arm in every round, which the theorem promises with probability 0.9."""
    problem = examples_of.problem(seed=seed)
    policy = examples_of.policy(problem, explore="rand", width_scale=0.2)
    beta = examples_of.policy(problem).model.blocks[0].width
    agent = sb.Agent(policy, seed=seed)
    rng = np.random.default_rng(seed)
    for t in range(60):
        width = np.abs(beta(t + 1, agent._state.posterior[0].gain)[0])
        error = np.abs(agent.posterior.mean() - np.stack([problem.reward, problem.cost]))
        assert (error <= width[:, None] * agent.posterior.std() + 1e-12).all()
        decision = agent.ask()
        noise = problem.noise * rng.standard_normal(2)
        agent.tell(decision, problem.reward[decision.arm] + noise[0], problem.cost[decision.arm] + noise[1])


def test_a_given_width_is_the_same_in_every_round_whatever_the_gain():
    (block,) = examples_of.policy(width=[0.7, 0.3], width_scale=2.0).model.blocks
    for t, gain in ((1, 0.0), (50, 9.0)):
        np.testing.assert_allclose(block.width(t, np.array([gain])), [[1.4, -0.6]], rtol=1e-15)


def test_a_width_function_is_evaluated_in_each_round():
    (block,) = examples_of.policy(width=lambda t: [t, 2 * t]).model.blocks
    for t in (1, 2, 5):
        np.testing.assert_array_equal(block.width(t, np.zeros(1)), [[t, -2 * t]])


def test_the_tight_width_uses_each_outputs_bound_noise_lambda_and_gain():
    problem = examples_of.problem(constraints=2, seed=5)
    policy = sb.CKB(
        problem.arms,
        problem.kernel,
        reward_bound=2.0,
        cost_bound=[3.0, 4.0],
        noise=0.5,
        cost_noise=[0.6, 0.7],
        horizon=50,
        slater=0.5,
        confidence=0.05,
        constraints=2,
        width="tight",
        regularisation=[0.1, 0.02, 3.0],
        width_scale=1.5,
    )
    posterior, arms = policy.init(1).posterior, [3, 3, 17, 4]
    for arm in arms:
        posterior = policy.model.condition(posterior, np.array([arm]), np.zeros((1, 3)))
    K = problem.kernel(problem.arms, problem.arms)
    _, half = policy.model.confidence(posterior, 5)
    settings = zip([2.0, 3.0, 4.0], [0.5, 0.6, 0.7], [0.1, 0.02, 3.0], strict=True)
    for i, (B, R, lam) in enumerate(settings):
        gain = paper_formulas.information_gain(K, arms, lam)
        beta = paper_formulas.tight_width(B, R, lam, gain, m=2, alpha=0.05)
        sigma = np.sqrt(np.diag(paper_formulas.posterior(K, arms, np.zeros(4), lam)[1]))
        np.testing.assert_allclose(half[0, i], 1.5 * beta * sigma, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("noise", [0.02, 0.5])
def test_the_default_lambda_gives_the_narrowest_tight_width_at_arms_that_are_played_often(noise):
    """A scan of lambda B^2 + 2 R^2 gain, for the gain of T rounds spread over the arms."""
    problem, T = examples_of.problem(noise=noise), 500
    policy = examples_of.policy(problem, width="tight", horizon=T)
    K = problem.kernel(problem.arms, problem.arms)
    n = len(K)
    for (group, _), B in zip(policy.model.by_output(), policy.bounds[:, 0], strict=True):
        scan = noise**2 / B**2 * np.geomspace(0.1, 100, 4001)
        gains = [0.5 * np.linalg.slogdet(np.eye(n) + T / n * K / lam)[1] for lam in scan]
        best = scan[np.argmin(scan * B**2 + 2 * noise**2 * np.array(gains))]
        assert group.regularisation == pytest.approx(best, rel=2e-3)  # a step of the scan is 1.0017


def test_many_arms_and_spaces_have_a_default_lambda_near_that_of_a_grid():
    """256 random points stand for all: the effective dimensions differ by a few percent."""
    settings = {"reward_bound": 2, "cost_bound": 2, "noise": 0.1, "horizon": 1000, "slater": 0.5, "width": "tight"}
    kernel = sb.Matern(0.4)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 25)] * 2), axis=-1).reshape(-1, 2)
    policies = [sb.CKB(arms, kernel, **settings) for arms in (grid, grid[::3], sb.Box([0, 0], [1, 1]))]
    lambdas = [float(policy.model.by_output()[0][0].regularisation) for policy in policies]
    assert max(lambdas) < 1.1 * min(lambdas)


def test_without_noise_the_tight_width_is_the_bound():
    (block,) = examples_of.policy(noise=0.0, width="tight", reward_bound=2.0, cost_bound=2.0).model.blocks
    np.testing.assert_allclose(block.width(9, np.array([30.0])), [[2.0, -2.0]], rtol=1e-12)


def test_the_tight_width_is_what_the_mixture_of_likelihood_ratios_proves():
    """Brute force on two arms: the mixture by quadrature, and the largest f(x) - mu(x) that it allows by optimisation.

    The proof: M = E_h[prod of p_h(y) / p_f(y)], h ~ GP(0, (R^2 / lambda) k), is a supermartingale, so M <= 1 / alpha
    throughout. With |f| <= B that leaves a set of f, all of it within beta sigma of mu.
    """
    rng = np.random.default_rng(0)
    Phi = np.array([[1.0, 0.0], [0.6, 0.8]])
    B, R, lam, alpha = 1.5, 0.4, 0.07, 0.1
    truth = Phi @ np.array([1.2, -0.5])
    arms = rng.integers(2, size=9)
    y = truth[arms] + R * rng.standard_normal(9)
    side = np.linspace(-10, 10, 1001)  # of the weights of h: prior deviation 1.5, posterior 0.1, steps of 0.02
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    prior = np.exp(-(lam / R**2) * (grid**2).sum(axis=1) / 2)
    likelihood = np.exp(-sum((value - grid @ Phi[arm]) ** 2 for arm, value in zip(arms, y, strict=True)) / (2 * R**2))
    evidence = math.log(prior @ likelihood / prior.sum())

    def log_mixture(w):
        """ln M, with the likelihood of f = Phi w in the denominator."""
        return evidence + ((y - (Phi @ w)[arms]) ** 2).sum() / (2 * R**2)

    K = Phi @ Phi.T
    mu, k = paper_formulas.posterior(K, arms, y, lam)
    gain = paper_formulas.information_gain(K, arms, lam)
    beta = paper_formulas.tight_width(B, R, lam, gain, m=0, alpha=alpha)
    inside = [
        {"type": "ineq", "fun": lambda w: -math.log(alpha) - log_mixture(w)},
        {"type": "ineq", "fun": lambda w: B**2 - w @ w},
    ]
    # The proof adds the two conditions up with weights 2 R^2 and lambda; that set's bound is exactly beta sigma.
    both = {"type": "ineq", "fun": lambda w: 2 * R**2 * (-math.log(alpha) - log_mixture(w)) + lam * (B**2 - w @ w)}
    start = np.linalg.solve(Phi[arms].T @ Phi[arms] + lam * np.eye(2), Phi[arms].T @ y)
    for x in range(2):
        for sign in (1.0, -1.0):
            objective = {"fun": lambda w, x=x, sign=sign: -sign * (Phi[x] @ w), "x0": start, "tol": 1e-12}
            allowed = -minimize(**objective, constraints=inside).fun - sign * mu[x]
            proved = -minimize(**objective, constraints=[both]).fun - sign * mu[x]
            assert allowed <= beta * math.sqrt(k[x, x]) * (1 + 1e-6)
            assert proved == pytest.approx(beta * math.sqrt(k[x, x]), rel=1e-5)


def failures(explore, scale, trials=100, instances=20, rounds=60):
    """Return the number of runs in which |h - mu| exceeds the tight width at some arm in some round."""
    count = 0
    for seed in range(instances):
        problem = sb.problems.rkhs(arms=25, noise=0.5, seed=seed)
        policy = examples_of.policy(problem, explore=explore, width="tight", width_scale=scale, horizon=rounds)
        truth = np.stack([problem.reward, problem.cost])
        state, failed = policy.init(trials), np.zeros(trials, dtype=bool)
        draws = draw(policy.draws(), seed, range(trials), 0, rounds, POLICY).rounds()
        noise = draw(problem.draws(), seed, range(trials), 0, rounds, PROBLEM).rounds()
        for policy_draws, problem_draws in zip(draws, noise, strict=True):
            mean, half = policy.model.confidence(state.posterior, state.round + 1)
            failed |= (np.abs(truth - mean) > half + 1e-12).any(axis=(1, 2))
            choice = policy.decide(state, policy_draws)
            state = policy.update(state, choice, *problem.observe(choice.arm, problem_draws))
        count += int(failed.sum())
    return count


@pytest.mark.slow
@pytest.mark.parametrize("explore", ["ucb", "rand"])
def test_errors_exceed_the_tight_width_in_at_most_a_share_alpha_of_2000_runs(explore):
    """An exact binomial test at alpha = 0.1; a width of 0.3 times the tight one would not pass it."""
    assert binomtest(failures(explore, 1.0), 2000, 0.1, alternative="greater").pvalue > 0.01
    assert binomtest(failures(explore, 0.3), 2000, 0.1, alternative="greater").pvalue < 0.01
