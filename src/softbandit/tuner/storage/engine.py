"""Connections to a store: a SQLite file, or a PostgreSQL database.

SQLite: a write-ahead log, synced to disk at each commit; a transaction that writes takes the file's lock at its start.
PostgreSQL: nobody waits for ever, neither for a host that has vanished nor for a lock of one that has.
"""

import os
import sqlite3
import time
from typing import Any

from softbandit import validation
from softbandit.atomic_write import real_path
from softbandit.errors import ArgumentError, StoreError, needs_extra

with needs_extra("sqlalchemy", "tuner"):
    from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
    from sqlalchemy.exc import ArgumentError as UrlError

IN_MEMORY = ":memory:"  # as SQLite calls it
DIALECTS = ("sqlite", "postgresql")
REMEDY = 'Pass the path of a file, or a URL such as "postgresql://user@host/database".'

KEEPALIVE = {"keepalives_idle": 5, "keepalives_interval": 3, "keepalives_count": 3, "tcp_user_timeout": 15_000}
LOCK_PATIENCE = 20  # seconds
SERVER = {
    "synchronous_commit": "on",  # what was acknowledged is on disk
    "lock_timeout": f"{LOCK_PATIENCE}s",
    "idle_in_transaction_session_timeout": f"{LOCK_PATIENCE}s",
}


def store_url(place: Any) -> URL:
    """Return the URL of a store that is given as a path or as a URL."""
    if not isinstance(place, str):
        return URL.create("sqlite", database=_file_name(place))
    if place == IN_MEMORY:
        raise _lost(place)
    if "://" not in place:
        return URL.create("sqlite", database=_file_name(place))
    try:
        url = make_url(place)
        dialect = url.get_backend_name()
    except (UrlError, ValueError):
        raise ArgumentError.of("store", "a path or a URL", place, REMEDY) from None
    if dialect not in DIALECTS:
        raise ArgumentError.of("store", f"a database of {' or '.join(DIALECTS)}", dialect, REMEDY)
    if dialect == "sqlite" and url.database in (None, "", IN_MEMORY):
        raise _lost(place)
    return url.set(drivername="sqlite" if dialect == "sqlite" else "postgresql+psycopg")


def _lost(place: str) -> ArgumentError:
    return ArgumentError.of("store", "the path of a file", place, "What is in memory would be lost: name a file.")


def _file_name(place: Any) -> str:
    """Return the absolute path of a file, which stays the same if the working directory changes."""
    name = str(real_path(validation.path("store", place)))
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ArgumentError.of("store", "a path in UTF-8, as SQLite needs", place, "Rename the file.") from None
    return name


def connect(url: URL, new: bool) -> Engine:
    """Return an engine, which connects when it is used; unless it may be new, a file must exist."""
    if url.get_backend_name() == "sqlite":
        path = url.database or ""
        if not os.path.isfile(path) and (os.path.exists(path) or not new):
            raise StoreError.of("store", "a file with tuners", path, "Check the path, or create a tuner there.")
        engine = create_engine(url, max_overflow=-1, connect_args={"timeout": 0, "check_same_thread": False})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        settings = " ".join(f"-c {name}={value}" for name, value in SERVER.items())
        arguments = {"connect_timeout": 5, "options": settings, **KEEPALIVE}
        with needs_extra("psycopg", "postgres"):
            engine = create_engine(url, max_overflow=-1, isolation_level="READ COMMITTED", connect_args=arguments)
    return engine


def _prepare_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction; if it writes, wait for the others that do."""
    writes = connection.get_execution_options().get("writes", False)
    start = time.monotonic()
    while writes and time.monotonic() - start < LOCK_PATIENCE:
        try:
            connection.connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                break
        time.sleep(_pause(time.monotonic() - start))
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _pause(waited: float) -> float:
    """Return the seconds until the next look at a lock.

    Whoever has waited for longer looks more often, so that turns are almost in order; but after a second the lock is
    held for long, and looking often would only take time from its holder. SQLite's own waiting does the opposite.
    """
    return 0.005 if waited > 1 else max(0.0005, 0.003 - 0.2 * waited)
