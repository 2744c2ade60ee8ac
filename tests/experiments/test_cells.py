import numpy as np
import pytest
from softbandit_tests.tiny_experiment import tiny

import softbandit as sb
from softbandit.experiments.cells import all_cells, arms_tried, checkpoints, choose_engines, maximiser, play, prepare
from softbandit.experiments.tables import METRICS, join
from softbandit.simulation.engine_choice import COMPILATION, PER_ROUND

ON_NUMPY = dict.fromkeys(["ckb-ucb", "queue", "stageopt", "ckb-rand"], "numpy")


def test_every_combination_occurs_once_and_no_trial_is_shared_between_instances():
    cells = all_cells(tiny())
    assert len(cells) == 2 * 3 * 3
    assert len({(*cell.point.values(), cell.policy, cell.instance) for cell in cells}) == len(cells)
    trials = [cell.trials for cell in cells if cell.policy == "queue" and cell.point == {"width_scale": 0.2}]
    assert sorted(trial for numbers in trials for trial in numbers) == list(range(6))


def test_with_fewer_trials_than_instances_there_are_fewer_instances():
    assert {cell.instance for cell in all_cells(tiny(trials=2))} == {0, 1}


def test_a_policy_with_only_is_run_on_a_part_of_the_grid():
    cells = all_cells(tiny(policies={"ckb-ucb": {}, "ckb-ts": {"only": {"width_scale": [0.2]}}}))
    assert {cell.point["width_scale"] for cell in cells if cell.policy == "ckb-ts"} == {0.2}
    assert {cell.point["width_scale"] for cell in cells if cell.policy == "ckb-ucb"} == {1.0, 0.2}
    prepare(cells[-1])


@pytest.mark.parametrize("index", [0, 4, 11])
def test_the_rows_of_a_cell_are_the_scores_of_a_simulation(index):
    cell = all_cells(tiny())[index]
    problem, policy = prepare(cell)
    np.testing.assert_array_equal(problem.reward, sb.problems.rkhs(arms=12, seed=cell.instance).reward)
    scores = sb.score(sb.simulate(policy, problem, cell.trials, seed=0), problem)
    table = play(cell, ON_NUMPY)
    for name in METRICS[:-1]:
        for trial, row in zip(cell.trials, getattr(scores, name), strict=True):
            rows = table.where(trial=trial)
            np.testing.assert_array_equal(rows[name], row[rows["round"].astype(int) - 1])


def test_arms_tried_counts_the_different_arms_up_to_each_round():
    arms = np.array([[3, 3, 1, 3, 0], [2, 2, 2, 2, 2]])
    np.testing.assert_array_equal(arms_tried(arms), [[1, 1, 2, 2, 3], [1, 1, 1, 1, 1]])


def test_the_seed_of_an_experiment_is_the_seed_of_its_first_problem():
    problem, _ = prepare(all_cells(tiny(seed=5, instances=1))[0])
    np.testing.assert_array_equal(problem.reward, sb.problems.rkhs(arms=12, seed=5).reward)


def test_the_violation_is_that_of_the_most_violated_constraint():
    spec = tiny(problem={"kind": "rkhs", "arms": 12, "constraints": 2}, policies={"ckb-rand": {}})
    cell = all_cells(spec)[0]
    problem, policy = prepare(cell)
    trace = sb.simulate(policy, problem, cell.trials)
    totals = np.maximum(problem.cost[trace.arms].sum(axis=1), 0).max(axis=1)
    np.testing.assert_allclose(play(cell, ON_NUMPY).final()["violation"], totals)


def test_maximiser_says_whether_a_maximiser_of_the_reward_is_feasible():
    settings = {"noise": 0.1, "reward_bound": 3, "cost_bound": 3, "slater": 0.5}
    arms, kernel, reward = np.eye(3), sb.Linear(), np.array([0.0, 2.0, 2.0])
    infeasible = sb.problems.Problem(arms, kernel, reward, np.array([-1.0, 1.0, 0.5]), **settings)
    feasible = sb.problems.Problem(arms, kernel, reward, np.array([-1.0, 1.0, -0.5]), **settings)
    assert (maximiser(infeasible), maximiser(feasible)) == ("infeasible", "feasible")


@pytest.mark.parametrize("horizon", [1, 7, 1000])
def test_checkpoints_increase_and_end_with_the_last_round(horizon):
    rounds = checkpoints(horizon, 20)
    assert rounds[0] >= 1
    assert rounds[-1] == horizon
    assert (np.diff(rounds) > 0).all()


def test_measuring_time_gives_one_row_per_cell():
    cell = all_cells(tiny(measure="time", figures={}, horizon=3, trials=2, instances=1))[0]
    table = play(cell, ON_NUMPY)
    assert len(table) == 1
    assert table["microseconds"][0] > 0


def test_joined_tables_keep_the_order_of_the_cells():
    tables = [play(cell, ON_NUMPY) for cell in all_cells(tiny(horizon=5))[:2]]
    assert len(join(tables)) == sum(map(len, tables))
    assert join(tables)["instance"][0] == 0


@pytest.mark.extra
def test_each_policy_runs_on_jax_if_its_cells_together_take_long_enough():
    policies = {"ckb-ucb": {}, "ckb-ts": {"only": {"width_scale": [0.2]}}}
    assert choose_engines(tiny()) == {"ckb-ucb": "numpy", "queue": "numpy", "stageopt": "numpy"}
    # JAX must save COMPILATION seconds: 100 cells save 1.2 times as much, and 50 cells half of that.
    horizon = round(1.2 * COMPILATION / (100 * PER_ROUND))
    longer = tiny(horizon=horizon, trials=50, instances=50, policies=policies)
    assert choose_engines(longer) == {"ckb-ucb": "jax", "ckb-ts": "numpy"}


def test_an_engine_that_the_file_names_runs_every_policy():
    assert set(choose_engines(tiny(engine="jax")).values()) == {"jax"}
    assert set(choose_engines(tiny(engine="numpy", horizon=10**6)).values()) == {"numpy"}


def test_times_are_measured_with_numpy_unless_the_file_names_an_engine():
    assert set(choose_engines(tiny(horizon=10**6, measure="time", figures={})).values()) == {"numpy"}
    assert set(choose_engines(tiny(engine="jax", measure="time", figures={})).values()) == {"jax"}
