import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from softbandit_tests import examples_of
from softbandit_tests import paper_formulas as literal

import softbandit as sb
from softbandit.agent.agent_file import leaves


def snapshot(agent):
    return [np.array(leaf) for leaf in leaves(agent._state)], agent.round, agent.record.tickets.tolist()


def assert_unchanged(agent, before):
    for old, new in zip(before[0], leaves(agent._state), strict=True):
        np.testing.assert_array_equal(old, new)
    assert (agent.round, agent.record.tickets.tolist()) == before[1:]


def test_ask_chooses_among_the_given_arms_and_refuses_bad_lists():
    agent = sb.Agent(examples_of.policy(explore="rand"))
    assert {agent.ask(among=[4, 7]).arm for _ in range(3)} <= {4, 7}
    for bad in ([], [30], [-1], ["x"], 3, "ab", [[1], [2, 3]], np.array([[1]]), range(2**62), {1}):
        with pytest.raises(sb.ArgumentError, match="among: expected"):
            agent.ask(among=bad)


def cost_of(policy, value):
    return [value] * policy.constraints


@pytest.fixture(params=examples_of.POLICIES.values(), ids=examples_of.POLICIES)
def agent(request):
    agent = sb.Agent(request.param, seed=4)
    for i in range(3):
        agent.tell(agent.ask(), reward=0.1 * i, cost=cost_of(agent.policy, -0.2 * i))
    return agent


def test_asking_changes_nothing(agent):
    before = snapshot(agent)
    first, second = agent.ask(), agent.ask()
    assert_unchanged(agent, before)
    assert first.arm == second.arm
    np.testing.assert_array_equal(first.x, agent.policy.arms[first.arm])


def test_a_decision_holds_its_round_dual_arm_and_estimates():
    agent = sb.Agent(examples_of.policy())
    decision = agent.ask()
    assert (decision.round, decision.dual, agent.round, agent.dual) == (0, 0.0, 0, 0.0)
    assert isinstance(decision.arm, int)
    assert isinstance(decision.cost_estimate, float)
    agent.tell(decision, 1.0, 0.5)
    assert (agent.round, agent.ask().round) == (1, 1)


def test_duals_and_estimates_of_several_constraints_are_arrays():
    agent = sb.Agent(examples_of.POLICIES["CKB, two constraints"])
    decision = agent.ask()
    assert decision.dual.shape == decision.cost_estimate.shape == agent.dual.shape == (2,)
    agent.tell(decision, 1.0, [0.5, -0.5])
    assert agent.posterior.mean().shape == agent.posterior.std().shape == (3, 30)
    agent.dual[0] = 99.0  # changes a copy
    assert agent.dual[0] < 99.0


@pytest.mark.parametrize("order", list(itertools.permutations(range(5)))[::13])
@pytest.mark.parametrize("explore", ["ucb", "ts", "rand"])
def test_late_tells_in_any_order_give_the_posterior_of_the_data(order, explore):
    problem = examples_of.problem()
    policy = examples_of.policy(problem, explore=explore)
    agent, rng = sb.Agent(policy), np.random.default_rng(1)
    history = []

    def tell(decision):
        history.append((decision.arm, *rng.standard_normal(2)))
        agent.tell(decision, *history[-1][1:])

    for _ in range(4):
        tell(agent.ask())
    duals = [agent.dual]
    decisions = []
    for _ in range(5):
        decisions.append(agent.ask())
        duals.append(agent.dual)
    assert len(set(duals)) == 1  # asking does not move it
    expected = agent.dual
    for i in order:
        tell(decisions[i])
        step = decisions[i].cost_estimate / policy.V
        expected = min(max(expected + step, 0.0), policy.rho)
        assert agent.dual == pytest.approx(expected, abs=1e-14)
    arms, rewards, costs = zip(*history, strict=True)
    K, lam = problem.kernel(problem.arms, problem.arms), 1 + 2 / policy.horizon
    for row, y in enumerate((rewards, costs)):
        mu, k = literal.posterior(K, arms, y, lam)
        np.testing.assert_allclose(agent.posterior.mean()[row], mu, atol=1e-10)
        np.testing.assert_allclose(agent.posterior.std()[row] ** 2, np.diagonal(k), atol=1e-10)


def test_the_posterior_does_not_depend_on_the_order_of_tells():
    posteriors = []
    for order in ([0, 1, 2, 3, 4], [3, 0, 4, 2, 1]):
        agent = sb.Agent(examples_of.policy(), seed=1)
        for _ in range(3):
            agent.tell(agent.ask(), 0.3, -0.1)
        decisions = [agent.ask() for _ in range(5)]
        for i in order:
            agent.tell(decisions[i], reward=float(i), cost=-0.1 * i)
        posteriors.append((agent.posterior.mean(), agent.posterior.std()))
    np.testing.assert_allclose(*[mean for mean, _ in posteriors], atol=1e-10)
    np.testing.assert_allclose(*[std for _, std in posteriors], atol=1e-10)


def test_telling_a_decision_twice_is_refused_even_after_loading(agent, tmp_path):
    decision = agent.ask()
    agent.tell(decision, 1.0, cost_of(agent.policy, 0.0))
    before = snapshot(agent)
    with pytest.raises(sb.DecisionError, match="one not told before.*Ask for a new one"):
        agent.tell(decision, 1.0, cost_of(agent.policy, 0.0))
    assert_unchanged(agent, before)
    agent.save(tmp_path / "run.npz")
    with pytest.raises(sb.DecisionError, match="not told before"):
        sb.Agent.load(tmp_path / "run.npz").tell(decision, 1.0, cost_of(agent.policy, 0.0))


NOT_FINITE = st.sampled_from([math.nan, math.inf, -math.inf, np.float64("nan"), np.float32("inf")])
SEVERAL = st.lists(st.floats(-1, 1), min_size=2)
NOT_A_NUMBER = st.one_of(NOT_FINITE, st.none(), st.text(max_size=5), st.booleans(), st.complex_numbers(), SEVERAL)


@given(NOT_A_NUMBER, st.floats(-1, 1))
def test_a_reward_that_is_not_a_finite_number_is_refused(reward, cost):
    agent = sb.Agent(examples_of.POLICIES["CKB"])
    decision, before = agent.ask(), snapshot(agent)
    with pytest.raises(sb.FeedbackError, match="reward: expected.*got.*"):
        agent.tell(decision, reward, cost)
    assert_unchanged(agent, before)
    agent.tell(decision, 1.0, cost)  # the decision can still be told


@given(NOT_A_NUMBER)
def test_a_cost_that_is_not_a_finite_number_is_refused(cost):
    agent = sb.Agent(examples_of.POLICIES["CKB"])
    decision, before = agent.ask(), snapshot(agent)
    with pytest.raises(sb.FeedbackError, match="(?s)cost.*: expected.*got.*"):
        agent.tell(decision, 0.0, cost)
    assert_unchanged(agent, before)


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        ("CKB", []),
        ("CKB", [0.1, 0.2]),
        ("CKB", [[0.1]]),
        ("CKB, two constraints", 0.1),
        ("CKB, two constraints", [0.1]),
        ("CKB, two constraints", [0.1, 0.2, 0.3]),
        ("CKB, two constraints", [0.1, math.nan]),
        ("CKB, two constraints", [[1.0], [1.0, 2.0]]),
        ("CKB, unconstrained", 0.1),
        ("CKB, unconstrained", [0.1]),
        ("CKB, unconstrained", range(2**62)),
    ],
)
def test_a_wrong_number_of_costs_is_refused(name, cost):
    agent = sb.Agent(examples_of.POLICIES[name])
    decision, before = agent.ask(), snapshot(agent)
    with pytest.raises(sb.FeedbackError, match="(?s)cost.*: expected.*got.*"):
        agent.tell(decision, 0.0, cost)
    assert_unchanged(agent, before)


@pytest.mark.parametrize(
    "change",
    [
        {"arm": -1},
        {"arm": 30},
        {"arm": 1.5},
        {"round": 1},
        {"round": -1},
        {"cost_estimate": math.nan},
        {"cost_estimate": np.zeros(2)},
        {"reward_estimate": None},
    ],
)
def test_an_altered_decision_is_refused(change):
    agent = sb.Agent(examples_of.POLICIES["CKB"])
    decision, before = agent.ask(), snapshot(agent)
    with pytest.raises(sb.DecisionError, match="decision.*expected.*got.*must come from this agent"):
        agent.tell(dataclasses.replace(decision, **change), 0.0, 0.0)
    assert_unchanged(agent, before)


def test_another_agents_decision_is_refused():
    agent, other = (sb.Agent(examples_of.POLICIES["CKB"], seed=0) for _ in range(2))
    before = snapshot(other)
    with pytest.raises(sb.DecisionError, match="one from this agent's ask.*another agent's"):
        other.tell(agent.ask(), 0.0, 0.0)
    assert_unchanged(other, before)


def test_telling_something_other_than_a_decision_is_refused():
    agent = sb.Agent(examples_of.POLICIES["CKB"])
    for value in (None, 3, {"arm": 3}):
        with pytest.raises(sb.DecisionError, match="Pass what ask"):
            agent.tell(value, 0.0, 0.0)


@pytest.mark.filterwarnings("ignore:.*agent.forget:softbandit.PolicyWarning")
def test_an_observation_that_overflows_the_posterior_is_refused_and_changes_nothing():
    agent = sb.Agent(examples_of.policy(ties="first"))
    agent.tell(agent.ask(), 1e50, 0.0)
    agent._state.posterior[0].mu[:] = np.inf
    decision, before = agent.ask(), snapshot(agent)
    with pytest.raises(sb.FeedbackError, match="usable size"):
        agent.tell(decision, -1e50, 0.0)
    assert_unchanged(agent, before)


@pytest.mark.filterwarnings("ignore:.*agent.forget:softbandit.PolicyWarning")
@pytest.mark.parametrize("feedback", [(1.1e50, 0.0), (0.0, -1.7e308)])
def test_an_observation_whose_square_overflows_is_refused_and_changes_nothing(feedback):
    agent = sb.Agent(examples_of.policy())
    decision, before = agent.ask(), snapshot(agent)
    with pytest.raises(sb.FeedbackError, match=r"reward, cost: expected numbers of at most 1e\+50"):
        agent.tell(decision, *feedback)
    assert_unchanged(agent, before)
    agent.tell(decision, 1e50, -1e50)


def test_a_bad_policy_or_seed_is_refused():
    with pytest.raises(sb.ArgumentError, match="policy: expected a policy"):
        sb.Agent("ckb")
    for seed in (-1, 2**64, 1.5, None):
        with pytest.raises(sb.ArgumentError, match="seed: expected a whole number from 0"):
            sb.Agent(examples_of.POLICIES["CKB"], seed=seed)


def test_passing_the_horizon_warns_once():
    agent = sb.Agent(examples_of.policy(horizon=2))
    for _ in range(2):
        agent.tell(agent.ask(), 0.0, 0.0)
    with pytest.warns(sb.HorizonWarning, match="horizon of 2 rounds has passed.*Doubling"):
        decision = agent.ask()
    agent.tell(decision, 0.0, 0.0)
    agent.ask()


def test_tells_that_cross_the_horizon_warn_once():
    agent = sb.Agent(examples_of.policy(horizon=2))
    decisions = [agent.ask() for _ in range(4)]
    for decision in decisions[:2]:
        agent.tell(decision, 0.0, 0.0)
    with pytest.warns(sb.HorizonWarning, match="horizon of 2 rounds has passed") as caught:
        agent.tell(decisions[2], 0.0, 0.0)
    assert caught[0].filename == __file__
    assert agent.round == 3
    agent.tell(decisions[3], 0.0, 0.0)
    agent.ask()


def test_an_agent_loaded_after_its_horizon_warns(tmp_path):
    agent = sb.Agent(examples_of.policy(horizon=2))
    with pytest.warns(sb.HorizonWarning):
        [agent.tell(decision, 0.0, 0.0) for decision in [agent.ask() for _ in range(3)]]
    agent.save(tmp_path / "run.npz")
    with pytest.warns(sb.HorizonWarning, match="horizon of 2 rounds has passed"):
        sb.Agent.load(tmp_path / "run.npz").ask()


def test_an_agent_records_what_it_was_told_in_the_order_of_telling():
    agent = sb.Agent(examples_of.POLICIES["CKB, two constraints"])
    first, second = agent.ask(), agent.ask()
    agent.tell(second, 2.0, [0.5, -0.5])
    moved = agent.dual
    agent.tell(first, 1.0, [0.25, 0.75])
    record = agent.record
    assert record.arms.tolist() == [second.arm, first.arm]
    assert record.rewards.tolist() == [2.0, 1.0]
    np.testing.assert_array_equal(record.costs, [[0.5, -0.5], [0.25, 0.75]])
    np.testing.assert_array_equal(record.dual, [[0.0, 0.0], moved])


def test_feedback_that_is_refused_is_not_recorded():
    agent = sb.Agent(examples_of.POLICIES["CKB"])
    with pytest.raises(sb.FeedbackError):
        agent.tell(agent.ask(), math.nan, 0.0)
    assert len(agent.record) == 0


def test_an_agents_certificate_is_that_of_its_record_and_changes_nothing(agent):
    before = snapshot(agent)
    settings = {"confidence": 0.05}
    if isinstance(agent.policy, sb.Autopilot):  # it does not know the noise
        settings["cost_range"] = (-1, 1)
    report = agent.certificate(**settings)
    assert_unchanged(agent, before)
    certified = sb.theory.certify_run(agent.policy, agent.record, rounds=[3], **settings)
    assert (report.rounds, report.probability, report.regret) == (3, 0.95, certified.regret[0, 0])
    np.testing.assert_array_equal(report.violation, certified.violation[0, 0])


def test_an_agent_without_rounds_has_no_certificate_and_no_recommendation():
    agent = sb.Agent(examples_of.POLICIES["CKB"])
    with pytest.raises(sb.ArgumentError, match="certificate: expected at least one round"):
        agent.certificate()
    with pytest.raises(sb.ArgumentError, match="recommend: expected at least one round"):
        agent.recommend()


def test_a_policy_without_norm_bounds_is_certified_from_the_range_of_its_costs_alone():
    agent = sb.Agent(sb.Autopilot(sb.Box(0, 1), horizon=20))
    for t in range(10):
        agent.tell(agent.ask(), 0.1 * t, 0.2)
    with pytest.raises(sb.ArgumentError, match="Autopilot does not know the noise: pass the range"):
        agent.certificate()
    report = agent.certificate(cost_range=(0, 1))
    assert report.regret == math.inf
    low, high = report.violation[0]
    assert low < 2.0 < high


def test_a_round_without_arms_of_its_context_is_warned_of():
    arms = np.array([[c, x] for c in (0.0, 1.0) for x in (0.0, 0.5, 1.0)])
    agent = sb.Agent(sb.Autopilot(arms, contexts=arms[:, 0]))
    agent.ask(among=[0, 1, 2])
    with pytest.warns(sb.PolicyWarning, match="chose among those of all contexts"):
        agent.ask()


def test_a_confidence_that_is_meant_as_success_is_warned_of():
    problem = examples_of.problem()
    agent = sb.Agent(examples_of.policy(problem))
    agent.tell(agent.ask(), 0.1, -0.1)
    with pytest.warns(sb.PolicyWarning, match="did you mean 0.05?"):
        agent.certificate(confidence=0.95)


def test_a_cost_that_was_left_out_is_asked_for():
    agent = sb.Agent(sb.Autopilot(np.linspace(0, 1, 5)[:, None]))
    with pytest.raises(sb.FeedbackError, match="cost: expected one number, got none. Pass cost=measured - limit"):
        agent.tell(agent.ask(), reward=1.0)


def test_parameters_by_name_that_are_not_a_space_are_refused_with_what_to_do():
    for build in (sb.Autopilot, lambda arms: examples_of.policy(examples_of.problem(), arms=arms)):
        with pytest.raises(sb.ArgumentError, match="arms: expected a matrix of real numbers, or a space, got"):
            build({"workers": sb.Integer(1, 4)})
