"""Linear algebra on one thread: for small matrices, several threads cost more than they save.

A round of Autopilot or on a continuous domain multiplies matrices of a few hundred rows many times, alternating
between NumPy's linear algebra library and SciPy's. On two busy cores their threads make a round ten times slower, and
learning fifty times. The package threadpoolctl limits them; without it nothing happens here, and
OPENBLAS_NUM_THREADS=1 in the environment has the same effect.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

_lock = threading.Lock()
_open: dict[object, int] = {}  # the contexts that are open, and the thread of each
_before: list[tuple[Any, int]] = []  # the libraries and how many threads they used, while a context is open


@contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra use one thread, if threadpoolctl is installed.

    The limit is one of the process. Of contexts that are open at the same time, in several threads, the first
    sets it, and the last to be left restores what was before.
    """
    context = object()
    try:  # entered before the limit is set, for an interrupt that comes just then
        with _lock:
            _open[context] = threading.get_ident()
            if not _before:
                _before.extend((library, library.num_threads) for library in _libraries())
                _set_threads([(library, 1) for library, _ in _before])
        yield
    finally:
        with _lock:
            _open.pop(context, None)
            _restore_after_the_last()


def _restore_after_the_last() -> None:
    if not _open:
        _set_threads(_before)
        _before.clear()


def _set_threads(counts: list[tuple[Any, int]]) -> None:
    """Set how many threads libraries use, from any thread.

    threadpoolctl gives control to the first thread that asks, and ignores all others. Here it goes to the thread that
    has the lock, and then to nobody.
    """
    for library, count in counts:
        give_up_control = getattr(library, "clear_controlling_thread", lambda force: None)
        give_up_control(force=True)
        library.set_num_threads(count)
        give_up_control(force=True)


@lru_cache(maxsize=1)
def _libraries() -> list[Any]:
    """Return NumPy's and SciPy's linear algebra libraries, or none without threadpoolctl."""
    try:
        from threadpoolctl import ThreadpoolController
    except ModuleNotFoundError:
        return []
    import_module("scipy.linalg")  # loads its library, so that it can be found

    return [found for found in ThreadpoolController().lib_controllers if found.user_api == "blas" and found.num_threads]


def _forked() -> None:
    """Forget the contexts of threads that a forked process does not have."""
    _lock.release()
    for context in [context for context, thread in _open.items() if thread != threading.get_ident()]:
        del _open[context]
    _restore_after_the_last()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_forked)
