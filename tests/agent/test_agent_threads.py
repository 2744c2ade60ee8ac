"""An agent that several threads share: nothing is lost, told twice, or read while it changes."""

import copy
import pickle
import sys
import threading
from itertools import chain

import numpy as np
import pytest
from softbandit_tests import examples_of
from softbandit_tests.shared_agents import (
    acceptances,
    agent_of_independent_arms,
    assert_posterior_is_that_of_the_record,
    memory_growth,
    run_in_threads,
    tell_in_threads,
)

import softbandit as sb
from softbandit.agent.agent_file import leaves

THREADS = 8


@pytest.fixture(autouse=True)
def _threads_that_switch_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_every_tell_of_eight_threads_is_in_the_posterior():
    agent = agent_of_independent_arms()
    told, record = tell_in_threads(agent, THREADS, each=40), agent.record
    assert len(told) == THREADS * 40
    assert sorted(told) == sorted(zip(record.arms, record.rewards, record.costs[:, 0], strict=True))
    assert_posterior_is_that_of_the_record(agent)


def test_a_decision_that_eight_threads_tell_is_accepted_once():
    agent = agent_of_independent_arms()
    assert [acceptances(agent, THREADS) for _ in range(12)] == [1] * 12
    assert agent.round == 12


def test_tells_and_forgets_of_several_threads_leave_what_was_told_and_not_forgotten():
    agent = agent_of_independent_arms()

    def play(i):
        decisions = [agent.ask() for _ in range(8)]
        for decision in decisions:
            agent.tell(decision, float(i), 0.0)
        for decision in decisions[::2]:
            agent.forget(decision)
        return [(decision.ticket, float(i)) for decision in decisions[1::2]]

    kept = chain(*run_in_threads(*[play] * 4))
    assert sorted(kept) == sorted(zip(agent.record.tickets, agent.record.rewards, strict=True))
    assert_posterior_is_that_of_the_record(agent)


def test_saving_beside_tells_gives_files_that_can_be_loaded(tmp_path):
    agent, paths = agent_of_independent_arms(), [tmp_path / f"{i}.npz" for i in range(12)]

    def play(i):
        for _ in range(60):
            agent.tell(agent.ask(), float(i), 0.0)

    def save(i):
        for path in paths:
            agent.save(path)

    run_in_threads(*[play] * 3, save)
    for path in paths:
        assert_posterior_is_that_of_the_record(sb.Agent.load(path))


def test_a_save_after_a_tell_holds_it_whatever_other_threads_save(tmp_path):
    agent, path = agent_of_independent_arms(), tmp_path / "run.npz"

    def play(i):
        for _ in range(8):
            decision = agent.ask()
            agent.tell(decision, 0.0, 0.0)
            agent.save(path)
            loaded = sb.Agent.load(path)
            with pytest.raises(sb.DecisionError, match="not told before"):
                loaded.tell(decision, 0.0, 0.0)

    run_in_threads(*[play] * 4)


def test_decisions_beside_tells_are_those_of_the_rounds_that_they_name():
    agent = sb.Agent(examples_of.policy(explore="ts", horizon=10**6))
    done = threading.Event()

    def ask(i):
        decisions = [agent.ask()]
        while not done.is_set():
            decisions.append(agent.ask())
        return decisions

    def tell(i):
        try:
            for k in range(60):
                agent.tell(agent.ask(), k / 64, -k / 64)
        finally:
            done.set()

    decisions = list(chain(*run_in_threads(ask, ask, tell)[:2]))
    twin, asked = sb.Agent(agent.policy), []
    for k in range(61):
        asked.append(twin.ask())
        twin.tell(asked[-1], k / 64, -k / 64)
    for decision in decisions:
        expected = asked[decision.round]
        assert decision.arm == expected.arm
        assert (decision.dual, decision.cost_estimate) == (expected.dual, expected.cost_estimate)


SETTINGS = {"reward_bound": 2, "cost_bound": 2, "noise": 0.5, "horizon": 99, "slater": 0.5, "width_scale": 0.1}
GROWING = {
    "arms": examples_of.POLICIES["CKB"],
    "exact": sb.CKB(sb.Box(0, 1), sb.SquaredExponential(0.2), **SETTINGS),
    "budget": sb.CKB(sb.Box([0, 0], [1, 1]), sb.SquaredExponential(0.1), **SETTINGS, budget=6),
    "Autopilot": examples_of.POLICIES["Autopilot"],
}


@pytest.mark.parametrize("policy", GROWING.values(), ids=GROWING)
def test_a_snapshot_is_not_changed_by_later_tells(policy):
    """Rows that a posterior or a record appends in place are beyond those that an earlier value reads."""
    agent = sb.Agent(policy)
    points = np.random.default_rng(0).random((9, policy.arms.dimension)) if policy.continuous else None
    snapshots = []
    for k in range(20):
        agent.tell(agent.ask(), np.sin(k), np.cos(k))
        if k >= 4:
            now = agent._now
            moments = [np.array(m) for m in now.stage.policy.moments(now.state, points)]
            snapshots.append((now, moments, now.record.rows.copy()))
    for now, moments, rows in snapshots:
        for before, after in zip(moments, now.stage.policy.moments(now.state, points), strict=True):
            np.testing.assert_array_equal(before, after)
        np.testing.assert_array_equal(now.record.rows, rows)


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))],
    ids=["copy", "deep", "pickle"],
)
@pytest.mark.parametrize("policy", GROWING.values(), ids=GROWING)
def test_a_copy_of_an_agent_goes_on_by_itself(copied, policy):
    agent = sb.Agent(policy)
    for k in range(6):
        agent.tell(agent.ask(), k / 64, 0.0)
    twin = copied(agent)
    before = [np.array(leaf) for leaf in leaves(agent._state)]
    twin.tell(twin.ask(), 1.0, 1.0)
    for x, y in zip(before, leaves(agent._state), strict=True):
        np.testing.assert_array_equal(x, y)
    agent.tell(agent.ask(), -1.0, -1.0)
    assert (agent.record.rewards[-1], twin.record.rewards[-1]) == (-1.0, 1.0)
    assert (twin._lock is agent._lock) == (copied is copy.copy)  # shallow copies share rows


def test_tells_need_no_memory_beyond_the_record():
    # NumPy's caches grow by a few bytes, and one int for each tell would take 28.
    assert memory_growth(tells=600) < 600 * 16
