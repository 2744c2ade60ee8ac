"""Remarks of Autopilot: each appears when it should, in the user's units, and goes away by itself."""

import warnings

import numpy as np
import pytest

import softbandit as sb
from softbandit.agent import AWAY
from softbandit.policies.autopilot_remarks import FIRST, is_far_within

ARMS = np.linspace(0, 1, 12)[:, None]
NOISE = 0.05


def play(agent, rounds, cost, reward=lambda x: 3 * x, seed=0, among=None):
    """Tell rounds of functions of x with noise, and return the warnings."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(rounds):
            decision = agent.ask(among)
            x = float(decision.x[0])
            costs = np.atleast_1d(cost(x)) + NOISE * rng.standard_normal(np.size(cost(x)))
            agent.tell(decision, reward(x) + NOISE * rng.standard_normal(), costs)
    assert all(w.category is sb.PolicyWarning for w in caught)
    return [str(w.message) for w in caught]


def autopilot(**settings):
    return sb.Agent(sb.Autopilot(ARMS, horizon=300, **settings))


def test_a_run_that_goes_well_has_no_remarks():
    for seed in range(5):
        assert play(autopilot(), 60, lambda x: x - 0.5, seed=seed) == []


def test_limits_out_of_reach_are_noticed_once_with_the_least_violation():
    """The least of x + 2 is 2, and -x - 1 is always within its limit."""
    first, second = (
        play(autopilot(), 60, lambda x: x + 2),
        play(autopilot(constraints=2), 60, lambda x: [x + 2, -x - 1]),
    )
    for messages in (first, second):
        assert sum("No mixture of arms meets the limits" in m for m in messages) == 1
    (said,) = (m for m in first if "No mixture" in m)
    least = float(said.split("about ")[1].split(" (cost)")[0])
    # The lowest arm's mean is known to about NOISE / sqrt(plays), its neighbours' at least as well: 4 NOISE is ample.
    assert least == pytest.approx(2, abs=4 * NOISE)
    (said,) = (m for m in second if "No mixture" in m)
    assert "(cost 0)" in said
    assert "(cost 1)" not in said


def test_the_remark_about_limits_goes_away_when_lower_costs_are_found_and_returns():
    agent = autopilot()
    assert any("No mixture" in m for m in play(agent, 40, lambda x: x + 2))
    policy = agent.policy
    assert "limits" in policy.remarks(agent._state)
    play(agent, 40, lambda x: x - 6)
    assert "limits" not in policy.remarks(agent._state)
    assert any("No mixture" in m for m in play(agent, 60 + AWAY, lambda x: x + 20))


def test_a_cost_without_its_limit_subtracted_is_noticed():
    (said, *_) = play(autopilot(), FIRST, lambda x: 40 + 10 * x)
    assert said.startswith(f"The cost was never below zero in {FIRST} rounds, from ")
    assert "tell cost=measured - limit" in said


def test_a_cost_that_is_never_negative_is_noticed_but_not_one_that_crosses_its_limit():
    def both(x):
        return [abs(x - 0.5) + 10 * NOISE, x - 0.5]

    (said, *others) = play(autopilot(constraints=2), FIRST, both)
    assert said.startswith("The cost 0 was never below zero in 20 rounds")
    assert not any("The cost 1" in m for m in others)


def test_a_cost_that_never_comes_near_its_limit_is_noticed():
    """Seconds, from 0.5 to 1.5, and a limit of 1,000 that was meant in milliseconds; then the same in one unit."""
    (said,) = play(autopilot(), FIRST, lambda x: 0.5 + x - 1000)
    assert said.startswith("The cost was between -999.")
    assert said.endswith("Check that measurements and limit are in the same unit.")
    assert play(autopilot(), FIRST, lambda x: 0.5 + x - 1) == []


@pytest.mark.parametrize(("costs", "far"), [([-101.1, -100.1], True), ([-101, -100], False), ([-9, -9], False)])
def test_a_cost_is_far_within_its_limit_if_it_is_over_100_times_its_range_away(costs, far):
    assert is_far_within(np.array(costs)) is far


@pytest.mark.parametrize(("reward", "cost", "name"), [(1.5, None, "reward"), (None, -2.0, "cost")])
def test_an_output_that_never_changes_is_noticed_once(reward, cost, name):
    agent, rng = autopilot(), np.random.default_rng(0)

    def tell_noise(rounds):
        for _ in range(rounds):
            noisy = rng.standard_normal(2)
            agent.tell(agent.ask(), noisy[0] if reward is None else reward, noisy[1] if cost is None else cost)

    with pytest.warns(sb.PolicyWarning, match=f"The {name} was .* in all {FIRST} rounds, whatever") as caught:
        tell_noise(FIRST + 10)
    assert len(caught) == 1


def test_being_stuck_at_an_arm_that_breaks_its_limit_is_noticed():
    agent = autopilot()
    assert play(agent, 30, lambda x: x - 0.5) == []
    (said,) = play(agent, 60, lambda x: x - 0.5, among=[11])
    assert said.startswith("The last 50 rounds were all at arm 11, where cost is 0.")
    assert "pass more arms" in said


def test_staying_at_an_arm_within_its_limits_is_no_reason_to_say_anything():
    agent = autopilot()
    play(agent, 30, lambda x: x - 0.5)
    assert play(agent, 80, lambda x: x - 0.5, among=[0]) == []


def test_a_warning_that_is_raised_as_an_error_leaves_the_round_told():
    agent = autopilot()
    for _ in range(FIRST - 1):
        agent.tell(agent.ask(), reward=1.0, cost=3.0)
    decision = agent.ask()
    with pytest.raises(sb.PolicyWarning, match="The reward was 1 in all"):
        agent.tell(decision, reward=1.0, cost=3.0)
    assert agent.round == len(agent.record) == FIRST
    agent.tell(agent.ask(), reward=1.0, cost=3.0)


def test_policies_that_notice_nothing_say_nothing():
    problem = sb.problems.rkhs(seed=1)
    policy = sb.CKB(**problem.settings(), horizon=30)
    assert policy.remarks(policy.init(1)) == {}


# -- Other limits. --


def test_an_agent_recovers_from_limits_out_of_reach_when_they_are_raised():
    """Costs x + 2 become x - 0.5: f = 3x is best at x = 0.5, for a reward of 1.5."""
    agent = autopilot()
    play(agent, 40, lambda x: x + 2)
    raised = agent.with_limits_raised(by=2.5)
    assert play(raised, 60, lambda x: x - 0.5, seed=1) == []
    late = raised.record.costs[-60:].mean(), raised.record.rewards[-60:].mean()
    # The mean of 60 rounds has noise 0.05 / sqrt(60) = 0.0065; a debt of one round's cost, 0.5 / 60, may be left.
    assert late[0] <= 3 * 0.0065 + 0.5 / 60
    assert late[1] == pytest.approx(1.5, abs=0.2)


def test_raised_limits_keep_the_rounds_and_leave_the_first_agent_alone():
    agent = autopilot(constraints=2)
    play(agent, 25, lambda x: [x - 0.5, 0.2 - x])
    pending, before = agent.ask(), agent.record.rows.copy()
    mean = agent.posterior.mean()
    raised = agent.with_limits_raised(by=[0.1, -0.1])
    np.testing.assert_array_equal(agent.record.rows, before)
    np.testing.assert_allclose(raised.record.costs, agent.record.costs - [0.1, -0.1])
    assert raised.round == 25
    played = agent.record.arms  # their means are known to a fraction of the noise, however the rest is learned again
    moved = (mean - raised.posterior.mean())[:, played]
    np.testing.assert_allclose(moved, np.outer([0.0, 0.1, -0.1], np.ones(25)), atol=NOISE / 2)
    raised.tell(pending, 1.0, [0.0, 0.0])  # asked before, told after
    assert (agent.round, raised.round) == (25, 26)


@pytest.mark.parametrize("bad", [[1.0], 1.0, [1.0, np.nan], "x"])
def test_limits_that_cannot_be_used_are_refused(bad):
    agent = autopilot(constraints=2)
    with pytest.raises(sb.ArgumentError, match=r"by(\[1\])?: expected"):
        agent.with_limits_raised(by=bad)


@pytest.mark.parametrize("by", [1e151, -1e160, 1.7e308])
@pytest.mark.parametrize("rounds", [0, 6])
def test_limits_raised_beyond_what_can_be_squared_are_refused_and_leave_the_agent_as_it_was(by, rounds):
    agent = sb.Agent(sb.Autopilot(np.linspace(0, 1, 7)[:, None]))
    for t in range(rounds):
        agent.tell(agent.ask(), np.sin(t), np.cos(t))
    before = agent._now
    with pytest.raises(sb.ArgumentError, match="by: expected numbers of a usable size"):
        agent.with_limits_raised(by)
    assert agent._now is before


def test_limits_can_be_raised_by_a_number_that_is_hardly_above_zero():
    """Costs of that size would overflow what they are divided into; as observations they count as zero."""
    agent = sb.Agent(sb.Autopilot(np.linspace(0, 1, 7)[:, None]))
    for cost in (0.0, -2.6, 0.0, 0.0):
        agent.tell(agent.ask(), 0.0, cost)
    raised = agent.with_limits_raised(1e-308)
    np.testing.assert_array_equal(raised.posterior.mean(), agent.with_limits_raised(0.0).posterior.mean())


def test_debts_from_before_a_change_are_not_repaid():
    agent = autopilot()
    play(agent, 30, lambda x: x + 2)
    raised = agent.with_limits_raised(by=2.5)
    assert raised._state.posterior[0].debt.tolist() == [0.0]
    assert raised.with_limits_raised(by=-0.25)._state.posterior[0].debt.tolist() == [0.0]


def test_an_agent_with_raised_limits_continues_to_the_bit_after_saving_and_loading(tmp_path):
    agent = autopilot()
    play(agent, 30, lambda x: x + 2)
    raised = agent.with_limits_raised(by=2.5)
    play(raised, 5, lambda x: x - 0.5)
    raised.save(tmp_path / "run.npz")
    loaded = sb.Agent.load(tmp_path / "run.npz", policy=raised.policy)
    assert loaded.dual == raised.dual
    for _ in range(10):
        decision, other = raised.ask(), loaded.ask()
        assert decision.arm == other.arm
        raised.tell(decision, decision.x[0], 0.1)
        loaded.tell(other, decision.x[0], 0.1)


def test_policies_that_cannot_go_on_with_other_limits_say_so():
    agent = sb.Agent(sb.CKB(**sb.problems.rkhs(seed=1).settings(), horizon=30))
    with pytest.raises(sb.ArgumentError, match="such as sb.Autopilot, got CKB"):
        agent.with_limits_raised(by=1.0)
