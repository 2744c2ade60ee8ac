import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb

ARMS = sb.Agent(examples_of.POLICIES["CKB, two constraints"])
SPACE = sb.Agent(sb.Autopilot(sb.Space({"a": sb.Float(0, 1), "b": sb.Categorical(["u", "v"])}), constraints=1))


def altered(decision, **change):
    return dataclasses.replace(decision, **change)


@pytest.mark.parametrize("agent", [ARMS, SPACE], ids=["arms", "space"])
@pytest.mark.parametrize("field", ["round", "ticket", "reward_estimate", "cost_estimate", "dual", "x"])
def test_a_decision_with_any_number_altered_is_refused(agent, field):
    decision, before = agent.ask(), agent.round
    for other in (getattr(decision, field) + 1, None, "text", math.nan):
        with pytest.raises(sb.DecisionError, match="one that was changed or made elsewhere.*must come from this agent"):
            agent.tell(altered(decision, **{field: other}), 0.0, [0.0] * agent.policy.constraints)
    assert agent.round == before


@pytest.mark.parametrize(
    "change",
    [
        {"arm": 0},
        {"arm": None},
        {"arm": True},
        {"arm": 2.0},
        {"arm": -1},
        {"arm": 2**70},
        {"cost_estimate": np.zeros((1, 2))},
        {"cost_estimate": np.zeros(3)},
        {"dual": np.empty(0), "cost_estimate": np.zeros(4)},
        {"agent": "x"},
        {"seal": ""},
        {"seal": None},
        {"seal": "\u00e9"},
    ],
    ids=str,
)
def test_a_decision_of_another_arm_shape_or_seal_is_refused(change):
    decision = ARMS.ask(among=[7])
    with pytest.raises(sb.DecisionError, match="must come from this agent's ask"):
        ARMS.tell(altered(decision, **change), 0.0, [0.0, 0.0])


def test_a_point_of_a_space_cannot_be_replaced_by_an_arm():
    with pytest.raises(sb.DecisionError, match="must come from this agent's ask"):
        SPACE.tell(altered(SPACE.ask(), arm=-1), 0.0, 0.0)


def test_a_decision_with_the_seal_of_another_is_refused():
    first, second = ARMS.ask(), ARMS.ask()
    with pytest.raises(sb.DecisionError, match="changed or made elsewhere"):
        ARMS.tell(altered(first, ticket=second.ticket), 0.0, [0.0, 0.0])


@pytest.mark.parametrize("through", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))], ids=["copy", "pickle"])
def test_a_decision_may_travel_as_a_copy_but_is_told_once(through):
    agent = sb.Agent(examples_of.POLICIES["CKB"])
    decision = agent.ask()
    agent.tell(through(decision), 0.0, 0.0)
    with pytest.raises(sb.DecisionError, match="not told before"):
        agent.tell(decision, 0.0, 0.0)


def test_a_decision_that_was_stored_as_lists_is_the_same_decision():
    agent = sb.Agent(examples_of.POLICIES["CKB, two constraints"])
    first, second = agent.ask(), agent.ask()
    twin = copy.deepcopy(agent)
    agent.tell(first, 0.5, [0.1, -0.1])
    twin.tell(altered(first, x=first.x.tolist(), cost_estimate=[first.cost_estimate.tolist()]), 0.5, [0.1, -0.1])
    np.testing.assert_array_equal(twin.record.rows, agent.record.rows)
    np.testing.assert_array_equal(twin.dual, agent.dual)
    twin.tell(second, 0.5, [0.1, -0.1])


def test_the_secret_is_in_no_decision():
    agent = sb.Agent(examples_of.POLICIES["CKB"])
    assert str(agent._issuer.secret) not in repr(vars(agent.ask()))


def test_agents_with_the_same_seed_have_different_names():
    names = {sb.Agent(examples_of.POLICIES["CKB"], seed=0).ask().agent for _ in range(5)}
    assert len(names) == 5
