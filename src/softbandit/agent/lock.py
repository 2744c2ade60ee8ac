"""A lock whose owner can be copied."""

import threading


class Lock:
    """A lock that its owner's deep copies and pickles replace by one of their own.

    Shallow copies share it, as they share the rows of their record. It is reentrant, so that a signal handler can save.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type["Lock"], tuple[()]]:
        return Lock, ()
