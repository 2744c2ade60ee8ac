import builtins

import numpy as np
import pytest

import softbandit as sb
from softbandit.backend import blas_threads


def fit(_):
    x = np.linspace(0, 1, 20)
    sb.fit(sb.Matern(0.3), x[:, None], np.sin(9 * x), restarts=0)


def play(agent, rounds=6):
    for t in range(rounds):
        agent.tell(agent.ask(), reward=t % 3, cost=t % 2 - 0.5)


def play_arms(_):
    play(sb.Agent(sb.Autopilot(np.linspace(0, 1, 9)[:, None])))


def play_box(_):
    play(sb.Agent(sb.Autopilot(sb.Box([0.0], [1.0]))))


def raise_a_limit(_):
    agent = sb.Agent(sb.Autopilot(np.linspace(0, 1, 9)[:, None]))
    play(agent)
    agent.with_limits_raised(by=1.0)


def tune(folder):
    tuner = sb.Tuner("t", space={"n": sb.Integer(1, 9)}, maximize="rows", store=folder / "t.db")
    for t in range(12):
        tuner.tell(tuner.ask(), rows=t % 3)


@pytest.mark.parametrize("work", [fit, play_arms, play_box, raise_a_limit, pytest.param(tune, marks=pytest.mark.extra)])
def test_learning_uses_one_thread(work, tmp_path, monkeypatch):
    """On several it takes ten seconds in place of a tenth if the machine is busy."""
    limited, factorise = [], np.linalg.cholesky

    def recorded(A):
        limited.append(bool(blas_threads._limits))
        return factorise(A)

    monkeypatch.setattr(np.linalg, "cholesky", recorded)
    work(tmp_path)
    assert limited
    assert all(limited)
    assert not blas_threads._limits


@pytest.mark.extra
def test_linear_algebra_uses_one_thread_inside_the_context_and_as_many_as_before_after_it():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def thread_counts():
        return [library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]

    np.ones((2, 2)) @ np.ones((2, 2))
    with blas_threads.one_thread():
        assert set(thread_counts()) == {1}
    before = thread_counts()
    with blas_threads.one_thread():
        pass
    assert thread_counts() == before


def test_one_thread_does_nothing_if_threadpoolctl_is_not_installed(monkeypatch):
    real_import = builtins.__import__

    def import_without_threadpoolctl(name, *arguments):
        if name == "threadpoolctl":
            raise ModuleNotFoundError(name)
        return real_import(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", import_without_threadpoolctl)
    blas_threads._controller.cache_clear()
    with blas_threads.one_thread() as limits:
        assert limits is None
    blas_threads._controller.cache_clear()


def test_contexts_of_several_threads_restore_the_limit_when_the_last_is_left(monkeypatch):
    threads = 4

    class Limit:
        def __init__(self, limits, user_api):
            nonlocal threads
            self.before, threads = threads, limits

        def restore_original_limits(self):
            nonlocal threads
            threads = self.before

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.restore_original_limits()

    class Controller:
        limit = Limit

    monkeypatch.setattr(blas_threads, "_controller", Controller)
    one, other = blas_threads.one_thread(), blas_threads.one_thread()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert threads == 1
    other.__exit__(None, None, None)
    assert threads == 4
