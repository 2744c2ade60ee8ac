"""Forgetting a round leaves what an agent would be that was told everything else in the same order."""

import copy
import json

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.agent.agent_file import leaves

BOX = {"reward_bound": 2, "cost_bound": 2, "noise": 0.5, "horizon": 99, "slater": 0.5, "width_scale": 0.1}
SPACE = sb.Space({"a": sb.Float(0, 1), "b": sb.Integer(0, 50_000)})

POLICIES = examples_of.POLICIES | {
    "CKB on a box": sb.CKB(sb.Box(0, 1), sb.SquaredExponential(0.2), **BOX),
    "CKB on a box, queue and Thompson": sb.CKB(sb.Box(0, 1), sb.Matern(0.2), **BOX, dual="queue", explore="ts"),
    "CKB on a box, budget": sb.CKB(sb.Box([0, 0], [1, 1]), sb.SquaredExponential(0.1), **BOX, budget=4),
    "CKB on a space, measured": sb.CKB(SPACE, sb.Matern(0.3), **BOX, width="tight", dual_feedback="measured"),
    "Autopilot on a space": sb.Autopilot(SPACE, constraints=2, horizon=40),
}
ROUNDS = 24  # the first run of Doubling ends after 20; Autopilot learns after 4, 6, 9, 14 and 21


def played(agent, rounds, seed=0):
    """Ask for decisions two by two, tell them in reverse order, and return what was told."""
    rng, told = np.random.default_rng(seed), []
    while len(told) < rounds:
        for decision in [agent.ask(), agent.ask()][::-1]:
            reward, *cost = rng.uniform(-1, 1, 1 + agent.policy.constraints)
            agent.tell(decision, reward, cost)
            told.append((decision, reward, cost))
    return told


def tell_all(agent, told):
    for decision, reward, cost in told:
        agent.tell(decision, reward, cost)


def assert_same(one, other):
    """Check that two agents have the same state, record and next decision, to the bit."""
    for x, y in zip(leaves(one._state), leaves(other._state), strict=True):
        np.testing.assert_array_equal(x, y)
    assert one.round == other.round == len(one.record)
    np.testing.assert_array_equal(one.record.rows, other.record.rows)
    np.testing.assert_array_equal(one.record.raises, other.record.raises)
    a, b = one.ask(), other.ask()
    np.testing.assert_array_equal(a.x, b.x)
    np.testing.assert_array_equal(a.dual, b.dual)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_forgetting_a_round_gives_the_agent_that_was_never_told_it(policy):
    agent = sb.Agent(policy, seed=3)
    twin = copy.deepcopy(agent)  # accepts the same decisions
    told = played(agent, ROUNDS)
    agent.forget(told[10][0])
    del told[10]
    tell_all(twin, told)
    assert_same(agent, twin)


@pytest.mark.parametrize("row", [0, 7, ROUNDS - 1])
def test_a_forgotten_decision_may_be_told_again(row):
    agent = sb.Agent(examples_of.POLICIES["CKB, two constraints"])
    twin = copy.deepcopy(agent)
    told = played(agent, ROUNDS)
    agent.forget(told[row][0])
    assert agent.round == ROUNDS - 1
    told.append(told.pop(row))
    agent.tell(*told[-1])
    tell_all(twin, told)
    assert_same(agent, twin)


def test_every_round_can_be_forgotten_one_after_another_also_after_loading(tmp_path):
    agent = sb.Agent(examples_of.POLICIES["CKB, tight widths and measured costs"])
    fresh = copy.deepcopy(agent)
    told = played(agent, 12)
    for i in np.random.default_rng(1).permutation(12):
        agent.save(tmp_path / "run.npz")
        agent = sb.Agent.load(tmp_path / "run.npz")
        with pytest.raises(sb.DecisionError, match="one not told before"):
            agent.tell(*told[i])
        agent.forget(told[i][0])
        with pytest.raises(sb.DecisionError, match="one that was told, got one never told, or forgotten since"):
            agent.forget(told[i][0])
    assert_same(agent, fresh)


@pytest.mark.parametrize("row", [2, 13])
def test_forgetting_keeps_the_rounds_after_which_limits_were_raised(row, tmp_path):
    agent = sb.Agent(sb.Autopilot(np.linspace(0, 1, 12)[:, None], constraints=1))
    twin = copy.deepcopy(agent)
    told = played(agent, 8)
    agent = agent.with_limits_raised(by=0.3)
    told += played(agent, 8, seed=1)
    agent.save(tmp_path / "run.npz")
    agent = sb.Agent.load(tmp_path / "run.npz")
    agent.forget(told[row][0])
    tell_all(twin, [t for i, t in enumerate(told[:8]) if i != row])
    twin = twin.with_limits_raised(by=0.3)
    tell_all(twin, [t for i, t in enumerate(told[8:], start=8) if i != row])
    assert_same(agent, twin)


def test_forgetting_what_was_not_told_is_refused_and_changes_nothing():
    agent = sb.Agent(examples_of.POLICIES["CKB"])
    told = played(agent, 4)
    before, pending = copy.deepcopy(agent), agent.ask()
    for decision in (pending, None, sb.Agent(examples_of.POLICIES["CKB"]).ask()):
        with pytest.raises(sb.DecisionError):
            agent.forget(decision)
    assert_same(agent, before)
    agent.forget(told[0][0])
    agent.tell(pending, 0.0, 0.0)  # made before, told after
    assert agent.round == 4


def test_decisions_of_rounds_that_were_lost_can_each_be_told_once_to_the_agent_loaded(tmp_path):
    """A process that ends without saving leaves decisions of rounds that the file has not reached."""
    agent = sb.Agent(examples_of.POLICIES["CKB"])
    played(agent, 2)
    agent.save(tmp_path / "run.npz")
    lost = [decision for decision, *_ in played(agent, 6)] + [agent.ask()]
    loaded = sb.Agent.load(tmp_path / "run.npz")
    here = [loaded.ask() for _ in range(3)]
    for decision in [*reversed(lost), *here]:
        loaded.tell(decision, 0.1, 0.1)
    for decision in [*lost, *here]:
        with pytest.raises(sb.DecisionError, match="one not told before"):
            loaded.tell(decision, 0.1, 0.1)
    assert loaded.round == 2 + 7 + 3


def as_version_3(path):
    """Rewrite a saved agent of one constraint on finite arms as version 3 stored it."""
    with np.load(path) as archive:
        content = {name: archive[name] for name in archive.files if name not in ("raises", "lead", "checksum")}
    header = json.loads(str(content.pop("header"))) | {"version": 3}
    tickets, content["record"] = content["record"][:, -1], content["record"][:, :4]
    np.savez(path, header=np.array(json.dumps(header)), told=tickets.astype(np.int64), **content)


def test_an_agent_from_version_3_continues_and_refuses_what_it_was_told_before(tmp_path):
    agent, path = sb.Agent(examples_of.POLICIES["CKB"]), tmp_path / "run.npz"
    told = played(agent, 6)
    agent.save(path)
    as_version_3(path)
    loaded = sb.Agent.load(path)
    np.testing.assert_array_equal(loaded.record.costs, agent.record.costs)
    with pytest.raises(sb.DecisionError):
        loaded.tell(*told[2])
    decision = loaded.ask()
    assert decision.reward_estimate == agent.ask().reward_estimate
    loaded.tell(decision, 0.1, 0.1)
    with pytest.raises(sb.DecisionError, match="one not told before"):
        loaded.tell(decision, 0.1, 0.1)
    with pytest.raises(sb.DecisionError, match="forget: expected a record of every round.*version 2 or 3"):
        loaded.forget(decision)
    loaded.save(path)
    assert sb.Agent.load(path).round == 7
