"""Cases small enough to work out by hand: independent arms 0, 1, 2, ... on a line, lambda = 1."""

import math

import numpy as np
import pytest

import softbandit as sb
from softbandit.backend.random import POLICY, draw
from softbandit.baselines import (
    CONFIG,
    EPBO,
    GPUCB,
    PDCBO,
    POBO,
    RPOL,
    SGPUCB,
    ConstrainedEI,
    ConstrainedTS,
    SafeOpt,
    StageOpt,
    TimeVarying,
)


def build(kind, arms=4, **changes):
    """A policy for independent arms, with width 1 unless changed."""
    settings = {"reward_bound": 5, "cost_bound": 5, "noise": 0, "horizon": 100, "regularisation": 1, "ties": "first"}
    return kind(np.arange(float(arms))[:, None], sb.Tabular(np.eye(arms)), **settings, **{"width": 1.0, **changes})


def after(policy, *feedback):
    """Return an agent after observing (reward, cost) for each of its decisions, and its arms."""
    agent, arms = sb.Agent(policy), []
    for reward, cost in feedback:
        decision = agent.ask()
        arms.append(decision.arm)
        agent.tell(decision, reward, cost)
    return agent, arms


def sets_of(agent):
    """The arms that are safe, that may be best, and that may expand the safe set."""
    sets = agent.policy.sets(agent._state)
    return [np.flatnonzero(mask[0]).tolist() for mask in (sets.safe, sets.maximisers, sets.expanders)]


def test_safeopt_sets_with_a_lipschitz_constant():
    policy = build(SafeOpt, safe=0, lipschitz=0.5)
    # Before any observation every interval is [-1, 1]. Only the seed is safe; it expands, since -1 + 0.5 <= 0.
    agent, _ = after(policy)
    assert sets_of(agent) == [[0], [0], [0]]
    assert agent.ask().arm == 0
    # A cost of -3 at arm 0: mu = -1.5, sigma = 0.707, u = -0.793; the old lower bound -1 stays.
    # u + 0.5 d <= 0 up to d = 1.58: arm 1 is safe. Both may be best; both expand (-1 + 0.5 * 2 <= 0).
    agent, arms = after(policy, (0.0, -3.0))
    assert arms == [0]
    assert sets_of(agent) == [[0, 1], [0, 1], [0, 1]]
    # The interval of arm 1 is 2 wide, of arm 0 only 1.414 (its reward).
    assert agent.ask().arm == 1


def test_safeopt_has_no_expander_if_every_other_arm_is_too_far():
    policy = build(SafeOpt, safe=0, lipschitz=1.5)
    # -1 + 1.5 > 0: the seed does not expand; it may be best.
    assert sets_of(after(policy)[0]) == [[0], [0], []]


def test_safeopt_excludes_a_clearly_worse_arm_from_the_maximisers():
    policy = build(SafeOpt, safe=[0, 1], lipschitz=5.0)
    # Arm 0 pays 8: mu = 4, l = 3.29, but intersected with the prior's [-1, 1] the bounds cross at u = 1.
    # Arm 1 pays -8: u = min(1, -3.29). Its upper bound is below arm 0's lower one.
    agent, arms = after(policy, (8.0, -1.0), (-8.0, -1.0))
    assert arms == [0, 1]
    safe, maximisers, _ = sets_of(agent)
    assert safe == [0, 1]
    assert 1 not in maximisers


def test_safeopt_without_a_lipschitz_constant_has_no_expander_among_independent_arms():
    policy = build(SafeOpt, safe=0)
    # Observing one independent arm says nothing about another, so none expands.
    agent, _ = after(policy, (0.0, -3.0))
    assert sets_of(agent) == [[0], [0], []]


def test_safeopt_expands_from_an_arm_whose_observation_would_make_a_neighbour_safe():
    kernel = sb.Tabular(np.array([[1.0, 0.9], [0.9, 1.0]]))
    settings = {"reward_bound": 5, "cost_bound": 5, "noise": 0, "horizon": 100, "regularisation": 1}
    policy = SafeOpt(np.arange(2.0)[:, None], kernel, width=1.0, safe=0, **settings)
    # If arm 0 had its most favourable cost -1: mu' = -0.45, var' = 1 - 0.405, u' = 0.321 > 0.
    assert sets_of(after(policy)[0])[2] == []
    # After a cost of -1 at arm 0: mu_1 = -0.45, var_1 = 0.595, k = 0.45, var_0 = 0.5, l_0 = max(-1, -1.207) = -1.
    # Observing -1 again: mu' = -0.45 + 0.45 (-1 + 0.5) / 1.5 = -0.6, var' = 0.595 - 0.45^2 / 1.5 = 0.46,
    # u' = 0.078 > 0.
    # After a cost of -3: mu_0 = -1.5, mu_1 = -1.35, u_1 = -0.579: safe already.
    agent, _ = after(policy, (0.0, -1.0))
    assert sets_of(agent) == [[0], [0], []]
    agent, _ = after(policy, (0.0, -3.0))
    assert sets_of(agent)[0] == [0, 1]
    # After -1.5: mu_0 = -0.75, mu_1 = -0.675, u_1 = 0.096, l_0 = -1. Observing -1 then: mu' = -0.675 - 0.075 = -0.75,
    # u' = -0.75 + 0.678 = -0.072 <= 0: arm 0 expands.
    agent, _ = after(policy, (0.0, -1.5))
    assert sets_of(agent) == [[0], [0], [0]]


def test_stageopt_maximises_the_upper_bound_after_its_first_stage():
    policy = build(StageOpt, safe=[0, 3], lipschitz=1.5, stage_rounds=1)
    # No expanders: the first stage takes the widest maximiser, the first if several are equal.
    agent, arms = after(policy, (2.0, -1.0))
    assert arms == [0]
    # Second stage: u_f = min(1, 1 + 0.707) = 1 at arm 0 and 1 at arm 3: the first of them.
    assert agent.ask().arm == 0
    # A poor reward at arm 0: u_f = min(1, -1 + 0.707).
    agent, _ = after(policy, (-2.0, -1.0))
    assert agent.ask().arm == 3


def test_sgp_ucb_stays_at_its_seed_among_independent_arms():
    policy = build(SGPUCB, arms=3, safe=1, initial_rounds=2)
    _, arms = after(policy, (1.0, -1.0), (1.0, -1.0), (1.0, -1.0))
    assert arms == [1, 1, 1]  # the costs of other arms stay unknown


def test_sgp_ucb_computes_the_rounds_of_its_first_phase_from_the_features():
    # Two independent arms as the seed: mean phi phi^T = I / 2, so 8 * 1 * ln(2 / 0.1) / 0.5 = 47.9.
    policy = build(SGPUCB, arms=2, safe=[0, 1], initial_rounds="features")
    assert policy.uniform_rounds == 48
    with pytest.raises(sb.ArgumentError, match="a seed of 1 arms that does not span 2 directions"):
        build(SGPUCB, arms=2, safe=0, initial_rounds="features")


def test_the_queue_of_rpol_by_hand():
    agent, _ = after(build(RPOL), (0.0, 2.0), (0.0, -1.0), (0.0, 0.5))
    # 1 -> max(1 + 2, 1) = 3 -> max(3 + 0, 1.41) = 3 -> max(3 + 0.5, 1.73) = 3.5
    assert agent.dual == 3.5
    quiet, _ = after(build(RPOL), *[(0.0, -1.0)] * 9)
    assert quiet.dual == 3.0  # sqrt(9)


def test_both_queues_of_pobo_by_hand():
    agent, _ = after(build(POBO, slack=0.25), (0.0, 4.0))
    # Q: the optimistic cost was -1, so [0 - 1 + 0.25]_+ = 0. P: max(1 + 4, 1) = 5.
    assert agent.dual == 0.0
    assert agent._state.memory[0].tolist() == [[5.0]]


def test_the_dual_of_pdcbo_by_hand():
    agent, arms = after(build(PDCBO, arms=1, step=1.0), *[(0.0, 4.0)] * 2)
    # Round 1: l = -1, so 0. After a cost of 4: mu = 2, l = 2 - 0.707 = 1.293.
    assert arms == [0, 0]
    assert agent.dual == pytest.approx(2 - math.sqrt(0.5))


def test_config_excludes_and_epbo_penalises_a_certain_violation():
    """Three arms; after a cost of 4 at arm 0: mu = 2, l = 1.293, and u_f = 3 + 0.707 after a reward of 6."""
    config, arms = after(build(CONFIG, arms=3), (6.0, 4.0))
    assert arms == [0]
    assert config.ask().arm == 1  # arm 0 cannot be feasible
    # EPBO: 3.707 - rho 1.293 at arm 0 against 1 at the others: they are equal at rho = 2.094.
    assert after(build(EPBO, arms=3, penalty=2.0), (6.0, 4.0))[0].ask().arm == 0
    assert after(build(EPBO, arms=3, penalty=2.2), (6.0, 4.0))[0].ask().arm == 1


def test_pdcbo_leaves_a_costly_arm_once_its_dual_has_grown():
    """After cost 4 at arm 0 (twice) the dual is 1.293; l_0 = 8/3 - 0.577 = 2.089, u_0 = 4 + 0.577."""
    agent, arms = after(build(PDCBO, arms=3, step=1.0), (6.0, 4.0), (6.0, 4.0))
    assert arms == [0, 0]
    # 4.577 - 1.293 * 2.089 = 1.876 at arm 0, and 1 + 1.293 = 2.293 at the others.
    assert agent.ask().arm == 1


def test_gp_ucb_plays_the_largest_upper_bound():
    # Reward -2 at arm 0: u = -1 + 0.707; then 1.2 at arm 1: u = 0.6 + 0.707 = 1.307 against 1 at arm 2.
    agent = sb.Agent(build(GPUCB, arms=3))
    for reward, expected in ((-2.0, 0), (1.2, 1)):
        decision = agent.ask()
        assert decision.arm == expected
        agent.tell(decision, reward)
    assert agent.ask().arm == 1


def test_constrained_expected_improvement_by_hand():
    """After reward 2, cost -2 at arm 0: mu = 1, sigma = 0.707, P(feasible) = Phi(1.414) = 0.921; f+ = 1.

    EI(0) = 0.707 * 0.3989 = 0.282; the others: z = -1, EI = -1 * 0.1587 + 0.2420 = 0.0833, P = 0.5.
    So 0.2598 against 0.0417: arm 0 again.
    """
    agent, arms = after(build(ConstrainedEI, arms=3), (2.0, -2.0))
    assert arms == [0]
    assert agent.ask().arm == 0
    # After reward -2 instead: mu = -1 at arm 0, but arms 1, 2 with mu = 0 are feasible on average: f+ = 0.
    # EI(1) = 0.3989, P = 0.5: 0.199; EI(0): z = -1.414, (-1) 0.0786 + 0.707 * 0.1468 = 0.0252.
    assert after(build(ConstrainedEI, arms=3), (-2.0, -2.0))[0].ask().arm == 1


def test_constrained_thompson_plays_the_best_arm_of_the_feasible_sample():
    policy = build(ConstrainedTS, arms=3)
    agent = sb.Agent(policy, seed=4)
    draws = next(draw(policy.draws(), 4, [0], 0, 1, POLICY).rounds())
    f_t, g_t = policy.model.estimate(policy.init(1).posterior, 1, draws)[0]
    feasible = [x for x in range(3) if g_t[x] <= 0]
    expected = max(feasible, key=lambda x: f_t[x]) if feasible else min(range(3), key=lambda x: max(g_t[x], 0))
    assert agent.ask().arm == expected


def test_time_varying_ckb_forgets_observations_and_keeps_its_dual():
    ckb = build(sb.CKB, arms=3, rho=4.0, V=2.0)
    agent, arms = after(TimeVarying(ckb, every=2), (3.0, 4.0), (3.0, 4.0))
    assert arms == [0, 0]
    # Round 1: g = -1, dual 0. Round 2: g = 2 - 0.707 = 1.293, dual 0.646. Then the posterior is the prior again.
    assert agent.dual == pytest.approx((2 - math.sqrt(0.5)) / 2)
    np.testing.assert_array_equal(agent.posterior.mean(), np.zeros((2, 3)))
    np.testing.assert_array_equal(agent.posterior.std(), np.ones((2, 3)))
