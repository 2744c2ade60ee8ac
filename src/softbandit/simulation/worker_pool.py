"""Many independent tasks on the cores of this machine, or on a Dask or Ray cluster, with joblib.

The tasks of a lost worker are run again on the workers that are left.
"""

import logging
import socket
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from importlib import import_module
from typing import Any, TypeVar

from softbandit import validation
from softbandit.errors import ArgumentError, ClusterError, Description, needs_extra

Task = TypeVar("Task")
Result = TypeVar("Result")

RETRIES = 3  # of lost tasks
WAIT = 10  # seconds for a cluster to answer
_inside_task = ContextVar("inside_task", default=False)
LOST = {"TerminatedWorkerError", "BrokenProcessPool"}  # joblib
LOST |= {"KilledWorker", "CommClosedError"}  # Dask
LOST |= {"RayActorError", "WorkerCrashedError", "NodeDiedError", "OutOfMemoryError"}  # Ray
"""Names of the errors that joblib, Dask and Ray raise if a worker is lost: none of them need be installed."""


def run_all(
    function: Callable[[Task], Result], tasks: Sequence[Task], backend: str = "local", jobs: int = 1
) -> Iterator[tuple[int, Result]]:
    """Iterate over (number of the task, function(task)), in order of completion.

    `backend` is "local", "dask://HOST:PORT" or "ray://HOST:PORT" ("ray://auto" for a cluster
    on this machine). Locally, `jobs` processes are used, or this one if it is 1.
    """
    connect = connection(backend)
    if backend == "local" and (jobs == 1 or len(tasks) < 2):
        yield from (_numbered(function, index, task) for index, task in enumerate(tasks))
        return
    waiting = dict(enumerate(tasks))
    for attempt in range(1 + RETRIES):
        try:
            with connect():
                for index, result in _submit(function, list(waiting.items()), jobs if backend == "local" else -1):
                    del waiting[index]
                    yield index, result
            return
        except Exception as error:
            if not _is_loss(error):
                raise
            if attempt == RETRIES:
                raise ClusterError(
                    f"Workers were lost {attempt + 1} times ({type(error).__name__}), perhaps for lack of memory. What "
                    "was finished is kept: run the same command again, with fewer jobs if memory is short."
                ) from error


def _submit(function: Callable[[Any], Any], tasks: Sequence[tuple[int, Any]], jobs: int) -> Iterator[tuple[int, Any]]:
    """Iterate over results as they arrive or, if a backend cannot do that, in waves of two tasks per worker."""
    from joblib import Parallel, delayed, effective_n_jobs
    from joblib.parallel import get_active_backend

    calls = [delayed(_numbered)(function, index, task) for index, task in tasks]
    if get_active_backend()[0].supports_return_generator:
        with warnings.catch_warnings():  # joblib replaces a worker whose memory has grown
            warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
            yield from Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(calls)
        return
    wave = 2 * effective_n_jobs(jobs)
    with Parallel(n_jobs=jobs, batch_size=1) as pool:  # one pool for all waves
        for first in range(0, len(calls), wave):
            yield from pool(calls[first : first + wave])


def _numbered(function: Callable[[Any], Any], index: int, task: Any) -> tuple[int, Any]:
    before = _inside_task.set(True)
    try:
        return index, function(task)
    finally:
        _inside_task.reset(before)


def inside_task() -> bool:
    """Return whether this is called by a task of `run_all`, which must not start processes of its own."""
    return _inside_task.get()


def _is_loss(error: BaseException) -> bool:
    """Return whether a worker was lost, rather than a task failed."""
    chain = [error, error.__cause__, error.__context__]
    kinds = (kind for link in chain if link is not None for kind in type(link).__mro__)
    return any(kind.__name__ in LOST for kind in kinds)


def connection(backend: str) -> Callable[[], AbstractContextManager[None]]:
    """Return the context in which joblib reaches the workers; refuse an unknown backend."""
    scheme, _, address = validation.text("backend", backend).partition("://")
    if not (backend == "local" or (scheme in ("dask", "ray") and address)):
        remedy = "For example dask://127.0.0.1:8786."
        raise ArgumentError.of("backend", "local, dask://ADDRESS or ray://ADDRESS", backend, remedy)
    with needs_extra("joblib", "sweep"):
        import_module("joblib")
    return lambda: _connected(scheme, address)


@contextmanager
def _connected(scheme: str, address: str) -> Iterator[None]:
    from joblib import parallel_config

    cluster = {"dask": _dask, "ray": _ray}.get(scheme, nullcontext)
    with cluster(address), parallel_config(backend="loky" if scheme == "local" else scheme):
        yield


@contextmanager
def _dask(address: str) -> Iterator[None]:
    with needs_extra("distributed", "dask"):
        from distributed import Client
    check_address("Dask scheduler", address, "dask scheduler; dask worker ADDRESS")
    with Client(f"tcp://{address}", timeout=WAIT) as client:
        try:
            client.wait_for_workers(1, timeout=WAIT)
        except TimeoutError:
            remedy = f"Start some with: dask worker tcp://{address}"
            raise ClusterError.of(f"Dask scheduler at {address}", "workers", Description("none"), remedy) from None
        yield


@contextmanager
def _ray(address: str) -> Iterator[None]:
    with needs_extra("ray", "ray"):
        import ray
        from ray.util.joblib import register_ray
    if address != "auto":
        check_address("Ray cluster", address, "ray start --head")
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError:
        got = Description("none")
        raise ClusterError.of("Ray", "a cluster on this machine", got, "Run: ray start --head") from None
    register_ray()
    try:
        yield
    finally:
        ray.shutdown()


def check_address(what: str, address: str, start: str) -> None:
    """Refuse an address that does not answer at once; a client would wait for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=WAIT).close()
    except (OSError, ValueError, OverflowError) as error:
        got = Description(f"none ({error})")
        raise ClusterError.of(f"{what} at {address}", "an answer", got, f"Start one with: {start}") from None
