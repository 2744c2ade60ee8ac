import builtins
import os
import threading
from contextlib import suppress

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
        limited.append(bool(blas_threads._open))
        return factorise(A)

    monkeypatch.setattr(np.linalg, "cholesky", recorded)
    work(tmp_path)
    assert limited
    assert all(limited)
    assert not blas_threads._open


@pytest.fixture
def thread_counts():
    """How many threads linear algebra uses, now; before and after the test they are three."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with blas_threads.one_thread():
        pass  # SciPy's library is loaded

    def counts():
        return {library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"}

    with threadpoolctl.threadpool_limits(3, user_api="blas"):
        assert counts() == {3}
        yield counts
        assert counts() == {3}
    assert not blas_threads._open


@pytest.mark.extra
def test_linear_algebra_uses_one_thread_inside_the_context_and_as_many_as_before_after_it(thread_counts):
    with blas_threads.one_thread(), blas_threads.one_thread():
        assert thread_counts() == {1}
    assert thread_counts() == {3}
    with suppress(KeyError), blas_threads.one_thread():
        raise KeyError
    assert thread_counts() == {3}


@pytest.mark.extra
def test_contexts_of_several_threads_restore_the_limit_when_the_last_is_left(thread_counts):
    entered, leave, inside = threading.Event(), threading.Event(), []

    def work():
        with blas_threads.one_thread():
            entered.set()
            leave.wait(60)
            inside.append(thread_counts())

    worker = threading.Thread(target=work)
    with blas_threads.one_thread():
        worker.start()
        entered.wait(60)
    assert thread_counts() == {1}
    leave.set()
    worker.join()
    assert inside == [{1}]


@pytest.mark.extra
def test_a_context_in_another_thread_is_limited_and_leaves_the_limits_of_others_alone(thread_counts):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    seen = []

    def work():
        with blas_threads.one_thread():
            seen.append(thread_counts())
        with threadpoolctl.threadpool_limits(2, user_api="blas"):
            seen.append(thread_counts())

    with blas_threads.one_thread():
        pass
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert seen == [{1}, {2}]


@pytest.mark.extra
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_has_only_its_own_contexts(thread_counts):
    entered, leave = threading.Event(), threading.Event()

    def work():
        with blas_threads.one_thread():
            entered.set()
            leave.wait(60)

    def forked():
        """Return what a forked process sees: at once, in a context, and after it."""
        reader, writer = os.pipe()
        if not os.fork():
            try:
                counts = [thread_counts()]
                with blas_threads.one_thread():
                    counts.append(thread_counts())
                counts.append(thread_counts())
                os.write(writer, repr([*counts, len(blas_threads._open)]).encode())
            finally:
                os._exit(0)
        os.wait()
        os.close(writer)
        with open(reader) as answer:
            return answer.read()

    worker = threading.Thread(target=work)
    worker.start()
    entered.wait(60)
    assert forked() == "[{3}, {1}, {3}, 0]"
    with blas_threads.one_thread():
        assert forked() == "[{1}, {1}, {1}, 1]"
    leave.set()
    worker.join()


def test_one_thread_does_nothing_if_threadpoolctl_is_not_installed(monkeypatch):
    real_import = builtins.__import__

    def import_without_threadpoolctl(name, *arguments):
        if name == "threadpoolctl":
            raise ModuleNotFoundError(name)
        return real_import(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", import_without_threadpoolctl)
    blas_threads._libraries.cache_clear()
    with blas_threads.one_thread() as limits:
        assert limits is None
    blas_threads._libraries.cache_clear()
