"""Real workers: processes, a Dask cluster and a Ray cluster of this machine; some of them get killed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import distributed
import numpy as np
import pytest
from softbandit_tests import pool_tasks

import softbandit as sb
from softbandit.simulation import sweeps
from softbandit.simulation import worker_pool as pool

TESTS = str(Path(__file__).parent)
ENVIRONMENT = {**os.environ, "PYTHONPATH": TESTS, "RAY_DEDUP_LOGS": "0"}


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    """Worker processes find the tasks by their module's name."""
    monkeypatch.setenv("PYTHONPATH", TESTS)


@pytest.fixture(scope="module")
def dask():
    """A scheduler and two workers, each a process of its own."""
    run = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "8799", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": ENVIRONMENT}
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "tcp://127.0.0.1:8799", "--nthreads", "1"]
    processes = [subprocess.Popen(run, **quiet)]
    processes += [subprocess.Popen([*worker, "--nworkers", "2", "--no-dashboard"], **quiet)]
    _wait_for("127.0.0.1:8799")
    with distributed.Client("tcp://127.0.0.1:8799") as client:
        client.wait_for_workers(2, timeout=60)
    yield "dask://127.0.0.1:8799"
    for process in processes:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def ray():
    ray = [str(Path(sys.executable).parent / "ray")]
    options = ["--head", "--port=6398", "--num-cpus=2", "--include-dashboard=false", "--disable-usage-stats"]
    subprocess.run([*ray, "start", *options], check=True, capture_output=True, env=ENVIRONMENT)
    yield "ray://127.0.0.1:6398"
    subprocess.run([*ray, "stop", "--force"], check=True, capture_output=True)


def _wait_for(address):
    for _ in range(100):
        try:
            return pool.check_address("test", address, "")
        except sb.ClusterError:
            time.sleep(0.2)
    raise AssertionError(f"nobody listens at {address}")


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_task_is_done_once(jobs):
    found = list(pool.run_all(pool_tasks.square, list(range(20)), "local", jobs))
    assert sorted(found) == [(i, i * i) for i in range(20)]


def test_a_lost_process_loses_no_task(tmp_path):
    tasks = [(i, str(tmp_path)) for i in range(8)]
    assert sorted(pool.run_all(pool_tasks.die_once, tasks, "local", 2)) == [(i, i * i) for i in range(8)]
    assert (tmp_path / "died").exists()


def test_workers_that_die_again_and_again_are_given_up(tmp_path):
    with pytest.raises(sb.ClusterError, match="Workers were lost 4 times.*run the same command again"):
        list(pool.run_all(pool_tasks.die_always, [1, 2], "local", 2))


def test_a_task_that_fails_is_not_tried_again():
    with pytest.raises(ValueError, match="no 0"):
        list(pool.run_all(pool_tasks.refuse, [0, 0], "local", 2))


@pytest.mark.parametrize("cluster", ["dask", "ray"])
def test_a_cluster_does_every_task_and_survives_the_loss_of_a_worker(cluster, request, tmp_path):
    address = request.getfixturevalue(cluster)
    tasks = [(i, str(tmp_path)) for i in range(8)]
    assert sorted(pool.run_all(pool_tasks.die_once, tasks, address)) == [(i, i * i) for i in range(8)]
    assert (tmp_path / "died").exists()


@pytest.mark.parametrize("cluster", ["local", "dask", "ray"])
def test_a_sweep_gives_what_simulate_gives_to_the_bit(cluster, request):
    backend = "local" if cluster == "local" else request.getfixturevalue(cluster)
    problem = sb.problems.rkhs(arms=20, seed=1)
    policy = sb.CKB(**problem.settings(), horizon=30, explore="rand")
    runs = {"theory": (policy, problem), "scaled": (policy.replace(width_scale=0.2), problem)}
    steps = []
    traces = sb.sweep(runs, 5, seed=2, backend=backend, jobs=2, block=2, progress=lambda *step: steps.append(step))
    assert steps == [(i, 6) for i in range(1, 7)]  # three blocks of trials each
    for label, (own, _) in runs.items():
        alone = sb.simulate(own, problem, 5, seed=2)
        assert list(traces[label].trials) == list(range(5))
        for name in ("arms", "rewards", "costs", "dual", "reward_estimates", "cost_estimates"):
            np.testing.assert_array_equal(getattr(traces[label], name), getattr(alone, name))


@pytest.mark.parametrize(("trials", "jobs", "tasks"), [(4, 1, 2), (4, 2, 2), (4, 3, 4), (3, 8, 6), (120, 2, 6)])
def test_every_local_process_has_some_of_the_trials(trials, jobs, tasks, monkeypatch):
    """Two runs. 4 trials each, three processes: blocks of ceil(8 / 3) = 3, so two tasks a run; at most 50 a task."""
    problem = sb.problems.rkhs(arms=20, seed=1)
    policy = sb.CKB(**problem.settings(), horizon=2)
    here = pool.run_all  # with one job, whatever is asked for
    monkeypatch.setattr(sweeps, "run_all", lambda run, tasks, *_: here(run, tasks))
    steps = []
    runs = {"a": (policy, problem), "b": (policy, problem)}
    traces = sb.sweep(runs, trials, jobs=jobs, progress=lambda *step: steps.append(step))
    assert steps[-1] == (tasks, tasks)
    assert [len(trace.trials) for trace in traces.values()] == [trials, trials]
    sb.sweep(runs, trials, jobs=jobs, progress=lambda *step: steps.append(step), engine="jax")  # it uses every core
    assert steps[-1] == (2 * -(-trials // 50),) * 2


@pytest.mark.parametrize("backend", ["dask://127.0.0.1:1", "ray://127.0.0.1:1", "dask://nowhere", "ray://a:b"])
def test_a_cluster_that_does_not_answer_is_named(backend):
    with pytest.raises(sb.ClusterError, match=r"at .*: expected an answer, got none .*Start one with: (dask|ray)"):
        list(pool.run_all(pool_tasks.square, [1], backend))


@pytest.mark.parametrize("backend", ["dsk://127.0.0.1:1", "dask", "ray://", ""])
def test_a_backend_that_is_none_is_refused(backend):
    with pytest.raises(sb.ArgumentError, match="expected local, dask://ADDRESS or ray://ADDRESS"):
        sb.sweep({}, backend=backend)


@pytest.mark.parametrize(
    ("module", "backend", "extra"),
    [("joblib", "local", "sweep"), ("distributed", "dask://h:1", "dask"), ("ray", "ray://h:1", "ray")],
)
def test_what_is_not_installed_is_named(module, backend, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(sb.MissingExtraError, match=rf"pip install 'softbandit\[{extra}\]'"):
        list(pool.run_all(pool_tasks.square, [1, 2], backend, 2))


def test_bad_sweeps_are_refused():
    problem = sb.problems.rkhs(arms=20, seed=1)
    runs = {"a": (sb.CKB(**problem.settings(), horizon=5), problem)}
    for bad in ({"jobs": 0}, {"block": 0}, {"trials": 0}):
        with pytest.raises(sb.ArgumentError, match="expected a whole number"):
            sb.sweep(runs, **bad)
    with pytest.raises(sb.ArgumentError, match="at least one"):
        sb.sweep({})
