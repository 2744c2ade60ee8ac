import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb


def test_each_run_of_doubling_is_the_plain_policy_with_that_runs_horizon():
    problem = examples_of.problem()
    policy = examples_of.policy(problem, horizon=10, explore="ucb", ties="first", width_scale=0.3)
    noiseless = sb.problems.Problem(**{**vars(problem), "noise": 0.0})
    trace = sb.simulate(sb.Doubling(policy), noiseless, trials=2, rounds=70)
    for first, length in ((0, 10), (10, 20), (30, 40)):
        plain = sb.simulate(policy.replace(horizon=length), noiseless, trials=2)
        np.testing.assert_array_equal(trace.arms[:, first : first + length], plain.arms)
        np.testing.assert_array_equal(trace.dual[:, first : first + length], plain.dual)


def test_late_feedback_for_an_earlier_run_is_learned_by_the_run_in_force():
    agent = sb.Agent(sb.Doubling(examples_of.policy(horizon=2)))
    late = agent.ask()
    for _ in range(2):
        agent.tell(agent.ask(), 0.0, 0.0)
    assert (agent.posterior.mean() == 0).all()  # a new run has started
    agent.tell(late, 1.0, 0.5)
    assert agent.posterior.mean()[0, late.arm] > 0


def test_the_runs_of_doubling_share_the_factorised_kernel():
    policy = sb.Doubling(examples_of.policy(horizon=2))
    assert policy.stage(0).policy.model.factors[0] is policy.stage(50).policy.model.factors[0]


def test_doubling_refuses_anything_but_a_policy_with_steps():
    for policy in (None, sb.Doubling(examples_of.policy())):
        with pytest.raises(sb.ArgumentError, match="a policy with steps"):
            sb.Doubling(policy)


def test_agents_of_one_doubling_policy_may_be_in_different_runs():
    policy = sb.Doubling(examples_of.policy(horizon=4))

    class Interrupted(dict):
        """Another thread enters another run just after one was built."""

        def __setitem__(self, k, run):
            super().__setitem__(k, run)
            if k == 1:
                policy.stage(0)

    object.__setattr__(policy, "_runs", Interrupted())
    assert policy.stage(4).policy.horizon == 8
