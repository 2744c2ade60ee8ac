"""Small matrices on one thread: threads that wait for one another cost more than they bring.

A round on a continuous domain multiplies matrices of some hundred rows, again and again, now
in NumPy's linear algebra library and now in SciPy's. On two busy cores their threads make it
ten times slower. The package threadpoolctl can hold them back; without it nothing happens here,
and OPENBLAS_NUM_THREADS=1 in the environment does the same.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Linear algebra on one thread, in a `with` block, where threadpoolctl is installed."""
    controller = _controller()
    if controller is None:
        return nullcontext()
    limited: AbstractContextManager[Any] = controller.limit(limits=1, user_api="blas")
    return limited


@lru_cache(maxsize=1)
def _controller() -> Any:
    """What controls the libraries, once both are loaded."""
    try:
        from threadpoolctl import ThreadpoolController
    except ModuleNotFoundError:
        return None
    import scipy.linalg  # noqa: F401  (so that its library is loaded, and found)

    return ThreadpoolController()
