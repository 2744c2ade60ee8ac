"""Trials of policies that search or learn, spread over processes."""

import os
import threading

import numpy as np
import pytest

import softbandit as sb
from softbandit.simulation import trials_in_processes

SETTINGS = {"reward_bound": 2, "cost_bound": 1, "noise": 0.1, "slater": 0.2}
BOX = sb.Box(-1, 1)
POLICIES = {
    "search": sb.CKB(BOX, sb.Matern(0.5), **SETTINGS, horizon=4),
    "learning": sb.Autopilot(np.linspace(0, 1, 5)[:, None], horizon=4),
}


def problem_of(policy, visit=lambda: None):
    """Return a problem for the policy; on a space, `visit` is called with every observation."""

    def function(X):
        visit()
        return np.c_[X, X**2 - 0.25]

    if policy.continuous:
        return sb.problems.SpaceProblem(arms=BOX, kernel=sb.Matern(0.5), function=function, **SETTINGS)
    return sb.problems.rkhs(arms=5, seed=2)


def assert_same(a, b):
    for name in ("arms", "rewards", "costs", "dual"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.fixture
def always(monkeypatch):
    """However little there is to do, let two processes do it."""
    monkeypatch.setattr(trials_in_processes, "LEAST_ROUNDS", 0)
    monkeypatch.setattr(trials_in_processes, "cores", lambda: 2)


@pytest.mark.extra
@pytest.mark.parametrize("name", POLICIES)
def test_a_trace_is_the_same_to_the_bit_in_processes_and_without(name, always, monkeypatch):
    policy, rounds = POLICIES[name], []
    problem = problem_of(policy)
    together = sb.simulate(policy, problem, trials=[0, 7, 3], progress=rounds.append)
    monkeypatch.setattr(trials_in_processes, "cores", lambda: 1)
    assert_same(together, sb.simulate(policy, problem, trials=[0, 7, 3]))
    assert len(rounds) == 3
    assert sum(rounds) == 4


def visitors(policy, tmp_path, simulate):
    """Return the numbers of the processes in which a problem was observed."""

    def visit():
        (tmp_path / str(os.getpid())).touch()

    problem = problem_of(policy, visit)
    assert problem.constraints == 1  # which calls the function
    (tmp_path / str(os.getpid())).unlink()
    simulate(policy, problem)
    return {int(path.name) for path in tmp_path.iterdir()}


@pytest.mark.extra
def test_trials_on_a_space_run_in_other_processes_without_being_asked(tmp_path, always):
    used = visitors(POLICIES["search"], tmp_path, lambda policy, problem: sb.simulate(policy, problem, trials=4))
    assert os.getpid() not in used


@pytest.mark.extra
def test_a_sweep_with_one_job_stays_in_its_process(tmp_path, always):
    def sweep(policy, problem):
        sb.sweep({"": (policy, problem)}, trials=2, jobs=1)

    assert visitors(POLICIES["search"], tmp_path, sweep) == {os.getpid()}


def test_little_work_stays_in_its_process(tmp_path):
    simulate = sb.simulate
    used = visitors(POLICIES["search"], tmp_path, lambda policy, problem: simulate(policy, problem, trials=2))
    assert used == {os.getpid()}


@pytest.mark.extra
def test_a_problem_that_cannot_be_sent_to_a_process_is_played_here(always):
    lock = threading.Lock()
    policy = POLICIES["search"]
    trace = sb.simulate(policy, problem_of(policy, lambda: lock.locked()), trials=2)
    assert trace.arms.shape == (2, 4, 1)
