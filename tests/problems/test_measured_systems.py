"""The problems on measured systems, against plain loops over the table."""

import itertools
import math

import numpy as np
import pytest

import softbandit as sb
from softbandit.data import SYSTEMS, load_configurations

# The best configuration meets the limit that 30% meet, unless the share is halved this many times.
HALVED = {"SS-A": 5, "SS-C": 8, "SS-D": 0, "SS-E": 0, "SS-M": 3, "SS-O": 0, "SS-Q": 0}
REWARDS = {"SS-M": "Benchmark-time-", "SS-O": "Performance-", "SS-Q": "Performance-"}  # the others': Throughput+
LIMITED = {"SS-M": ["Benchmark-cpu-", "Benchmark-energy-"], "SS-O": ["Cpu-"], "SS-Q": ["Cpu-", "Energy-"]}
PAIRS = [(name, m) for name in SYSTEMS for m in range(1, 1 + len(LIMITED.get(name, ["Latency-"])))]

every_goal = pytest.mark.parametrize(("name", "limits"), PAIRS)


def limited_metrics(name, limits=1):
    """Return the limited metrics, (n, m), from the table."""
    table = load_configurations(name)
    return np.stack([table.metric(metric) for metric in LIMITED.get(name, ["Latency-"])[:limits]], axis=1)


@every_goal
def test_the_reward_and_the_costs_are_the_metrics_in_their_own_units(name, limits):
    problem, table = sb.problems.measured(name, limits=limits), load_configurations(name)
    reward = REWARDS.get(name, "Throughput+")
    np.testing.assert_array_equal(problem.reward, (1 if reward[-1] == "+" else -1) * table.metric(reward))
    L = limited_metrics(name, limits) - problem.costs  # the same for all configurations, up to rounding
    np.testing.assert_allclose(L, L[[0]].repeat(len(L), axis=0), rtol=1e-9)


@every_goal
def test_a_share_of_the_configurations_meets_each_limit_and_the_best_one_not_all(name, limits):
    problem = sb.problems.measured(name, limits=limits)
    n, share = len(problem.arms), 0.3 / 2 ** HALVED[name]
    met = (problem.costs <= 0).sum(axis=0)
    assert (np.abs(met - (1 + share * (n - 1))) < 1).all()  # a quantile of n numbers is at position 1 + share (n - 1)
    assert (problem.costs[problem.reward.argmax()] > 0).any()


@pytest.mark.parametrize("name", [name for name, times in HALVED.items() if times])
def test_the_share_is_halved_only_because_the_best_configuration_meets_the_limit(name):
    problem = sb.problems.measured(name, quantile=2 * 0.3 / 2 ** HALVED[name])
    assert problem.cost[problem.reward.argmax()] <= 0


def test_a_quantile_sets_the_limit_even_if_the_best_configuration_meets_it():
    problem = sb.problems.measured("SS-A", quantile=0.3)
    assert (problem.cost <= 0).mean() == pytest.approx(0.3, abs=1 / 1343)
    assert problem.cost[problem.reward.argmax()] < 0


@every_goal
def test_noise_is_a_share_of_the_spread_of_each_metric(name, limits):
    problem = sb.problems.measured(name, limits=limits, noise=0.02)
    columns = [problem.reward, *problem.costs.T]
    spreads = [math.sqrt(sum((v - sum(y) / len(y)) ** 2 for v in y) / len(y)) for y in (c.tolist() for c in columns)]
    np.testing.assert_allclose(problem.noises, 0.02 * np.array(spreads), rtol=1e-9)


def test_logarithms_keep_the_reward_and_the_set_of_feasible_configurations():
    plain, logs = (sb.problems.measured("SS-D", log=log) for log in (False, True))
    latency = limited_metrics("SS-D")[:, 0]
    L = (latency - plain.cost)[0]
    np.testing.assert_array_equal(plain.reward, logs.reward)
    np.testing.assert_allclose(logs.cost, [math.log(value / L) for value in latency], atol=1e-9)
    np.testing.assert_array_equal(plain.cost <= 0, logs.cost <= 0)


def test_features_are_the_evenly_spaced_levels_of_the_parameters_that_vary():
    problem, table = sb.problems.measured("SS-D"), load_configurations("SS-D")
    levels = [[1, 10, 100, 1e3, 1e4, 1e5, 1e6], [1, 2, 3, 6], [1, 3, 6, 9, 12, 15, 18]]
    expected = [
        [values.index(v) / (len(values) - 1) for v, values in zip(row, levels, strict=True)]
        for row in table.settings.tolist()
    ]
    np.testing.assert_allclose(problem.arms, expected)
    constant = {"transaction_control", "table_type"}  # 1 in every row of SS-M
    assert sb.problems.measured("SS-M").arms.shape[1] == len(set(load_configurations("SS-M").parameters) - constant)


@pytest.mark.parametrize("name", ["SS-D", "SS-E"])
def test_the_optimum_is_that_of_brute_force_over_all_pairs_of_configurations(name):
    problem = sb.problems.measured(name)
    f, g = problem.reward.tolist(), problem.cost.tolist()
    feasible = [i for i in range(len(f)) if g[i] <= 0]
    best = max(f[i] for i in feasible)
    for i, j in itertools.product(feasible, set(range(len(f))) - set(feasible)):
        share = -g[i] / (g[j] - g[i])  # of j, with which the mixture uses the whole limit
        best = max(best, (1 - share) * f[i] + share * f[j])
    assert sb.randomized_optimum(problem.reward, problem.cost).value == pytest.approx(best, rel=1e-12)


@every_goal
def test_slaters_margin_is_in_the_units_of_the_costs_and_at_most_1(name, limits):
    problem = sb.problems.measured(name, limits=limits)
    least = float(-problem.costs.max(axis=1).min())  # of a single configuration; a mixture can have more
    assert min(1.0, least) <= problem.slater <= 1
    if limits == 1:
        assert problem.slater == pytest.approx(min(1.0, least))


@pytest.mark.parametrize("name", ["SS-D", "SS-E", "SS-M", "SS-O"])  # the others have over 1,000 arms to factorise
def test_the_ledger_says_that_the_noise_is_right_and_the_bounds_are_not_norms(name):
    problem = sb.problems.measured(name)
    rows = {row.assumption: row.status for row in sb.CKB(**problem.settings(), horizon=50).guarantees(problem).rows}
    assert rows["noise R-sub-Gaussian"] == "verified"
    assert rows["norm of f <= B"] == "violated"


@pytest.mark.parametrize(
    "bad", [{"name": "SS-B"}, {"limits": 2}, {"limits": 0}, {"quantile": 1.0}, {"quantile": 0}, {"noise": -0.1}]
)
def test_invalid_settings_of_measured_problems_are_refused(bad):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        sb.problems.measured(**{"name": "SS-D", **bad})


def test_an_experiment_names_a_measured_system():
    problem = sb.problems.make("measured", name="SS-D", quantile=0.5)
    np.testing.assert_array_equal(problem.cost, sb.problems.measured("SS-D", quantile=0.5).cost)
