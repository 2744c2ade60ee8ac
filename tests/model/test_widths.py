import math

import numpy as np
import pytest
from softbandit_tests import examples_of
from softbandit_tests import paper_formulas as literal

import softbandit as sb


def test_each_output_has_its_own_bound_and_noise_and_the_gain_before_the_round():
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
    gain = literal.information_gain(problem.kernel(problem.arms, problem.arms), arms, 1 + 2 / 50)
    root = math.sqrt(2 * (gain + 1 + math.log(3 / 0.05)))
    (block,) = policy.model.blocks
    expected = [2 + 0.5 * root, -(3 + 0.6 * root), -(4 + 0.7 * root)]
    np.testing.assert_allclose(block.width(5, state.posterior[0].gain)[0], expected, rtol=1e-12)


def test_the_papers_case_is_one_constraint():
    policy = examples_of.policy(noise=1.0, reward_bound=1.0, cost_bound=1.0, confidence=0.1)
    (block,) = policy.model.blocks
    beta = 1 + math.sqrt(2 * (0 + 1 + math.log(2 / 0.1)))
    np.testing.assert_allclose(block.width(1, np.zeros(1)), [[beta, -beta]], rtol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_holds_on_synthetic_problems(seed):
    """|f - mu| <= beta sigma at every arm and round, as the theorem says with probability 0.9."""
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
