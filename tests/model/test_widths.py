import math

import numpy as np
import pytest
from softbandit_tests import examples_of, paper_formulas

import softbandit as sb


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
