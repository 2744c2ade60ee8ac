"""Decisions of a tuner: the same from the same events, different while rounds are pending, and within the limits."""

import copy
import math

import numpy as np
import pytest

import softbandit as sb
from softbandit.errors import ArgumentError
from softbandit.policies import outlook
from softbandit.tuner.deciding import beliefs
from softbandit.tuner.deciding.decider import Decider
from softbandit.tuner.deciding.evidence import Evidence
from softbandit.tuner.words.description import Description
from softbandit.tuner.words.limits import Mean, Share

GRID = {"x": sb.Integer(0, 12), "y": sb.Integer(0, 12)}
BOX = {"x": sb.Float(0, 12), "y": sb.Float(0, 12)}
HOUR = {"hour": sb.Cyclic(24)}
LIMITS = (Mean("cost", at_most=12), Share("cost", above=16, at_most=0.3, over=20))


def description(**changes):
    settings = {"space": GRID, "maximize": "gain", "limits": LIMITS, "seed": 3}
    return Description.of(**settings | changes)


def measured(values, context=None, t=0, noise=0.0):
    """Return metrics: the gain is highest near (9, 9), where the cost of x + y is above its limit; it jumps in t."""
    x, y = float(values["x"]), float(values["y"])
    best = 9.0 - (6.0 if t > 40 else 0.0) + (0.0 if context is None else math.cos(context["hour"] / 24 * 2 * math.pi))
    return {"gain": 50 - (x - best) ** 2 - (y - best) ** 2 + noise, "cost": x + y + noise, "other": 1.0}


def hour(t):
    return {"hour": float(5 * t % 24)}


class Events:
    """A log of what happened to a decider, which can be applied to another one."""

    def __init__(self, given, in_flight=1, seed=0, losses=False):
        self.losses = losses  # whether some rounds fail or expire
        self.first, self.log, self.queue = given, [], []
        self.decider, self.in_flight, self.rng = Decider.start(given), in_flight, np.random.default_rng(seed)

    def happen(self, name, *arguments):
        self.log.append((name, arguments))
        getattr(self.decider, name)(*arguments)

    def play(self, rounds):
        """Ask so many times, with feedback in another order, and return the proposals."""
        proposals = []
        for _ in range(rounds):
            id = len(self.decider.evidence.asks) + 1
            context = None if self.decider.description.context is None else hour(id)
            proposals.append(self.decider.decide(id, context))
            self.happen("asked", id, proposals[-1].values, context, proposals[-1].kind)
            self.queue.append(id)
            while len(self.queue) >= self.in_flight:
                self.settle(self.queue.pop(int(self.rng.integers(len(self.queue)))))
        return proposals

    def settle(self, id):
        ask = self.decider.evidence.asks[id]
        if self.losses and id % 13 == 0:
            self.happen("failed", id)
        elif self.losses and id % 17 == 0:
            self.happen("expired", id)
        else:
            self.happen("told", id, measured(ask.values, ask.context, id, 0.3 * self.rng.standard_normal()))

    def replayed(self, events, learned=None):
        """Return a decider that has followed the first events, the last of them with what was learned."""
        evidence = Evidence(self.first)
        for name, arguments in self.log[:events]:
            getattr(evidence, name)(*arguments)
        return Decider(evidence, learned)


def next_decision(decider):
    id = len(decider.evidence.asks) + 1
    return decider.decide(id, None if decider.description.context is None else hour(id))


CASES = {
    "grid": {},
    "box": {"space": BOX},
    "baseline": {"baseline": {"x": 2, "y": 2}, "explore_share": 0.5},
    "contexts": {"context": HOUR},
    "drift": {"forget": 15},
    "auto": {"forget": "auto"},
    "known noise": {"noise": {"cost": 0.3}, "rounds": 80},
}


@pytest.mark.parametrize("case", CASES)
def test_who_continues_from_a_snapshot_decides_the_same_to_the_bit(case):
    """With a snapshot of any moment, without one, and if nothing was decided in between."""
    events = Events(description(**CASES[case]), in_flight=3, losses=True)
    events.play(12)
    number, learned = len(events.log), copy.deepcopy(events.decider.learned())
    events.play(12 if case in ("box", "contexts") else 36)
    expected = next_decision(events.decider)
    assert next_decision(events.replayed(len(events.log))) == expected
    assert next_decision(events.replayed(len(events.log), events.decider.learned())) == expected
    assert next_decision(events.replayed(len(events.log), learned)) == expected
    early = events.replayed(number, learned)
    for name, arguments in events.log[number:]:
        getattr(early, name)(*arguments)
    assert next_decision(early) == expected


def test_the_snapshot_saves_learning(monkeypatch):
    events = Events(description())
    events.play(30)
    learned = events.decider.learned()
    monkeypatch.setattr(beliefs, "learn_outputs", lambda *arguments: pytest.fail("it learned again"))
    assert next_decision(events.replayed(len(events.log), learned)).kind in ("explore", "best")


def test_preparing_leaves_little_to_compute_and_changes_no_decision(monkeypatch):
    events = Events(description())
    events.play(20)
    expected = next_decision(events.decider)
    prepared = events.replayed(len(events.log))
    prepared.prepare()
    monkeypatch.setattr(beliefs.Beliefs, "at", lambda *arguments: pytest.fail("it built posteriors again"))
    assert next_decision(prepared) == expected


def test_a_snapshot_of_another_version_is_not_used():
    events = Events(description())
    events.play(12)
    learned = events.decider.learned() | {"version": np.array(0), "models": np.full((3, 7), np.nan)}
    assert next_decision(events.replayed(len(events.log), learned)) == next_decision(events.decider)


def test_changes_in_the_middle_are_replayed_to_the_bit():
    events = Events(description(forget="auto"), in_flight=2, losses=True)
    events.play(20)
    wider = {"x": sb.Integer(0, 20), "y": sb.Integer(0, 12)}
    events.happen("changed", description(space=wider, limits=(Mean("cost", at_most=9),), forget="auto"))
    number = len(events.log)
    events.play(20)
    expected = next_decision(events.decider)
    assert next_decision(events.replayed(len(events.log), events.decider.learned())) == expected
    fresh = Decider.start(events.first)
    for name, arguments in events.log[:number]:
        getattr(fresh, name)(*arguments)
    later = fresh.learned()
    continued = events.replayed(number, later)
    for name, arguments in events.log[number:]:
        getattr(continued, name)(*arguments)
    assert next_decision(continued) == expected


def test_deciding_changes_nothing_and_depends_on_the_seed_and_the_ask():
    events = Events(description(space=BOX))
    events.play(10)
    first = events.decider.decide(11)
    assert events.decider.decide(11) == first
    assert events.decider.decide(12) != first
    events.decider.evidence.description = description(space=BOX, seed=4)
    assert events.decider.decide(11) != first


# -- Rounds in flight. --


@pytest.mark.parametrize("space", [GRID, BOX], ids=["grid", "box"])
@pytest.mark.parametrize("rounds_before", [0, 6])
def test_many_asks_before_feedback_differ(space, rounds_before):
    events = Events(description(space=space))
    events.play(rounds_before)
    events.in_flight = 100
    proposals = events.play(24)
    different = {tuple(proposal.values.items()) for proposal in proposals}
    assert len(different) == 24 if rounds_before == 0 else len(different) >= 16


def test_pending_rounds_reduce_the_variance_as_observations_at_their_mean_would():
    """The forecast with two pending rounds, against one in which they were measured at what was expected."""
    events = Events(description(limits=(), noise={"gain": 2.0}))  # on its own scale: means are converted exactly
    events.play(10)
    pending, told = events.decider, copy.deepcopy(events.decider)
    for id, values in ((11, {"x": 4, "y": 5}), (12, {"x": 11, "y": 2})):
        mean = told.expected(values)
        for decider in (pending, told):
            decider.asked(id, values, None, "explore")
        told.told(id, mean)
    expected, got = (decider._forecast_now(None).outlook.moments[0] for decider in (told, pending))
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-5, atol=1e-8)


def test_expected_costs_of_pending_rounds_are_part_of_the_debt():
    events = Events(description(limits=LIMITS[:1]))
    events.play(12)
    decider = events.decider
    before = decider._forecast_now(None).standing.debt
    pending = {"x": 10, "y": 9}
    expected = decider.expected(pending)["mean cost"] - 12
    for id in (13, 14):
        decider.asked(id, pending, None, "explore")
    after = decider._forecast_now(None).standing
    assert after.debt == pytest.approx(before + 2 * expected, rel=1e-4)
    assert expected > 3
    assert after.rounds == decider.evidence.rounds == 14


# -- Settings. --


def test_the_baseline_is_played_first_however_many_rounds_are_in_flight():
    events = Events(description(baseline={"x": 2, "y": 3}), in_flight=50)
    kinds = [proposal.kind for proposal in events.play(10)]
    assert kinds == ["baseline"] * beliefs.BASELINE_ROUNDS + ["first rounds"] * 6
    assert events.decider.evidence.asks[1].values == {"x": 2, "y": 3}


@pytest.mark.parametrize("baseline", [None, {"x": 2, "y": 3}])
def test_the_share_of_exploring_rounds_is_kept_at_all_times(baseline):
    events = Events(description(explore_share=0.25, baseline=baseline), in_flight=2)
    exploring = np.array([p.kind in ("explore", "first rounds") for p in events.play(40)])
    assert (np.cumsum(exploring) <= 0.25 * np.arange(1, 41)).all()
    assert exploring.sum() >= 8
    best = events.decider.recommend().values
    events.decider.evidence.explored = 10**6
    assert events.decider.decide(41).values == best


def test_a_round_that_may_not_explore_stays_in_a_space_that_has_changed():
    events = Events(
        description(explore_share=0.1, limits=(), space={"x": sb.Integer(0, 12), "kind": sb.Ordinal([1, 2])})
    )
    first = events.decider.decide(1)
    events.happen("asked", 1, first.values, None, first.kind)
    assert events.decider.decide(2).values == first.values
    narrower = {"x": sb.Integer(0, 12), "kind": sb.Ordinal([3 - first.values["kind"], 7])}
    events.happen("changed", description(explore_share=0.1, limits=(), space=narrower))
    narrow = sb.Space(narrower)
    assert narrow.encode(events.decider.decide(2).values).shape == (2,)


def test_a_paused_tuner_falls_back_to_the_best_that_it_knows():
    events = Events(description())
    first = events.decider.fall_back(1)
    events.happen("asked", 1, first.values, None, first.kind)
    assert events.decider.fall_back(2) == first  # nothing is known yet
    events.play(12)
    assert events.decider.fall_back(14).values == events.decider.recommend().values
    assert Decider.start(description(baseline={"x": 2, "y": 3})).fall_back(1).values == {"x": 2, "y": 3}


def test_a_known_noise_is_used_for_the_metric_and_its_mean_limits():
    events = Events(description(noise={"gain": 2.0, "cost": 0.3}))
    events.play(12)
    models = events.decider.memory.beliefs.models
    noise = [math.sqrt(model.effects.noise) * model.units.spread for model in models]
    assert noise[:2] == pytest.approx([2.0, 0.3], rel=1e-9)


def test_a_glitch_of_the_metric_is_looked_into_and_not_recommended():
    """It is 200 times the range of the metric. As five deviations it may still look best, and be tried again."""
    events = Events(description(limits=()))
    events.play(60)
    id = len(events.decider.evidence.asks) + 1
    events.happen("asked", id, {"x": 0, "y": 12}, None, "explore")
    events.happen("told", id, {"gain": 2e4, "cost": 12.0, "other": 1.0})
    again = [proposal for proposal in events.play(40) if proposal.values == {"x": 0, "y": 12}]
    assert len(again) <= 5
    assert events.decider.recommend(None).values != {"x": 0, "y": 12}


def test_a_limit_over_a_window_is_repaid_within_it():
    events = Events(description(rounds=500))
    events.play(30)
    standing = events.decider._forecast_now(None).standing
    assert list(standing.rounds) == [500, 20]
    np.testing.assert_allclose(standing.repay_within, [outlook.REPAY_WITHIN * math.sqrt(500), 20])


def test_limits_are_kept_and_used():
    """The best point within the limit is (6, 6), which earns 32 of 50. A point far away earns -112."""
    events = Events(description(limits=LIMITS[:1], rounds=40))
    events.play(40)
    gain, cost = np.array([[row.metrics[name] for name in ("gain", "cost")] for row in events.decider.evidence.rows]).T
    assert gain[-10:].mean() > 25
    assert cost.mean() < 12 + 0.3


def test_contexts_are_learned_from_and_searched():
    """The best x moves with the hour: 10 at midnight, and 8 at noon."""
    events = Events(description(context=HOUR, limits=(), space={"x": sb.Integer(0, 12), "y": sb.Fixed(9)}))
    events.play(40)
    best = {time: events.decider.recommend({"hour": time}).values["x"] for time in (0.0, 12.0)}
    assert best == {0.0: 10, 12.0: 8}


def test_a_limit_is_met_on_average_over_contexts_at_one_price():
    """x earns 5 by day and 1 by night: a limit of 4 on its mean is best used as 8 and 0, at a price of 5."""
    times = {"time": sb.Categorical(["day", "night"])}
    space, limits = {"x": sb.Integer(0, 12)}, (Mean("x", at_most=4),)
    decider, played = Decider.start(description(context=times, space=space, limits=limits)), []
    rng = np.random.default_rng(0)
    for id in range(1, 37):
        context = {"time": "day" if id % 2 else "night"}
        proposal = decider.decide(id, context)
        played.append(proposal.values["x"])
        decider.asked(id, proposal.values, context, proposal.kind)
        gain = played[-1] * (5.0 if id % 2 else 1.0) + 0.1 * rng.standard_normal()
        decider.told(id, {"gain": gain, "x": float(played[-1])})
    by_day, by_night = np.array(played[16:]).reshape(-1, 2).T
    assert by_day.mean() > 6
    assert by_night.mean() < 2
    assert np.mean(played) < 4 + 0.5
    decider.evidence.since = [10**6]  # without debts, by which prices go up and down
    assert decider.prices({"time": "night"})["mean x <= 4"] == pytest.approx(5.0, rel=0.2)


def test_a_jump_is_noticed_and_forgotten_with_auto():
    events = Events(description(forget="auto", limits=()))
    events.play(70)
    (shift,) = events.decider.memory.shifts
    assert shift == 40  # counted from 0
    assert "shifted" in events.decider.notes()[0]
    best = events.decider.recommend().values
    assert abs(best["x"] - 3) <= 1
    assert abs(best["y"] - 3) <= 1


@pytest.mark.parametrize(("space", "most"), [(GRID, beliefs.KEPT), (BOX, beliefs.KEPT_ANYWHERE)], ids=["grid", "box"])
def test_the_number_of_points_is_bounded(space, most):
    X = np.repeat(np.arange(3000.0), 2)[:, None]
    X = np.concatenate([X, X[:1]])  # the oldest point is measured once more
    kept = beliefs.newest(X, description(space=space))
    assert len(np.unique(X[kept])) == most
    assert {0.0, 3001.0 - most, 2999.0} <= set(X[kept, 0])
    assert 3000.0 - most not in X[kept, 0]
    assert list(kept[:2]) == [0, 1]


def test_drifting_data_are_left_out_after_eight_half_lives():
    X = np.arange(3000.0)[:, None]
    np.testing.assert_array_equal(beliefs.newest(X, description(forget=10)), np.arange(2920, 3000))
    np.testing.assert_array_equal(beliefs.newest(X, description(forget=5000)), np.arange(2500, 3000))


def test_steps_of_learning_depend_on_the_number_of_measurements_alone():
    steps = [beliefs.Steps.of(count, description()) for count in range(200)]
    assert steps[3] == (0, 0)
    assert sorted({s.fitted for s in steps}) == [0, 4, 6, 9, 14, 21, 32, 48, 72, 108, 162]
    assert all(
        s.fitted <= s.synced <= count and count - s.synced < beliefs.SYNC for count, s in enumerate(steps) if count > 3
    )


# -- Recommendations. --


def test_recommendations_are_in_the_users_units():
    events = Events(description(minimize="loss", maximize=None, limits=(Mean("gain", at_least=30),)))
    for id in range(1, 31):
        proposal = events.decider.decide(id)
        events.happen("asked", id, proposal.values, None, proposal.kind)
        x, y = proposal.values["x"], proposal.values["y"]
        events.happen("told", id, {"loss": 100.0 + x, "gain": 2.0 * x + 3.0 * y})
    found = events.decider.recommend()
    assert found.metric.low <= found.metric.value <= found.metric.high
    assert found.metric.value == pytest.approx(100 + found.values["x"], abs=2)
    assert found.limits[0].value == pytest.approx(2 * found.values["x"] + 3 * found.values["y"], abs=3)
    assert found.feasible >= 0.9
    assert sum(found.mixture.shares) == pytest.approx(1)
    effects = {effect.parameter: effect for effect in events.decider.effects()}
    np.testing.assert_allclose(effects["x"].estimates[0, :, 0], 100 + np.arange(13), atol=2)
    assert events.decider.estimate(found.values)[0] == pytest.approx(found.metric)


def test_a_share_that_was_never_exceeded_is_not_known_to_be_zero():
    limits = (Share("cost", above=1e6, at_most=0.01),)
    events = Events(description(limits=limits))
    events.play(40)
    found = events.decider.recommend()
    # 0 of 40 rounds: a plain 95% upper bound is 3 / 40 = 7.5%, and rounds at other values count less.
    assert 0.005 < found.limits[0].high < 0.2
    assert 0.5 < found.feasible < 0.9
    # None is known to meet the limit, and all are equally likely to: the best by its reward is recommended.
    rewards = [measured({"x": x, "y": y})["gain"] for x in range(13) for y in range(13)]
    assert measured(found.values)["gain"] > np.quantile(rewards, 0.9)


def test_a_recommendation_is_shown_in_the_users_units():
    events = Events(description(limits=(Mean("cost", at_most=20),)))
    events.play(30)
    first, *lines = str(events.decider.recommend()).splitlines()
    assert first.startswith("x=")
    assert lines[0].startswith("  gain ")
    assert lines[1].startswith("  mean cost ")
    assert lines[1].endswith("limit 20")
    assert all(len(line) <= 79 for line in lines)


def test_a_mixture_is_shown_if_it_is_better_than_one_configuration():
    given = description(space={"x": sb.Ordinal([0, 1])}, limits=(Mean("cost", at_most=6),))
    events = Events(given)
    for id in range(1, 41):
        proposal = events.decider.decide(id)
        events.happen("asked", id, proposal.values, None, proposal.kind)
        noise = 0.1 * events.rng.standard_normal()
        events.happen("told", id, {"gain": 10.0 * proposal.values["x"] + noise, "cost": 10.0 * proposal.values["x"]})
    found = events.decider.recommend()  # 0 costs 0 and 1 costs 10: 1 in 60% of the rounds meets the limit
    assert found.values == {"x": 0}
    assert found.alternating.shares == pytest.approx((0.4, 0.6), abs=0.03)
    assert "of the rounds x=1" in str(found)


def test_the_gain_over_the_baseline_is_positive_if_a_metric_is_improved():
    events = Events(description(baseline={"x": 2, "y": 2}, limits=()))
    events.play(30)
    gain = events.decider.gain_over_baseline()
    best = events.decider.recommend().values
    truth = measured(best)["gain"] - measured({"x": 2, "y": 2})["gain"]
    assert 0 < gain.low < truth < gain.high


def test_limits_that_cannot_be_met_are_remarked_on():
    events = Events(description(limits=(Mean("cost", at_most=-5),)))
    events.play(30)
    assert "cannot all be met" in events.decider.notes()[-1]


@pytest.mark.parametrize("limit", [Mean("cost", at_most=12_000), Mean("cost", at_least=-12_000)])
def test_a_limit_that_may_be_in_another_unit_is_remarked_on(limit):
    events = Events(description(limits=(limit,)))
    events.play(19)
    assert events.decider.notes() == []
    events.play(1)
    (note,) = events.decider.notes()
    costs = [row.metrics["cost"] for row in events.decider.evidence.rows]
    low, high = note.removeprefix("In 20 rounds cost was between ").split(",")[0].split(" and ")
    assert (float(low), float(high)) == pytest.approx((min(costs), max(costs)), rel=1e-3)
    assert note.endswith(f", so the limit {limit.text} has no effect. Are both in the same unit?")


def test_nothing_is_recommended_before_anything_was_learned():
    decider = Decider.start(description())
    assert decider.decide(1).expected == {}
    assert not decider.has_learned
    with pytest.raises(ArgumentError, match="rounds to learn from"):
        decider.recommend()
