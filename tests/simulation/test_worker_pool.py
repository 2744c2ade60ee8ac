"""Real workers: processes, a Dask cluster and a Ray cluster on this machine; some of them are killed."""

import re
import sys

import pytest
from softbandit_tests import pool_tasks

import softbandit as sb
from softbandit.errors import install_command
from softbandit.simulation import worker_pool
from softbandit.simulation.worker_pool import run_all

pytest.importorskip("joblib")
pytestmark = [pytest.mark.extra, pytest.mark.usefixtures("importable_by_workers")]


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_task_is_run_once(jobs):
    results = list(run_all(pool_tasks.square, list(range(20)), "local", jobs))
    assert sorted(results) == [(i, i * i) for i in range(20)]


def test_the_task_of_a_lost_process_is_run_again(tmp_path):
    tasks = [(i, str(tmp_path)) for i in range(8)]
    assert sorted(run_all(pool_tasks.die_once, tasks, "local", 2)) == [(i, i * i) for i in range(8)]
    assert (tmp_path / "died").exists()


@pytest.mark.slow
def test_a_run_ends_with_an_error_if_workers_are_lost_once_more_than_tasks_are_retried(monkeypatch):
    monkeypatch.setattr(worker_pool, "RETRIES", 1)
    with pytest.raises(sb.ClusterError, match="Workers were lost 2 times.*run the same command again"):
        list(run_all(pool_tasks.die_always, [1, 2], "local", 2))


def test_a_task_that_raises_is_not_run_again():
    with pytest.raises(ValueError, match="no 0"):
        list(run_all(pool_tasks.refuse, [0, 0], "local", 2))


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["dask", "ray"])
def test_a_cluster_runs_every_task_after_the_loss_of_a_worker(cluster, request, tmp_path):
    address = request.getfixturevalue(cluster)
    tasks = [(i, str(tmp_path)) for i in range(8)]
    assert sorted(run_all(pool_tasks.die_once, tasks, address)) == [(i, i * i) for i in range(8)]
    assert (tmp_path / "died").exists()


@pytest.mark.parametrize("backend", ["dask://127.0.0.1:1", "ray://127.0.0.1:1", "dask://nowhere", "ray://a:b"])
def test_the_error_of_a_cluster_that_does_not_answer_says_how_to_start_one(backend):
    with pytest.raises(sb.ClusterError, match=r"at .*: expected an answer, got none .*Start one with: (dask|ray)"):
        list(run_all(pool_tasks.square, [1], backend))


@pytest.mark.parametrize(
    ("module", "backend", "extra"),
    [("joblib", "local", "sweep"), ("distributed", "dask://h:1", "dask"), ("ray", "ray://h:1", "ray")],
)
def test_the_error_of_a_missing_package_says_what_to_install(module, backend, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(sb.MissingExtraError, match=re.escape(install_command(extra))):
        list(run_all(pool_tasks.square, [1, 2], backend, 2))
