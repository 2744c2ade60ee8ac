import builtins

import numpy as np
import pytest

from softbandit.backend import blas_threads as threads


def test_linear_algebra_keeps_to_one_thread_and_is_given_back():
    control = pytest.importorskip("threadpoolctl")

    def counts():
        return [each["num_threads"] for each in control.threadpool_info() if each["user_api"] == "blas"]

    np.ones((2, 2)) @ np.ones((2, 2))
    with threads.one_thread():
        assert set(counts()) == {1}
    before = counts()
    with threads.one_thread():
        pass
    assert counts() == before


def test_without_the_package_nothing_happens(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "threadpoolctl":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    threads._controller.cache_clear()
    with threads.one_thread() as nothing:
        assert nothing is None
    threads._controller.cache_clear()
