import numpy as np
import pytest

import softbandit as sb
from softbandit.simulation import sweeps, worker_pool
from softbandit.simulation.rounds import COLUMNS

pytest.importorskip("joblib")
pytestmark = [pytest.mark.extra, pytest.mark.usefixtures("importable_by_workers")]

PROBLEM = sb.problems.rkhs(arms=20, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["local", "dask", "ray"])
def test_a_sweep_returns_the_traces_of_simulate_to_the_bit(cluster, request):
    backend = "local" if cluster == "local" else request.getfixturevalue(cluster)
    policy = sb.CKB(**PROBLEM.settings(), horizon=30, explore="rand")
    policies = {"theory": policy, "scaled": policy.replace(width_scale=0.2)}
    runs = {label: (policy, PROBLEM) for label, policy in policies.items()}
    reports = []
    traces = sb.sweep(runs, 5, seed=2, backend=backend, jobs=2, block=2, progress=lambda *done: reports.append(done))
    assert reports == [(i, 6) for i in range(1, 7)]  # three blocks of trials per run
    for label, policy in policies.items():
        alone = sb.simulate(policy, PROBLEM, 5, seed=2)
        assert list(traces[label].trials) == list(range(5))
        for name in ("arms", *COLUMNS):
            np.testing.assert_array_equal(getattr(traces[label], name), getattr(alone, name))


@pytest.mark.parametrize(("trials", "jobs", "tasks"), [(4, 1, 2), (4, 2, 2), (4, 3, 4), (3, 8, 6), (120, 2, 6)])
def test_trials_are_spread_over_the_local_processes(trials, jobs, tasks, monkeypatch):
    """Two runs. With 4 trials per run and three processes, blocks have ceil(8 / 3) = 3 trials, so each run takes two
    tasks. A task has at most 50 trials."""
    assert count_tasks(trials, jobs, "numpy", monkeypatch) == tasks


@pytest.mark.parametrize(("trials", "tasks"), [(4, 2), (100, 4)])
def test_compiled_trials_are_not_spread_over_processes(trials, tasks, monkeypatch):
    """JAX uses every core itself: only blocks of 50 trials are separate tasks, which share a program."""
    pytest.importorskip("jax")
    assert count_tasks(trials, 8, "jax", monkeypatch) == tasks


def count_tasks(trials, jobs, engine, monkeypatch):
    """Return the number of tasks of a sweep of two runs, which is run in this process."""
    policy = sb.CKB(**PROBLEM.settings(), horizon=2)
    run_here = worker_pool.run_all
    monkeypatch.setattr(sweeps, "run_all", lambda run, tasks, *_: run_here(run, tasks))
    reports = []
    runs = {"a": (policy, PROBLEM), "b": (policy, PROBLEM)}
    traces = sb.sweep(runs, trials, jobs=jobs, engine=engine, progress=lambda *done: reports.append(done))
    assert [len(trace.trials) for trace in traces.values()] == [trials, trials]
    assert reports[-1][0] == reports[-1][1]
    return reports[-1][1]


@pytest.mark.parametrize("backend", ["dsk://127.0.0.1:1", "dask", "ray://", ""])
def test_an_unknown_backend_is_refused(backend):
    with pytest.raises(sb.ArgumentError, match="expected local, dask://ADDRESS or ray://ADDRESS"):
        sb.sweep({}, backend=backend)


def test_bad_arguments_of_sweep_are_refused():
    runs = {"a": (sb.CKB(**PROBLEM.settings(), horizon=5), PROBLEM)}
    for bad in ({"jobs": 0}, {"block": 0}, {"trials": 0}):
        with pytest.raises(sb.ArgumentError, match="expected a whole number"):
            sb.sweep(runs, **bad)
    with pytest.raises(sb.ArgumentError, match="at least one"):
        sb.sweep({})


@pytest.mark.parametrize("options", [{"draws": "device"}, {"precision": "float32"}, {"engine": "jaxx"}], ids=str)
def test_options_that_the_engine_does_not_have_are_refused_before_any_run(options):
    problem = sb.problems.rkhs(arms=20, seed=1)
    with pytest.raises(sb.ArgumentError, match=next(iter(options))):
        sb.sweep({"a": (sb.CKB(**problem.settings(), horizon=2), problem)}, jobs=1, **options)
