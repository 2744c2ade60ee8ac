"""Rules and verdicts on tables written by hand, with an obvious verdict."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from softbandit_tests.tiny_experiment import tiny

from softbandit.experiments import claims as c
from softbandit.experiments import judges as j
from softbandit.experiments.claims_paper import CLAIMS
from softbandit.experiments.reproduce import FOLDER, PAPER, paper
from softbandit.experiments.runner import Outcome
from softbandit.experiments.spec import load
from softbandit.experiments.tables import Table


def rows(values, metric="strong_regret", rounds=(1000, 10_000), trials=8, width_scale=1.0, **key):
    """Return rows in which values[policy] is a function of (trial, round)."""
    return [
        {"width_scale": width_scale, "policy": name, "instance": 0, "trial": i, "round": t, metric: f(i, t), **key}
        for name, f in values.items()
        for i in range(trials)
        for t in rounds
    ]


def table(*parts):
    listed = [row for part in parts for row in part]
    return Table.of_rows(listed)


def outcome(results):
    return Outcome(tiny(), results, {"data": []}, Path(), False)


def flat(level, wobble=1.0):
    return lambda trial, t: level + wobble * (trial % 2)


def test_better_or_similar_allows_ten_percent_above_the_other():
    judge = j.better_or_similar(["a"], ["b"], "strong_regret").apply
    for level, holds in ((50.0, True), (108.0, True), (112.0, False)):
        assert judge(table(rows({"a": flat(level), "b": flat(100.0)}))).holds is holds


def test_strictly_better_must_be_beyond_chance():
    judge = j.better(["a"], ["b"], "strong_regret").apply
    assert judge(table(rows({"a": flat(90.0), "b": flat(100.0)}))).holds
    noisy = {"a": lambda i, t: 95.0 + 20 * (-1) ** i, "b": flat(100.0, 0.0)}
    assert not judge(table(rows(noisy))).holds  # a mean gap of 5 under a standard error of 7.6


def test_all_zero_fails_if_one_trial_is_not_zero():
    judge = j.all_zero(["a"], "violation").apply
    assert judge(table(rows({"a": flat(0.0, 0.0)}, "violation"))).holds
    evidence = judge(table(rows({"a": lambda i, t: float(i == 3)}, "violation")))
    assert not evidence.holds
    assert evidence.ours == "0 in 88% of trials (a)"  # 7 of 8


def test_at_most_compares_the_upper_end_and_names_the_worst_policy():
    judge = j.at_most(["a", "b"], "violated_rounds", limit=5).apply
    good = judge(table(rows({"a": flat(1.0), "b": flat(3.0)}, "violated_rounds")))
    assert good.holds
    assert "(b)" in good.ours
    assert not judge(table(rows({"a": flat(1.0), "b": flat(4.8)}, "violated_rounds"))).holds


@pytest.mark.parametrize(("level", "wobble", "holds"), [(38, 2, True), (35, 2, True), (33, 2, False), (20, 36, False)])
def test_equals_needs_the_whole_interval_near_the_number(level, wobble, holds):
    """Within 10% of 38; noise that makes the interval wide does not help."""
    results = table(rows({"a": flat(level, wobble)}, "violated_rounds"))
    assert j.equals("a", "violated_rounds", 38).apply(results).holds is holds


def test_equals_zero_allows_a_mean_of_up_to_a_half():
    rule = j.equals("a", "violated_rounds", 0)
    assert rule.apply(table(rows({"a": lambda i, t: float(i == 0)}, "violated_rounds"))).holds
    assert not rule.apply(table(rows({"a": flat(1.0)}, "violated_rounds"))).holds


@pytest.mark.parametrize(
    "rule",
    [
        j.better_or_similar(["a"], ["b"], "strong_regret"),
        j.better(["a"], ["b"], "strong_regret"),
        j.at_most(["a"], "strong_regret", limit=5),
        j.equals("a", "strong_regret", 5),
        j.sublinear(["a"], "strong_regret"),
        j.linear_until("a", "strong_regret", lambda T: T / 10),
    ],
)
def test_no_rule_decides_on_a_single_trial(rule):
    assert rule.apply(table(rows({"a": flat(900.0), "b": flat(1.0)}, trials=1))).holds is None
    assert rule.words


@pytest.mark.parametrize(("power", "holds"), [(0.5, True), (0.97, True), (1.0, False), (1.2, False)])
def test_sublinear_means_a_power_below_one(power, holds):
    results = table(rows({"a": lambda i, t: (1 + 0.01 * i) * t**power}, "positive_violation"))
    evidence = j.sublinear(["a"], "positive_violation").apply(results)
    assert evidence.holds is holds
    assert f"{power:.3g}" in evidence.ours


def test_a_curve_that_stays_at_zero_is_sublinear():
    assert (
        j.sublinear(["a"], "positive_violation").apply(table(rows({"a": flat(0.0, 0.0)}, "positive_violation"))).holds
    )


def test_linear_until_holds_for_linear_and_not_for_square_root_growth():
    judge = j.linear_until("a", "strong_regret", lambda T: T / 100).apply
    rounds = (10, 100, 10_000)
    assert judge(table(rows({"a": lambda i, t: 2.0 * t}, rounds=rounds))).holds
    assert not judge(table(rows({"a": lambda i, t: t**0.5}, rounds=rounds))).holds


def test_always_good_allows_ten_percent_or_half_way_to_the_worst_from_round_100_on():
    rounds = (50, 100, 1000)
    others = {"b": lambda i, t: 100.0, "c": lambda i, t: 200.0}
    judge = j.always_good("a", ["a", "b", "c"], "strong_regret").apply
    for level, holds in ((50.0, True), (149.0, True), (151.0, False)):
        assert judge(table(rows({"a": flat(level, 0.0), **others}, rounds=rounds))).holds is holds
    early = {"a": lambda i, t: 900.0 if t < 100 else 100.0, **others}  # before round 100 nothing counts
    assert judge(table(rows(early, rounds=rounds))).holds
    late = {"a": lambda i, t: 180.0 if t == 1000 else 100.0, **others}
    assert judge(table(rows(late, rounds=rounds))).ours == "at its worst 180, best 100, in round 1,000"
    close = {"a": flat(109.0, 0.0), "b": flat(100.0, 0.0), "c": flat(101.0, 0.0)}  # the worst, yet similar
    assert judge(table(rows(close, rounds=rounds))).holds


def test_cost_in_arms_compares_the_exponent_with_its_limits():
    def times(power):
        timings = [
            {"problem.arms": n, "policy": "a", "instance": 0, "microseconds": 3.0 * n**power} for n in (100, 200, 400)
        ]
        return Table.of_rows(timings)

    linear, quadratic = j.cost_in_arms(["a"], sign="<=", limit=1.15), j.cost_in_arms(["a"], sign=">=", limit=1.7)
    assert linear.apply(times(1.0)).ours == "n^1.00 (a)"
    assert [linear.apply(times(p)).holds for p in (1.0, 1.5)] == [True, False]
    assert [quadratic.apply(times(p)).holds for p in (1.5, 2.0)] == [False, True]


def test_as_fast_as_compares_at_the_largest_number_of_arms():
    timings = [
        {"problem.arms": n, "policy": p, "instance": 0, "microseconds": t}
        for n, p, t in ((100, "a", 9.0), (100, "b", 1.0), (1000, "a", 20.0), (1000, "b", 10.0))
    ]
    evidence = j.as_fast_as({"a": "b"}, factor=3.0).apply(Table.of_rows(timings))
    assert evidence.holds
    assert evidence.ours == "2.00 x (a / b)"


CLAIM = c.Claim(
    "Count", "N <= 5.", "N <= 5", "tiny", "one", j.at_most(["a"], "violated_rounds", limit=5),
    [c.Condition("with the width scaled by 0.2", {"width_scale": 0.2})],
)  # fmt: skip


def verdict(primary, scaled):
    results = table(
        rows({"a": flat(primary)}, "violated_rounds"), rows({"a": flat(scaled)}, "violated_rounds", width_scale=0.2)
    )
    return c.judge(CLAIM, outcome(results))


def test_a_claim_is_judged_on_the_primary_setting_and_never_on_the_best_one():
    assert verdict(2.0, 50.0).verdict == c.HOLDS
    assert verdict(50.0, 2.0).verdict == c.CONDITIONALLY
    assert verdict(50.0, 2.0).condition == "with the width scaled by 0.2"
    assert verdict(50.0, 50.0).verdict == c.FAILS
    assert verdict(50.0, 2.0).ours.startswith("at worst 50.5")


def test_a_claim_for_another_horizon_is_not_judged():
    results = table(rows({"a": flat(2.0)}, "violated_rounds"))
    claim = dataclasses.replace(CLAIM, horizon=10_000)
    judged = c.judge(claim, outcome(results))  # which has a horizon of 40
    assert judged.verdict == c.UNJUDGED
    assert "the claim is for 10,000" in judged.ours
    assert c.judge(dataclasses.replace(CLAIM, horizon=40), outcome(results)).verdict == c.HOLDS


def test_a_claim_is_not_judged_on_a_single_trial():
    assert c.judge(CLAIM, outcome(table(rows({"a": flat(2.0)}, "violated_rounds", trials=1)))).verdict == c.UNJUDGED


def test_perturbing_a_result_changes_the_verdict():
    results = table(rows({"a": flat(2.0)}, "violated_rounds"))
    before = c.judge(CLAIM, outcome(results))
    results["violated_rounds"][:] += 4
    after = c.judge(CLAIM, outcome(results))
    assert (before.verdict, after.verdict) == (c.HOLDS, c.FAILS)
    assert before.ours != after.ours


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_every_claim_has_an_experiment_that_can_decide_it(claim):
    spec = load(FOLDER / f"{claim.experiment}.toml")
    assert claim.figure in {name for experiment in paper() for name in experiment.figures}
    for condition in claim.conditions:
        for key, value in condition.rows.items():
            assert key == "maximiser" or value in spec.grid[key]


def test_every_paper_file_is_listed_and_has_a_primary_value_for_each_grid_setting():
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(PAPER)
    for spec in paper():
        assert set(spec.primary) == (set(spec.grid) if spec.measure == "scores" else set())


def test_quick_runs_have_the_same_policies_and_grids():
    for whole, short in zip(paper(), paper(quick=True), strict=True):
        assert (whole.policies, whole.grid, whole.primary) == (short.policies, short.grid, short.primary)


def test_applying_a_rule_twice_gives_the_same_evidence():
    results = table(rows({"a": lambda i, t: (1 + i) * np.sqrt(t)}, "positive_violation"))
    judge = j.sublinear(["a"], "positive_violation").apply
    assert judge(results) == judge(results)
