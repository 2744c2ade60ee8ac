"""Linear algebra on one thread: for small matrices, several threads cost more than they save.

A round of Autopilot or on a continuous domain multiplies matrices of a few hundred rows many times, alternating
between NumPy's linear algebra library and SciPy's. On two busy cores their threads make a round ten times slower, and
learning fifty times. The package threadpoolctl limits them; without it nothing happens here, and
OPENBLAS_NUM_THREADS=1 in the environment has the same effect.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

_lock = threading.Lock()
_limits: list[Any] = []  # one per context that is open; all but the first are None


@contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra use one thread, if threadpoolctl is installed.

    The limit is one of the process. Of contexts that are open at the same time, in several threads, the first
    sets it, and the last to be left restores what was before.
    """
    controller = _controller()
    with _lock:
        _limits.append(controller.limit(limits=1, user_api="blas") if controller and not _limits else None)
    try:
        yield
    finally:
        with _lock:
            limit = _limits.pop()  # that of the first context comes last
            if limit is not None:
                limit.restore_original_limits()


@lru_cache(maxsize=1)
def _controller() -> Any:
    """Return the controller of both libraries, or None."""
    try:
        from threadpoolctl import ThreadpoolController
    except ModuleNotFoundError:
        return None
    import_module("scipy.linalg")  # loads its library, so that it can be found

    return ThreadpoolController()
