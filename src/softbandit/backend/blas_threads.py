"""Linear algebra on one thread: for small matrices, several threads cost more than they save.

A round on a continuous domain multiplies matrices of a few hundred rows many times, alternating
between NumPy's linear algebra library and SciPy's. On two busy cores their threads make it ten
times slower. The package threadpoolctl limits them; without it nothing happens here, and
OPENBLAS_NUM_THREADS=1 in the environment has the same effect.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from importlib import import_module
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which linear algebra uses one thread, if threadpoolctl is installed."""
    controller = _controller()
    if controller is None:
        return nullcontext()
    limited: AbstractContextManager[Any] = controller.limit(limits=1, user_api="blas")
    return limited


@lru_cache(maxsize=1)
def _controller() -> Any:
    """Return the controller of both libraries, or None."""
    try:
        from threadpoolctl import ThreadpoolController
    except ModuleNotFoundError:
        return None
    import_module("scipy.linalg")  # loads its library, so that it can be found

    return ThreadpoolController()
