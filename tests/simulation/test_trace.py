import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb

ARMS = np.arange(2.0)[:, None]
SETTINGS = {"reward_bound": 1, "cost_bound": 9, "noise": 0.1, "horizon": 50, "width": 1.0}


def test_a_warning_names_the_trials_that_refute_the_settings_once():
    policy = sb.baselines.CONFIG(ARMS, sb.Tabular(np.eye(2)), **SETTINGS)
    infeasible = sb.problems.Problem(ARMS, policy.kernel, np.zeros(2), np.full(2, 5.0), 0.1, 1.0, 9.0, 0.5)
    with pytest.warns(sb.ComplaintWarning, match=r"In 12 of 12 trials \(0, 1, 2, 3, 4, 5, 6, 7, \.\.\.\)") as warnings:
        sb.simulate(policy, infeasible, trials=12, engine="numpy")
    assert len(warnings) == 1
    with pytest.warns(sb.ComplaintWarning, match=r"In 1 of 1 trials \(41\)"):
        sb.simulate(policy, infeasible, trials=[41], engine="numpy")


def test_a_trace_records_trials_seed_and_origin_of_the_random_numbers():
    problem = examples_of.problem()
    trace = sb.simulate(examples_of.policy(problem), problem, trials=[5, 2], seed=9, rounds=3)
    assert (list(trace.trials), trace.seed, trace.draws) == ([5, 2], 9, "host")
    assert trace.arms.dtype == np.int64


def test_a_trace_on_a_space_holds_points():
    problem = sb.problems.rkhs_on(sb.Box([0, 0], [1, 1]), seed=2)
    trace = sb.simulate(sb.CKB(**problem.settings(), horizon=3), problem, trials=2)
    assert trace.arms.shape == (2, 3, 2)
    assert trace.arms.dtype == np.float64


def test_a_callback_gets_the_means_so_far_and_the_number_of_rounds():
    problem, calls = examples_of.problem(constraints=2, seed=5), []
    policy = examples_of.policy(problem, horizon=3000)
    trace = sb.simulate(policy, problem, trials=2, engine="numpy", callback=lambda *call: calls.append(call))
    assert len(calls) > 1
    assert calls[-1][1] == 3000
    for metrics, rounds in calls:
        assert metrics.keys() == {"reward", "cost_0", "cost_1"}
        assert metrics["reward"] == pytest.approx(trace.rewards[:, :rounds].mean())
        assert metrics["cost_1"] == pytest.approx(trace.costs[:, :rounds, 1].mean())
