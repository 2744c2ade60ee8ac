"""Cases small enough to work out by hand: independent arms 0, 1, 2, ... on a line, lambda = 1."""

import math

import numpy as np
import pytest

import softbandit as sb
from softbandit.backend.random import POLICY, draw
from softbandit.baselines import (
    CONFIG,
    EPBO,
    GPTS,
    GPUCB,
    OPB,
    PDCBO,
    POBO,
    RPOL,
    SGPUCB,
    UCBD,
    ConstrainedEI,
    ConstrainedTS,
    LoSBO,
    OptimisticLP,
    SafeBOCP,
    SafeOpt,
    StageOpt,
    TimeVarying,
)

# Without noise, a bound of 5 rules out most observations that make a case simple.
pytestmark = pytest.mark.filterwarnings("ignore:.*agent.forget:softbandit.PolicyWarning")


def build(kind, arms=4, **changes):
    """A policy for independent arms, with width 1 unless changed."""
    settings = {"reward_bound": 5, "cost_bound": 5, "noise": 0, "horizon": 100, "regularisation": 1, "ties": "first"}
    return kind(np.arange(float(arms))[:, None], sb.Tabular(np.eye(arms)), **{**settings, "width": 1.0, **changes})


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
    # A cost of -3 at arm 0: mu = -1.5, sigma = 0.707, u = -0.793, l = -2.207. u + 0.5 d <= 0 up to d = 1.58: arm 1 is
    # safe. Both may be best; both expand to arm 2 (-2.207 + 0.5 * 2 <= 0 and -1 + 0.5 <= 0).
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
    # Arm 0 pays 8: mu = 4, l = 3.29, above the upper bound 1 of arm 1.
    agent, arms = after(policy, (8.0, -1.0))
    assert arms == [0]
    assert sets_of(agent) == [[0, 1], [0], []]


def test_intersected_bounds_that_cross_leave_safeopt_any_safe_arm():
    policy = build(SafeOpt, safe=[0, 1], lipschitz=5.0, intersect=True)
    # Arm 0 pays 8: l = 4 - 0.707 = 3.293, but u stays at the prior's 1. No safe arm has u >= 3.293: M is empty.
    agent, _ = after(policy, (8.0, -1.0))
    low, up, _ = policy.intervals(agent._state)
    assert [low[0, 0, 0], up[0, 0, 0]] == pytest.approx([4 - math.sqrt(0.5), 1.0])
    assert sets_of(agent) == [[0, 1], [], []]
    assert agent.ask().arm == 1  # the widest: 2, against 1 - 3.293 for the reward and -0.5 + 0.707 + 1 for the cost


def test_bounds_that_are_not_intersected_follow_the_posterior():
    policy = build(SafeOpt, safe=[0, 1], lipschitz=5.0)
    agent, _ = after(policy, (8.0, -1.0))
    low, up, _ = policy.intervals(agent._state)
    assert [low[0, 0, 0], up[0, 0, 0]] == pytest.approx([4 - math.sqrt(0.5), 4 + math.sqrt(0.5)])


def test_constraints_that_reach_different_arms_expand_only_separately():
    """Arm 0 tells something about arm 1 in the first cost, and about arm 2 in the second."""
    linked = np.eye(3)[None].repeat(2, axis=0)
    for i in (0, 1):
        linked[i, 0, 1 + i] = linked[i, 1 + i, 0] = 0.9
    kernels = [sb.Tabular(linked[0]), sb.Tabular(linked[1])]
    # After costs of -1.5 at arm 0: mu_0 = -0.75, l_0 = -1.457, and in the cost that links arm 0 to arm j:
    # mu_j = -0.675, var_j = 0.595, u_j = 0.096 > 0. Observing l_0 there: mu' = -0.675 - 0.45 * 0.707 / 1.5 = -0.887,
    # var' = 0.46, u' = -0.209 <= 0: reached. In the other cost, u_j stays 1: neither arm is reached by both.
    for expanders, expected in (("each", [0]), ("all", [])):
        policy = build(SafeOpt, arms=3, safe=0, constraints=2, cost_kernel=kernels, expanders=expanders)
        agent, _ = after(policy, (0.0, [-1.5, -1.5]))
        assert sets_of(agent) == [[0], [0], expected]


def test_safeopt_without_a_lipschitz_constant_has_no_expander_among_independent_arms():
    policy = build(SafeOpt, safe=0)
    # Observing one independent arm says nothing about another, so none expands.
    agent, _ = after(policy, (0.0, -3.0))
    assert sets_of(agent) == [[0], [0], []]


@pytest.mark.parametrize("intersect", [False, True])
def test_safeopt_expands_from_an_arm_whose_observation_would_make_a_neighbour_safe(intersect):
    kernel = sb.Tabular(np.array([[1.0, 0.9], [0.9, 1.0]]))
    settings = {"reward_bound": 5, "cost_bound": 5, "noise": 0, "horizon": 100, "regularisation": 1}
    policy = SafeOpt(np.arange(2.0)[:, None], kernel, width=1.0, safe=0, intersect=intersect, **settings)
    # If arm 0 had its most favourable cost -1: mu' = -0.45, var' = 1 - 0.405, u' = 0.321 > 0.
    assert sets_of(after(policy)[0])[2] == []
    # After a cost of -1 at arm 0: mu_1 = -0.45, var_1 = 0.595, k = 0.45, var_0 = 0.5, l_0 = -1.207, or -1 intersected.
    # Observing it: mu' = -0.45 + 0.45 (l_0 + 0.5) / 1.5 = -0.662 or -0.6, var' = 0.595 - 0.45^2 / 1.5 = 0.46,
    # u' = 0.016 or 0.078, both > 0.
    # After a cost of -3: mu_0 = -1.5, mu_1 = -1.35, u_1 = -0.579: safe already.
    agent, _ = after(policy, (0.0, -1.0))
    assert sets_of(agent) == [[0], [0], []]
    agent, _ = after(policy, (0.0, -3.0))
    assert sets_of(agent)[0] == [0, 1]
    # After -1.5: mu_0 = -0.75, mu_1 = -0.675, u_1 = 0.096, l_0 = -1.457 or -1. Observing it: mu' = -0.887 or -0.75,
    # u' = mu' + 0.678 <= 0: arm 0 expands.
    agent, _ = after(policy, (0.0, -1.5))
    assert sets_of(agent) == [[0], [0], [0]]


def test_stageopt_maximises_the_upper_bound_after_its_first_stage():
    policy = build(StageOpt, safe=[0, 3], lipschitz=1.5, stage_rounds=1)
    # No expanders: the first stage takes the widest maximiser, the first if several are equal.
    agent, arms = after(policy, (2.0, -1.0))
    assert arms == [0]
    # Second stage: u_f = 1 + 0.707 at arm 0, and 1 at arm 3.
    assert agent.ask().arm == 0
    # A poor reward at arm 0: u_f = -1 + 0.707.
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


def test_the_queue_and_the_penalty_of_pobo_by_hand():
    policy = build(POBO, arms=1, constraints=2, hard=1, slater=0.5, slack_scale=0.01)
    agent, _ = after(policy, (0.0, [4.0, 4.0]))
    # Q: the optimistic cost was -1, so [0 - 1 + 0.01 * 2]_+ = 0. P: max(1 + 4, 0.05) = 5.
    assert agent.dual.tolist() == [0.0, 5.0]
    agent.tell(agent.ask(), 0.0, [4.0, -4.0])
    # l = 2 - 0.707; the gain is 1/2 ln 2, so epsilon = 0.01 (6 sqrt(0.3466) + 2) / sqrt(2) = 0.0391.
    assert agent.dual == pytest.approx([2 - math.sqrt(0.5) + 0.039118, 5.0], abs=1e-6)
    quiet, _ = after(build(POBO, hard=0, growth=0.5), *[(0.0, -1.0)] * 9)
    assert quiet.dual == 4.5  # 0.5 * 9


def test_pobo_prices_a_soft_cost_by_its_queue_over_v():
    """Two arms; cost 4 at arm 0 twice: Q = 1.293 (without slack), then l_0 = 8/3 - 0.577 = 2.089, u_0 = 4 + 0.577.

    V_3 = V_scale (0.5 / 8) sqrt(3) = 0.10825 V_scale, and the other arm has u = 1, l = -1. Arm 0 is left if
    4.577 - 1.293 * 2.089 / V_3 < 1 + 1.293 / V_3, that is if V_3 < 1.1166 or V_scale < 10.315.
    """
    for V_scale, expected in ((10.2, 1), (10.4, 0)):
        agent, arms = after(build(POBO, arms=2, slater=0.5, slack_scale=0, V_scale=V_scale), (6.0, 4.0), (6.0, 4.0))
        assert arms == [0, 0]
        assert agent.ask().arm == expected


def test_the_dual_of_pdcbo_by_hand():
    agent, arms = after(build(PDCBO, arms=1, step=1.0), *[(0.0, 4.0)] * 2)
    # Round 1: l = -1, so 0. After a cost of 4: mu = 2, l = 2 - 0.707 = 1.293.
    assert arms == [0, 0]
    assert agent.dual == pytest.approx(2 - math.sqrt(0.5))


def test_the_dual_of_pdcbo_begins_at_its_start_and_falls_by_at_most_the_bound():
    # l = -1, which no cost in [-0.25, 0.25] can be: 2 - 0.25.
    agent, _ = after(build(PDCBO, start=2.0, cost_bound=0.25), (0.0, 0.0))
    assert agent.dual == 1.75


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


def test_the_width_of_gp_ts_has_ln_2_over_alpha_and_that_of_gp_ucb_ln_1_over_alpha():
    # No observations, so no gain: B + R sqrt(2 (1 + ln(k / 0.1))) with B = 5, R = 0.5.
    for kind, k in ((GPTS, 2), (GPUCB, 1)):
        policy = build(kind, noise=0.5, width="theory")
        width = policy.model.reward_width(policy.init(1).posterior, 1)
        assert width.tolist() == [[pytest.approx(5 + 0.5 * math.sqrt(2 * (1 + math.log(k / 0.1))))]]


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


def drawn(policy, seed, share):
    """0 if the random number of round 2 is below a share, else 1."""
    return int(draw(policy.draws(), seed, [0], 1, 1, POLICY).uniform[0, 0, -1] >= share)


def test_opb_plays_a_costly_arm_as_often_as_the_safe_arm_makes_up_for_it():
    """alpha_r = 1 + 1/0.5 = 3. After reward -2 at arm 0: u_f = -1 + 3 * 0.707 = 1.12 there, and 3 at the others.

    Their costs may be 1, and c_0 = -0.5: arm 1 with weight p, p - 0.5 (1 - p) = 0 at p = 1/3.
    """
    policy = build(OPB, arms=3, safe=0, safe_cost=-0.5)
    assert policy.inflation == 3
    arms = []
    for seed in range(12):
        agent = sb.Agent(policy, seed)
        agent.tell(agent.ask(), -2.0, -0.5)
        arms.append(agent.ask().arm)
    assert arms == [drawn(policy, seed, 2 / 3) for seed in range(12)]
    assert set(arms) == {0, 1}


def test_the_optimistic_linear_program_mixes_a_costly_arm_with_one_that_may_make_up_for_it():
    """After reward 6, cost 4 at arm 0: u_f = 3.707, l = 1.293 there; 1 and -1 at the others: p 1.293 = 1 - p."""
    policy = build(OptimisticLP, arms=3)
    arms = []
    for seed in range(12):
        agent = sb.Agent(policy, seed)
        agent.tell(agent.ask(), 6.0, 4.0)
        arms.append(agent.ask().arm)
    assert arms == [drawn(policy, seed, 1 / (3 - math.sqrt(0.5))) for seed in range(12)]
    assert set(arms) == {0, 1}


def test_safe_bocp_widens_after_a_violation_and_narrows_otherwise():
    # alpha = 0.25, eta = 2: delta = 0.75, 0.25, -0.25 after two rounds below 0. Then the width is 0, and a mean of 0
    # is safe: arm 1, the first of the widest, is next.
    policy = build(SafeBOCP, arms=3, safe=0, rate=0.25, step=2.0)
    agent, arms = after(policy, (0.0, -3.0), (0.0, -3.0))
    assert (arms, agent.dual, sets_of(agent)[0]) == ([0, 0], -0.25, [0, 1, 2])
    # Arm 1 is far below 0: delta = -0.75. Then 2 at arm 2: delta = 0.75, beta = 1.15, and arm 2 is left out.
    agent, arms = after(policy, *[(0.0, -3.0)] * 2, (0.0, -300.0), (0.0, 2.0))
    assert (arms[2:], agent.dual, sets_of(agent)[0]) == ([1, 2], 0.75, [0, 1])
    # A violation at arm 1: delta = 2.25, and only the seed is left, although the mean of arm 1 is -99.
    agent, arms = after(policy, *[(0.0, -3.0)] * 2, (0.0, -300.0), (0.0, 2.0), (0.0, 3.0))
    assert (arms[4], agent.dual, sets_of(agent)[0]) == (1, 2.25, [0])


def test_the_safe_set_of_losbo_does_not_depend_on_the_gaussian_process():
    for width in (0.0, 1.0, 1e3):
        # c + E + Lip d = -1 + 0.2 + 0.5 d <= 0 up to d = 1.6.
        agent, _ = after(build(LoSBO, safe=0, lipschitz=0.5, noise_bound=0.2, width=width), (0.0, -1.0))
        assert sets_of(agent)[0] == [0, 1]
        agent, _ = after(build(LoSBO, safe=0, lipschitz=0.5, noise_bound=0.6, width=width), (0.0, -1.0))
        assert sets_of(agent)[0] == [0]


def test_los_gp_ucb_plays_the_largest_upper_bound_in_the_safe_set():
    # After reward -2 at arm 0, u_f = -1 + 0.707 there and 1 at arm 1, which is safe.
    agent, _ = after(build(LoSBO, safe=0, lipschitz=0.5, noise_bound=0.2, rule="ucb"), (-2.0, -1.0))
    assert agent.ask().arm == 1


def test_ucb_d_learns_only_from_the_output_with_the_largest_gap():
    # u_f - l_f = 2 against u_g = 1: the reward is observed, and the cost of 4 is not.
    agent, _ = after(build(UCBD, arms=3), (6.0, 4.0))
    np.testing.assert_allclose(agent.posterior.mean(), [[3, 0, 0], [0, 0, 0]])
    np.testing.assert_allclose(agent.posterior.std()[:, 0], [math.sqrt(0.5), 1])
    # With three times the width for the cost, u_g = 3: the cost is.
    agent, _ = after(build(UCBD, arms=3, width=[1.0, 3.0]), (6.0, 4.0))
    np.testing.assert_allclose(agent.posterior.mean(), [[0, 0, 0], [2, 0, 0]])
    assert agent.policy.recommended(agent._state) == [0]
