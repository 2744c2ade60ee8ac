"""Cases small enough to work out by hand: independent arms 0, 1, 2, ... on a line, lambda = 1."""

import math

import numpy as np
import pytest

import softbandit as sb
from softbandit.baselines import PDCBO, POBO, RPOL, SGPUCB, SafeOpt, StageOpt


def make(kind, arms=4, **own):
    settings = {"reward_bound": 5, "cost_bound": 5, "noise": 0, "horizon": 100, "regularisation": 1, "ties": "first"}
    return kind(np.arange(float(arms))[:, None], sb.Tabular(np.eye(arms)), **settings, **{"width": 1.0, **own})


def after(policy, *seen):
    """An agent that was told what came of its own decisions: (reward, cost) each."""
    agent, arms = sb.Agent(policy), []
    for reward, cost in seen:
        decision = agent.ask()
        arms.append(decision.arm)
        agent.tell(decision, reward, cost)
    return agent, arms


def sets_of(agent):
    sets = agent.policy.sets(agent._state)
    return [np.flatnonzero(each[0]).tolist() for each in (sets.safe, sets.maximisers, sets.expanders)]


def test_safe_sets_with_a_lipschitz_constant():
    policy = make(SafeOpt, safe=0, lipschitz=0.5)
    # Before any look every interval is [-1, 1]. Only the seed is safe; it leads on, since -1 + 0.5 <= 0.
    agent, _ = after(policy)
    assert sets_of(agent) == [[0], [0], [0]]
    assert agent.ask().arm == 0
    # A cost of -3 at arm 0: mu = -1.5, sigma = 0.707, u = -0.793; the old lower bound -1 stays.
    # u + 0.5 d <= 0 up to d = 1.58: arm 1 is safe. Both may be best; both lead on (-1 + 0.5 * 2 <= 0).
    agent, arms = after(policy, (0.0, -3.0))
    assert arms == [0]
    assert sets_of(agent) == [[0, 1], [0, 1], [0, 1]]
    # The interval of arm 1 is 2 wide, of arm 0 only 1.414 (its reward).
    assert agent.ask().arm == 1


def test_an_arm_too_far_to_reach_makes_no_expander():
    policy = make(SafeOpt, safe=0, lipschitz=1.5)
    # -1 + 1.5 > 0: the seed leads nowhere; it may be best.
    assert sets_of(after(policy)[0]) == [[0], [0], []]


def test_a_clearly_worse_arm_is_no_maximiser():
    policy = make(SafeOpt, safe=[0, 1], lipschitz=5.0)
    # Arm 0 pays 8: mu = 4, l = 3.29, but intersected with the prior's [-1, 1] the bounds cross at u = 1.
    # Arm 1 pays -8: u = min(1, -3.29). Its upper bound is below arm 0's lower one.
    agent, arms = after(policy, (8.0, -1.0), (-8.0, -1.0))
    assert arms == [0, 1]
    safe, maximisers, _ = sets_of(agent)
    assert safe == [0, 1]
    assert 1 not in maximisers


def test_safe_sets_without_a_lipschitz_constant():
    policy = make(SafeOpt, safe=0)
    # Independent arms: a look at one says nothing of another, so none leads on.
    agent, _ = after(policy, (0.0, -3.0))
    assert sets_of(agent) == [[0], [0], []]


def test_a_look_that_would_make_a_neighbour_safe_makes_an_expander():
    kernel = sb.Tabular(np.array([[1.0, 0.9], [0.9, 1.0]]))
    settings = {"reward_bound": 5, "cost_bound": 5, "noise": 0, "horizon": 100, "regularisation": 1}
    policy = SafeOpt(np.arange(2.0)[:, None], kernel, width=1.0, safe=0, **settings)
    # If arm 0 showed its most favourable cost -1: mu' = -0.45, var' = 1 - 0.405, u' = 0.321 > 0.
    assert sets_of(after(policy)[0])[2] == []
    # After a cost of -1 at arm 0: mu_1 = -0.45, var_1 = 0.595, k = 0.45, var_0 = 0.5, l_0 = max(-1, -1.207) = -1.
    # Seeing -1 again: mu' = -0.45 + 0.45 (-1 + 0.5) / 1.5 = -0.6, var' = 0.595 - 0.45^2 / 1.5 = 0.46, u' = 0.078 > 0.
    # After a cost of -3: mu_0 = -1.5, mu_1 = -1.35, u_1 = -0.579: safe without more ado.
    agent, _ = after(policy, (0.0, -1.0))
    assert sets_of(agent) == [[0], [0], []]
    agent, _ = after(policy, (0.0, -3.0))
    assert sets_of(agent)[0] == [0, 1]
    # After -1.5: mu_0 = -0.75, mu_1 = -0.675, u_1 = 0.096, l_0 = -1. Seeing -1 then: mu' = -0.675 - 0.075 = -0.75,
    # u' = -0.75 + 0.678 = -0.072 <= 0: arm 0 leads on.
    agent, _ = after(policy, (0.0, -1.5))
    assert sets_of(agent) == [[0], [0], [0]]


def test_stageopt_changes_its_aim():
    policy = make(StageOpt, safe=[0, 3], lipschitz=1.5, stage_rounds=1)
    # No expanders: the first stage takes the widest maximiser, the first of equals.
    agent, arms = after(policy, (2.0, -1.0))
    assert arms == [0]
    # Second stage: u_f = min(1, 1 + 0.707) = 1 at arm 0 and 1 at arm 3: the first of equals.
    assert agent.ask().arm == 0
    # A poor reward at arm 0: u_f = min(1, -1 + 0.707).
    agent, _ = after(policy, (-2.0, -1.0))
    assert agent.ask().arm == 3


def test_sgp_ucb_leaves_its_seed_when_others_are_known():
    policy = make(SGPUCB, arms=3, safe=1, initial_rounds=2)
    _, arms = after(policy, (1.0, -1.0), (1.0, -1.0), (1.0, -1.0))
    assert arms == [1, 1, 1]  # independent arms never become known


def test_sgp_ucb_sees_every_direction_by_its_formula():
    # Two independent arms as the seed: mean phi phi^T = I / 2, so 8 * 1 * ln(2 / 0.1) / 0.5 = 47.9.
    policy = make(SGPUCB, arms=2, safe=[0, 1], initial_rounds="features")
    assert policy.uniform_rounds == 48
    with pytest.raises(sb.ArgumentError, match="a seed of 1 arms that leaves some direction of 2 unseen"):
        make(SGPUCB, arms=2, safe=0, initial_rounds="features")


def test_the_queue_of_rpol():
    agent, _ = after(make(RPOL), (0.0, 2.0), (0.0, -1.0), (0.0, 0.5))
    # 1 -> max(1 + 2, 1) = 3 -> max(3 + 0, 1.41) = 3 -> max(3 + 0.5, 1.73) = 3.5
    assert agent.dual == 3.5
    calm, _ = after(make(RPOL), *[(0.0, -1.0)] * 9)
    assert calm.dual == 3.0  # sqrt(9)


def test_the_queues_of_pobo():
    agent, _ = after(make(POBO, slack=0.25), (0.0, 4.0))
    # Q: the optimistic cost was -1, so [0 - 1 + 0.25]_+ = 0. P: max(1 + 4, 1) = 5.
    assert agent.dual == 0.0
    assert agent._state.memory[0].tolist() == [[5.0]]


def test_the_dual_of_pdcbo():
    agent, arms = after(make(PDCBO, arms=1, step=1.0), *[(0.0, 4.0)] * 2)
    # Round 1: l = -1, so 0. After a cost of 4: mu = 2, l = 2 - 0.707 = 1.293.
    assert arms == [0, 0]
    assert agent.dual == pytest.approx(2 - math.sqrt(0.5))
