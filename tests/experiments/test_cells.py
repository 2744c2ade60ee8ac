import numpy as np
import pytest
from softbandit_tests.tiny_experiment import tiny

import softbandit as sb
from softbandit.experiments.cells import arms_tried, cells, checkpoints, engine, join, maximiser, play, prepare
from softbandit.experiments.tables import METRICS


def test_every_combination_occurs_once_and_no_trial_is_shared_between_instances():
    parts = cells(tiny())
    assert len(parts) == 2 * 3 * 3
    assert len({(*part.point.values(), part.policy, part.instance) for part in parts}) == len(parts)
    own = [part.trials for part in parts if part.policy == "queue" and part.point == {"width_scale": 0.2}]
    assert sorted(trial for part in own for trial in part) == list(range(6))


def test_with_fewer_trials_than_instances_there_are_fewer_instances():
    assert {part.instance for part in cells(tiny(trials=2))} == {0, 1}


def test_a_policy_may_be_run_in_part_of_the_grid():
    parts = cells(tiny(policies={"ckb-ucb": {}, "ckb-ts": {"only": {"width_scale": [0.2]}}}))
    assert {part.point["width_scale"] for part in parts if part.policy == "ckb-ts"} == {0.2}
    assert {part.point["width_scale"] for part in parts if part.policy == "ckb-ucb"} == {1.0, 0.2}
    prepare(parts[-1])


@pytest.mark.parametrize("index", [0, 4, 11])
def test_a_cell_is_a_simulation_and_its_scores(index):
    cell = cells(tiny())[index]
    problem, policy = prepare(cell)
    np.testing.assert_array_equal(problem.reward, sb.problems.rkhs(arms=12, seed=cell.instance).reward)
    scores = sb.score(sb.simulate(policy, problem, cell.trials, seed=0), problem)  # by NumPy
    table = play(cell)
    for name in METRICS[:-1]:
        for trial, row in zip(cell.trials, getattr(scores, name), strict=True):
            own = table.where(trial=trial)
            np.testing.assert_array_equal(own[name], row[own["round"].astype(int) - 1])


def test_arms_tried_are_counted_as_they_come():
    arms = np.array([[3, 3, 1, 3, 0], [2, 2, 2, 2, 2]])
    np.testing.assert_array_equal(arms_tried(arms), [[1, 1, 2, 2, 3], [1, 1, 1, 1, 1]])


def test_a_seed_is_the_problems_even_with_one_instance():
    problem, _ = prepare(cells(tiny(seed=5, instances=1))[0])
    np.testing.assert_array_equal(problem.reward, sb.problems.rkhs(arms=12, seed=5).reward)


def test_of_several_constraints_the_most_violated_counts():
    spec = tiny(problem={"kind": "rkhs", "arms": 12, "constraints": 2}, policies={"ckb-rand": {}})
    cell = cells(spec)[0]
    problem, policy = prepare(cell)
    trace = sb.simulate(policy, problem, cell.trials)
    totals = np.maximum(problem.cost[trace.arms].sum(axis=1), 0).max(axis=1)
    np.testing.assert_allclose(play(cell).final()["violation"], totals)


def test_the_kind_of_an_instance():
    settings = {"noise": 0.1, "reward_bound": 3, "cost_bound": 3, "slater": 0.5}
    arms, kernel, reward = np.eye(3), sb.Linear(), np.array([0.0, 2.0, 2.0])
    infeasible = sb.problems.Problem(arms, kernel, reward, np.array([-1.0, 1.0, 0.5]), **settings)
    feasible = sb.problems.Problem(arms, kernel, reward, np.array([-1.0, 1.0, -0.5]), **settings)
    assert (maximiser(infeasible), maximiser(feasible)) == ("infeasible", "feasible")


@pytest.mark.parametrize("horizon", [1, 7, 1000])
def test_checkpoints_are_rounds_and_hold_the_last(horizon):
    rounds = checkpoints(horizon, 20)
    assert rounds[0] >= 1
    assert rounds[-1] == horizon
    assert (np.diff(rounds) > 0).all()


def test_times_are_measured():
    cell = cells(tiny(measure="time", horizon=3, trials=2, instances=1))[0]
    table = play(cell)
    assert len(table) == 1
    assert table["microseconds"][0] > 0


def test_tables_are_joined_in_order():
    tables = [play(cell) for cell in cells(tiny(horizon=5))[:2]]
    assert len(join(tables)) == sum(map(len, tables))
    assert join(tables)["instance"][0] == 0


def test_jax_is_for_experiments_that_are_long_enough():
    assert engine(tiny()) == "numpy"
    assert engine(tiny(horizon=10_000, trials=500, instances=500)) == "jax"
    assert engine(tiny(engine="jax")) == "jax"
    assert engine(tiny(horizon=10**6, measure="time")) == "numpy"
