import warnings

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb

SETTINGS = {"reward_bound": 2, "cost_bound": [1, 3], "noise": 0.1, "cost_noise": [0.2, 0.5], "horizon": 99}
POLICY = sb.CKB(np.eye(3), sb.Linear(), **SETTINGS, slater=0.5, constraints=2)
LIMITS = np.array([2.6, 2.2, 6.0])  # bound + 6 noise


def said(policy, observed):
    agent = sb.Agent(policy)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        agent.tell(agent.ask(), observed[0], observed[1:])
    assert agent.round == 1  # learned all the same
    assert all(w.category is sb.PolicyWarning and w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize("sign", [-1, 1])
def test_observations_within_the_bound_and_six_times_the_noise_are_no_surprise(sign):
    assert said(POLICY, sign * 0.999 * LIMITS) == []
    assert said(sb.Doubling(POLICY), sign * 0.999 * LIMITS) == []


@pytest.mark.parametrize("output", [0, 1, 2])
def test_an_observation_beyond_belief_is_said_to_be_one_and_how_to_remove_it(output):
    observed = np.zeros(3)
    observed[output] = -1.001 * LIMITS[output]
    for policy in (POLICY, sb.Doubling(POLICY)):
        (text,) = said(policy, observed)
        name = ["reward", "cost[0]", "cost[1]"][output]
        rule = "cost_bound + 6 cost_noise" if output else "reward_bound + 6 noise"
        expected = f"between -{LIMITS[output]:.4g} and {LIMITS[output]:.4g} ({rule})"
        assert text.startswith(f"{name}: expected {expected}, got {observed[output]:.4g}. ")
        assert "agent.forget(decision) removes it" in text


def test_every_observation_beyond_belief_is_reported_and_can_be_forgotten():
    agent = sb.Agent(examples_of.POLICIES["CKB"])
    for _ in range(3):
        agent.tell(agent.ask(), 0.1, 0.1)
    mean, decisions = agent.posterior.mean(), [agent.ask(), agent.ask()]
    for decision in decisions:
        with pytest.warns(sb.PolicyWarning, match=r"reward: expected .*, got 1e\+39"):
            agent.tell(decision, 1e39, 0.1)
    assert np.abs(agent.posterior.mean()).max() > 1e37
    for decision in decisions:
        agent.forget(decision)
    np.testing.assert_array_equal(agent.posterior.mean(), mean)


def test_policies_that_learn_bounds_and_noise_are_not_surprised():
    assert said(sb.Autopilot(np.eye(3)), [1e50, -1e50]) == []
