import builtins

import numpy as np
import pytest

from softbandit.backend import blas_threads


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
