"""Many independent tasks on the cores of this machine, or on a Dask or Ray cluster, by joblib.

A worker that is lost takes its tasks with it; they are run again, on workers that are left.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from softbandit.errors import ArgumentError, ClusterError, MissingExtraError, Words

Task = TypeVar("Task")
Result = TypeVar("Result")
Connection = AbstractContextManager[Any]

RETRIES = 3  # times that lost tasks are run again
WAIT = 10  # seconds for a cluster to answer
LOST = {
    "TerminatedWorkerError",
    "BrokenProcessPool",
    "KilledWorker",
    "CommClosedError",
    "RayActorError",
    "WorkerCrashedError",
    "NodeDiedError",
    "OutOfMemoryError",
}
"""What joblib, Dask and Ray raise when a worker is gone, by name: none of them need be installed."""


def run_all(
    function: Callable[[Task], Result], tasks: Sequence[Task], backend: str = "local", jobs: int = 1
) -> Iterator[tuple[int, Result]]:
    """(number of the task, function(task)) of each, as they are done.

    `backend` is "local", "dask://HOST:PORT" or "ray://HOST:PORT" ("ray://auto" for one that
    runs on this machine). Locally, `jobs` processes are used, or this one if it is 1.
    """
    connect = connection(backend)
    if backend == "local" and (jobs == 1 or len(tasks) < 2):
        yield from ((index, function(task)) for index, task in enumerate(tasks))
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
    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="3*n_jobs")
    yield from pool(delayed(_numbered)(function, index, task) for index, task in tasks)


def _numbered(function: Callable[[Any], Any], index: int, task: Any) -> tuple[int, Any]:
    return index, function(task)


def _is_loss(error: BaseException) -> bool:
    """Whether a worker was lost, rather than a task refused."""
    chain = [error, error.__cause__, error.__context__]
    return any(kind.__name__ in LOST for each in chain if each is not None for kind in type(each).__mro__)


def connection(backend: str) -> Callable[[], Connection]:
    """How to reach the workers; a name that is none is refused."""
    scheme, _, address = backend.partition("://")
    if not (backend == "local" or (scheme in ("dask", "ray") and address)):
        remedy = "For example dask://127.0.0.1:8786."
        raise ArgumentError.of("backend", "local, dask://ADDRESS or ray://ADDRESS", backend, remedy)
    try:
        import joblib  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError.of_extra("joblib", "sweep") from None
    return {"local": _local, "dask": lambda: _dask(address), "ray": lambda: _ray(address)}[scheme]


@contextmanager
def _local() -> Iterator[None]:
    from joblib import parallel_config

    with parallel_config(backend="loky"):
        yield


@contextmanager
def _dask(address: str) -> Iterator[None]:
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise MissingExtraError.of_extra("distributed", "dask") from None
    from joblib import parallel_config

    try:
        client = Client(f"tcp://{address}", timeout=WAIT)
    except (OSError, ValueError) as error:
        raise _unreachable("Dask scheduler", address, error, "dask scheduler, dask worker") from None
    with client, parallel_config(backend="dask", wait_for_workers_timeout=WAIT):
        yield


@contextmanager
def _ray(address: str) -> Iterator[None]:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ModuleNotFoundError:
        raise MissingExtraError.of_extra("ray", "ray") from None
    from joblib import parallel_config

    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, OSError, ValueError, RuntimeError) as error:
        raise _unreachable("Ray cluster", address, error, "ray start --head") from None
    register_ray()
    try:
        with parallel_config(backend="ray"):
            yield
    finally:
        ray.shutdown()


def _unreachable(what: str, address: str, error: Exception, start: str) -> ClusterError:
    got = Words(f"no answer ({type(error).__name__})")
    return ClusterError.of(f"{what} at {address}", "an answer", got, f"Is it running? Start it with: {start}.")
