import json
import math

import numpy as np
import pytest
from scipy.stats import binom
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.theory import certify_run
from softbandit.theory.assumptions import UNKNOWN, VERIFIED, VIOLATED
from softbandit.theory.certificate_report import certificate
from softbandit.theory.run_bounds import arm_bounds
from softbandit.theory.run_model import Run, step_of

PROBLEM = examples_of.problem(seed=7, noise=0.3)
POLICY = examples_of.policy(PROBLEM, explore="rand", width_scale=0.2)


def trace_of(policy=POLICY, problem=PROBLEM, **settings):
    return sb.simulate(policy, problem, **{"rounds": 40, "engine": "numpy", **settings})


def status(report):
    return {row.assumption: row.status for row in report.assumptions}


def test_a_certificate_is_its_formula_in_plain_loops():
    alpha, trace = 0.2, trace_of(trials=2)
    got = certify_run(POLICY, trace, confidence=alpha)
    share = alpha / 4  # half of alpha for the sums, among reward and cost
    L = 2 * math.log(1 / share)
    rho = 250 / (L + math.log(1 + L))
    for i in range(2):
        run = Run(trace.arms[i : i + 1], np.stack([trace.rewards[i], trace.costs[i]], axis=-1)[None])
        bounds = list(arm_bounds(POLICY, run, alpha / 2))
        for t in (1, 7, 40):
            radius = 0.3 * math.sqrt((t + rho) * (L + math.log((t + rho) / rho)))
            total = trace.costs[i, :t].sum()
            np.testing.assert_allclose(got.violation[i, t - 1, 0], [total - radius, total + radius])
            lower, upper = bounds[t - 1].lower[0], bounds[t - 1].upper[0]
            value = sb.randomized_optimum(upper[0], lower[1]).value
            earned = max(trace.rewards[i, :t].sum() - radius, sum(lower[0][a] for a in trace.arms[i, :t]))
            assert got.regret[i, t - 1] == pytest.approx(t * value - earned)
    assert got.probability == 0.8


def test_certificates_after_some_rounds_are_those_of_all_rounds_and_of_shorter_runs():
    trace = trace_of(trials=3)
    every, some = certify_run(POLICY, trace), certify_run(POLICY, trace, rounds=[5, 40])
    np.testing.assert_array_equal(some.regret, every.regret[:, [4, 39]])
    np.testing.assert_array_equal(some.violation, every.violation[:, [4, 39]])
    shorter = certify_run(POLICY, trace_of(trials=3, rounds=5), rounds=[5])
    np.testing.assert_allclose(shorter.regret[:, 0], some.regret[:, 0])


def failures(policy, problem, trials, alpha, rounds):
    """Return in which trials some total or some regret is ever outside: stopping at the worst time cannot fail more."""
    trace = sb.simulate(policy, problem, trials=trials, rounds=rounds, seed=1, engine="numpy")
    certified = certify_run(policy, trace, confidence=alpha)
    totals = np.cumsum(problem.costs[trace.arms], axis=1)
    outside = (totals < certified.violation[..., 0]) | (totals > certified.violation[..., 1])
    beyond = sb.score(trace, problem).strong_regret > certified.regret
    return outside.any(axis=(1, 2)), beyond.any(axis=1)


@pytest.mark.slow
def test_at_any_time_a_certificate_fails_no_more_often_than_it_says():
    alpha, trials = 0.2, 400
    outside, beyond = failures(POLICY, PROBLEM, trials, alpha, rounds=60)
    assert binom.sf((outside | beyond).sum() - 1, trials, alpha) > 1e-6  # not significantly above alpha
    assert outside.sum() > 0  # a share of alpha / 4: intervals that are never left would be too wide


def test_a_true_regret_is_bounded_by_less_than_the_trivial_bound():
    problem = examples_of.problem(seed=7)
    policy = examples_of.policy(problem, width="tight", horizon=300)
    trace = trace_of(policy, problem, rounds=300)
    bound = certify_run(policy, trace, rounds=[300]).regret[0, 0]
    assert sb.score(trace, problem).strong_regret[0, -1] <= bound < 0.2 * 2 * policy.reward_bound * 300


def test_several_constraints_have_an_interval_each_and_none_has_none():
    pair = examples_of.POLICIES["CKB, two constraints"]
    assert certify_run(pair, trace_of(pair, examples_of.problem(constraints=2, seed=5))).violation.shape == (
        1,
        40,
        2,
        2,
    )
    alone = examples_of.POLICIES["CKB, unconstrained"]
    got = certify_run(alone, trace_of(alone, examples_of.problem()))
    assert got.violation.shape == (1, 40, 0, 2)
    assert np.isfinite(got.regret).all()


@pytest.mark.parametrize("name", [name for name, policy in examples_of.POLICIES.items() if step_of(policy)])
def test_every_policy_with_norm_bounds_is_certified(name):
    policy = examples_of.POLICIES[name]
    problem = examples_of.problem(constraints=2, seed=5) if policy.constraints == 2 else examples_of.problem()
    trace = trace_of(policy, problem, rounds=15)
    regret = certify_run(policy, trace).regret
    assert np.isfinite(regret).all()
    assert np.all(regret <= 2 * problem.reward_bound * np.arange(1, 16) + 1e-9)


def test_a_known_range_replaces_the_noise():
    policy = examples_of.policy(PROBLEM, noise=1e-9)  # far too small, and not used for the costs
    trace = trace_of(policy)
    wide = certify_run(policy, trace, cost_range=(-20, 20)).violation[0, -1, 0]
    narrow = certify_run(policy, trace, cost_range=[(-10, 10)]).violation[0, -1, 0]
    total = np.cumsum(PROBLEM.cost[trace.arms[0]])[-1]
    assert wide[0] < narrow[0] < total < narrow[1] < wide[1]


@pytest.mark.parametrize("bad", [(1, 1), (2, 1), (0,), (0.0, 0.1), "ab", [(0, 1), (0, 1)], (math.nan, 1)])
def test_a_range_that_cannot_hold_the_costs_is_refused(bad):
    with pytest.raises(sb.ArgumentError, match="cost_range"):
        certify_run(POLICY, trace_of(), cost_range=bad)


def test_a_trace_without_observations_and_rounds_that_were_not_played_are_refused():
    with pytest.raises(sb.ArgumentError, match="trace: expected one with rewards and costs"):
        certify_run(POLICY, trace_of(keep=()))
    with pytest.raises(sb.ArgumentError, match="rounds: expected a whole number from 1 to 40"):
        certify_run(POLICY, trace_of(), rounds=[41])
    with pytest.raises(sb.ArgumentError, match="confidence: expected a number in"):
        certify_run(POLICY, trace_of(), confidence=1.5)


class Told:
    """Rounds as an agent records them."""

    def __init__(self, arms, rewards, costs):
        self.arms, self.rewards, self.costs = (np.asarray(x) for x in (arms, rewards, costs))


def tabular(**settings):
    """Two independent arms."""
    defaults = {"reward_bound": 1.0, "cost_bound": 1.0, "noise": 0.1, "horizon": 100, "slater": 0.5}
    return sb.CKB(np.arange(2.0)[:, None], sb.Tabular(np.eye(2)), **defaults | settings)


def test_limits_that_no_mixture_can_meet_leave_no_bound_and_are_named():
    told = Told([0, 1] * 100, np.zeros(200), np.full((200, 1), 0.8))
    report = certificate(tabular(), told)
    assert report.regret == math.inf
    assert status(report)["limits can be met"] == VIOLATED
    assert "no bound" in str(report)
    assert json.loads(report.to_json())["regret"] is None


def test_observations_that_contradict_the_settings_leave_no_bound_and_are_named():
    told = Told([0] * 100, np.tile([3.0, -3.0], 50), np.full((100, 1), -0.5))
    honest = certificate(tabular(noise=3.0), told)
    assert status(honest)["bounds agree over time"] == VERIFIED
    report = certificate(tabular(), Told([0] * 100, np.repeat([3.0, -3.0], 50), np.full((100, 1), -0.5)))
    assert report.regret == math.inf
    row = next(row for row in report.assumptions if row.assumption == "bounds agree over time")
    assert row.status == VIOLATED
    assert "the reward" in row.detail


def test_limits_are_known_to_be_met_only_once_the_costs_are():
    def feasibility(rounds):
        told = Told([0] * rounds, np.zeros(rounds), np.full((rounds, 1), -0.2))
        return status(certificate(tabular(), told))["limits can be met"]

    assert feasibility(1) == UNKNOWN
    assert feasibility(50) == VERIFIED


def test_on_a_space_the_bound_holds_and_the_search_is_named():
    problem = sb.problems.rkhs_on(sb.Box([0, 0], [1, 1]), seed=2)
    policy = sb.CKB(**problem.settings(), horizon=30, width="tight")
    trace = sb.simulate(policy, problem, rounds=30)
    told = Told(trace.arms[0], trace.rewards[0], trace.costs[0][:, None])
    report = certificate(policy, told)
    assert sb.score(trace, problem).strong_regret[0, -1] <= report.regret < 2 * policy.reward_bound * 30
    assert status(report)["maximum over the space"] == UNKNOWN
    with pytest.raises(sb.ArgumentError, match="plausible: expected finite arms"):
        _ = report.plausible


def test_on_a_space_limits_that_no_point_can_meet_leave_no_bound():
    settings = {"reward_bound": 1.0, "cost_bound": 1.0, "noise": 0.01, "horizon": 100, "slater": 0.5}
    policy = sb.CKB(sb.Box(0, 1), sb.SquaredExponential(5.0), **settings)
    x = np.linspace(0, 1, 40)[:, None]
    report = certificate(policy, Told(x, np.zeros(40), np.full((40, 1), 0.5)))
    assert report.regret == math.inf
    assert status(report)["limits can be met"] == VIOLATED


def test_a_report_is_plain_text_of_at_most_79_columns_and_json():
    pair = examples_of.POLICIES["CKB, two constraints"]
    trace = trace_of(pair, examples_of.problem(constraints=2, seed=5))
    report = certificate(pair, Told(trace.arms[0], trace.rewards[0], trace.costs[0]))
    text = str(report)
    assert max(map(len, text.splitlines())) <= 79
    assert text.startswith("After 40 rounds, with probability at least 0.9, at all times:")
    assert all(row.assumption in text for row in report.assumptions)
    content = json.loads(report.to_json())
    np.testing.assert_allclose(content["violation"], report.violation)
    assert len(content["assumptions"]) == len(report.assumptions)
    assert report.plausible.shape == (30,)
