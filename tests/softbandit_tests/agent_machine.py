"""Agents that are asked, told, made to forget, saved and loaded in any order, beside a model that keeps everything.

The model is a list of events in plain Python: what was told, in order, and by how much limits were raised. Whatever
was done to the agent, it must be the agent that was given these events and nothing else.
"""

import copy
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, precondition, rule

import softbandit as sb
from softbandit.agent.agent_file import leaves

LENGTHSCALE, LAMBDA = 0.3, 0.4
ARMS = np.linspace(0, 1, 7)[:, None]
SPACE = sb.Space({"a": sb.Float(0, 1), "b": sb.Integer(0, 50_000)})
PLACES = np.array([[0.0, 0.0], [0.5, 0.3], [1.0, 1.0]])  # where the posterior on the space is compared

SETTINGS = {"kernel": sb.SquaredExponential(LENGTHSCALE), "reward_bound": 2, "cost_bound": 2, "noise": 0.5}
SETTINGS |= {"regularisation": LAMBDA, "slater": 0.5, "width_scale": 0.1}
RUN = 4  # rounds of the first run of Doubling

POLICIES = {
    "CKB": sb.CKB(ARMS, **SETTINGS, horizon=12, constraints=2, explore="rand"),
    "CKB on a space": sb.CKB(SPACE, **SETTINGS, horizon=12),
    "Doubling": sb.Doubling(sb.CKB(ARMS, **SETTINGS, horizon=RUN)),
    "SafeBOCP": sb.baselines.SafeBOCP(ARMS, **SETTINGS | {"width": 1.0}, horizon=12, safe=[2]),
    "Autopilot": sb.Autopilot(ARMS, constraints=1, horizon=12),
}

MEASURED = st.floats(-3, 3) | st.sampled_from([0.0, 1.0, 1e-300, 1e9])


class Told(NamedTuple):
    decision: sb.Decision
    reward: float
    cost: list[float]


class Raised(NamedTuple):
    by: float


@contextmanager
def no_warnings():
    """Ignore warnings: horizons pass, and measurements are surprising."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def direct_moments(X, Y, places):
    """Return mu and sigma (n, outputs) of a squared exponential, from the definition."""
    k, K = covariance(places, X), covariance(X, X) + LAMBDA * np.eye(len(X))
    variance = 1 - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    return k @ np.linalg.solve(K, Y), np.sqrt(np.maximum(variance, 0))


def covariance(X, Z):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=-1) / (2 * LENGTHSCALE**2))


def assert_same_state(one, other):
    for x, y in zip(leaves(one._state), leaves(other._state), strict=True):
        np.testing.assert_array_equal(x, y)
    assert one.round == other.round


def assert_same_future(one, other):
    """Check the next decisions and states, on copies."""
    one, other = copy.deepcopy(one), copy.deepcopy(other)
    assert_same_state(one, other)
    for reward in (0.25, -0.5):
        with no_warnings():
            a, b = one.ask(), other.ask()
            np.testing.assert_array_equal(a.x, b.x)
            np.testing.assert_array_equal(a.cost_estimate, b.cost_estimate)
            one.tell(a, reward, [0.5] * one.policy.constraints)
            other.tell(b, reward, [0.5] * one.policy.constraints)
    assert_same_state(one, other)


def machine_of(name):
    """Return the machine of the policy with that name."""
    return type(f"Agent of {name}", (AgentMachine,), {"name": name})


class AgentMachine(RuleBasedStateMachine):
    name: str  # of the policy
    decisions = Bundle("decisions")

    @initialize(seed=st.integers(0, 3))
    def start(self, seed):
        self.agent = sb.Agent(POLICIES[self.name], seed)
        self.fresh = copy.deepcopy(self.agent)  # accepts the same decisions
        self.events, self.saved, self.overtaken = [], None, False
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "run.npz"

    # -- Steps. --

    @rule(target=decisions, measured=st.lists(st.tuples(MEASURED, MEASURED), min_size=1, max_size=4))
    def play(self, measured):
        """Ask for some decisions at once, and tell them in reverse order."""
        decisions = [self.asked() for _ in measured]
        for decision, (reward, cost) in zip(reversed(decisions), measured, strict=True):
            self.tell_new(decision, reward, cost)
        return multiple(*decisions)

    @rule(target=decisions, among=st.sets(st.integers(0, 6), min_size=1))
    def ask(self, among):
        """Ask for a decision that is told late, or never."""
        if self.name in ("CKB on a space", "SafeBOCP"):
            self.refused(sb.ArgumentError, lambda: self.agent.ask(among=sorted(among)))
            return self.asked()
        decision = self.asked(among=sorted(among))
        assert decision.arm in among
        return decision

    @rule(decision=decisions, reward=MEASURED, cost=MEASURED)
    def tell(self, decision, reward, cost):
        if self.was_told(decision):
            self.refused(sb.DecisionError, lambda: self.agent.tell(*self.event(decision, reward, cost)))
        else:
            self.tell_new(decision, reward, cost)

    @rule(decision=decisions)
    def forget(self, decision):
        if self.was_told(decision):
            self.agent.forget(decision)
            self.events = [e for e in self.events if isinstance(e, Raised) or e.decision.ticket != decision.ticket]
        else:
            self.refused(sb.DecisionError, lambda: self.agent.forget(decision))

    @rule(by=MEASURED)
    def raise_limits(self, by):
        """Go on with other limits, and play a round with the earlier agent, which is another one."""
        if self.name != "Autopilot":
            self.refused(sb.ArgumentError, lambda: self.agent.with_limits_raised(by))
            return
        earlier, self.agent = self.agent, self.agent.with_limits_raised(by)
        self.events.append(Raised(by))
        with no_warnings():
            earlier.tell(earlier.ask(), 0.5, 0.5)

    @rule()
    def save(self):
        if self.overtaken:
            self.refused(sb.FileError, lambda: self.agent.save(self.path))
        else:
            self.agent.save(self.path)
            self.saved = list(self.events)

    @precondition(lambda self: self.saved is not None)
    @rule(overtaken=st.booleans())
    def load(self, overtaken):
        """Go on from the file, which may be earlier than the agent; another process may then write it."""
        before, self.agent = self.agent, sb.Agent.load(self.path)
        if self.saved == self.events:
            assert_same_future(before, self.agent)
        self.events, self.overtaken = list(self.saved), overtaken
        if overtaken:
            with no_warnings():
                other = sb.Agent.load(self.path)
                self.saved.append(self.event(other.ask(), 0.5, 0.25))
                other.tell(*self.saved[-1])
                other.save(self.path)

    @rule(decision=decisions, number=st.sampled_from([np.nan, np.inf, 1e200, None, "1", [1.0, 2.0]]))
    def make_mistakes(self, decision, number):
        costs = [0.0] * self.agent.policy.constraints
        forged = replace(decision, reward_estimate=decision.reward_estimate + 1.0)
        for call in (
            lambda: self.agent.tell(decision, number, costs),
            lambda: self.agent.tell(decision, 0.0, [number, *costs[1:]]),
            lambda: self.agent.tell(decision, 0.0, [*costs, 0.0]),
            lambda: self.agent.tell(forged, 0.0, costs),
            lambda: self.agent.forget(forged),
            lambda: self.agent.tell(None, 0.0, costs),
        ):
            self.refused(sb.FeedbackError, call)
        self.refused(sb.ArgumentError, lambda: self.agent.with_limits_raised(number))

    # -- What holds after every step. --

    @invariant()
    def the_record_is_the_list(self):
        record, told = self.agent.record, self.told()
        assert self.agent.round == len(record) == len(told)
        assert record.tickets.tolist() == [event.decision.ticket for event in told]
        assert record.rewards.tolist() == [event.reward for event in told]
        np.testing.assert_array_equal(record.points, np.reshape([e.decision.x for e in told], record.points.shape))
        np.testing.assert_array_equal(record.costs, np.reshape(self.costs(), record.costs.shape))

    @precondition(lambda self: self.name != "Autopilot")
    @invariant()
    def the_posterior_is_that_of_the_list(self):
        policy, told = self.agent.policy, self.told()[self.first_of_run() :]
        places = PLACES if policy.continuous else ARMS
        X = np.reshape([event.decision.x for event in told], (len(told), places.shape[1]))
        Y = np.reshape([[event.reward, *event.cost] for event in told], (len(told), 1 + policy.constraints))
        mu, sigma = direct_moments(X, Y, places)
        points = places if policy.continuous else None
        mean, std = self.agent.posterior.mean(points), self.agent.posterior.std(points)
        np.testing.assert_allclose(mean, mu.T, rtol=0, atol=1e-10 * np.abs(Y).max(initial=1.0))
        np.testing.assert_allclose(std, np.broadcast_to(sigma, std.shape), rtol=0, atol=1e-7)

    def teardown(self):
        if hasattr(self, "folder"):
            self.folder.cleanup()
            assert_same_state(self.agent, self.replayed())

    # -- The model. --

    def told(self):
        return [event for event in self.events if isinstance(event, Told)]

    def was_told(self, decision):
        return decision.ticket in {event.decision.ticket for event in self.told()}

    def costs(self):
        """Return the costs by the present limits."""
        rows = []
        for event in self.events:
            if isinstance(event, Told):
                rows.append(list(event.cost))
            else:
                rows = [[cost - event.by for cost in row] for row in rows]
        return rows

    def first_of_run(self):
        """Return the first round of the present run of Doubling, which forgets those before; 0 otherwise."""
        first, length = 0, RUN
        while self.name == "Doubling" and self.agent.round >= first + length:
            first, length = first + length, 2 * length
        return first

    def replayed(self):
        """Return an agent that was given the events and nothing else."""
        agent = copy.deepcopy(self.fresh)
        with no_warnings():
            for event in self.events:
                if isinstance(event, Raised):
                    agent = agent.with_limits_raised(event.by)
                else:
                    agent.tell(*event)
        return agent

    # -- Parts of steps. --

    def asked(self, **arguments):
        """Return a decision, after checking that asking changes nothing and answers the same again."""
        before = self.agent._now
        with no_warnings():
            decision, again = self.agent.ask(**arguments), self.agent.ask(**arguments)
        assert self.agent._now is before
        assert decision.round == self.agent.round
        assert decision.ticket != again.ticket
        np.testing.assert_array_equal(decision.x, again.x)
        numbers = [decision.reward_estimate, *np.ravel(decision.cost_estimate), *np.ravel(decision.dual), *decision.x]
        assert np.isfinite(numbers).all()
        return decision

    def tell_new(self, decision, reward, cost):
        with no_warnings():
            self.agent.tell(*self.event(decision, reward, cost))
        self.events.append(self.event(decision, reward, cost))

    def event(self, decision, reward, cost):
        """Return what is told; the second of two costs is the first one's opposite."""
        return Told(decision, reward, [cost, -cost][: self.agent.policy.constraints])

    def refused(self, error, call):
        """Check that a call raises that error and changes nothing."""
        before, files = self.agent._now, self.agent._files
        with no_warnings(), pytest.raises(error):
            call()
        assert self.agent._now is before
        assert self.agent._files is files
