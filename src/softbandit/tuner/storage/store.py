"""The store: tuners by name, each with its log of events, and snapshots of what was learned from them.

Whoever appends to a log holds its lock until the transaction ends, so numbers have no gaps: on SQLite that of the
file, on PostgreSQL that of the tuner's row.
"""

import os
import uuid
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from softbandit.errors import Description, StoreError, UnknownNameError, needs_extra
from softbandit.tuner.events import Draft, Event, encode
from softbandit.tuner.storage import tables
from softbandit.tuner.storage.engine import connect, store_url
from softbandit.tuner.storage.log import Log
from softbandit.tuner.storage.reports import append_first_report
from softbandit.tuner.storage.retries import patiently
from softbandit.tuner.storage.snapshots import Snapshot
from softbandit.tuner.storage.tables import SNAPSHOTS, TUNERS, has_tables, migrate, stored_version

with needs_extra("sqlalchemy", "tuner"):
    from sqlalchemy import Connection, Engine, select
    from sqlalchemy.exc import IntegrityError

T = TypeVar("T")


class Store:
    """A database with tuners. Threads may share it; a forked process connects by itself."""

    def __init__(self, place: object, new: bool = True) -> None:
        url = store_url(place)
        self.place = url.render_as_string(hide_password=False)
        self.name = url.render_as_string(hide_password=True)
        self._engine: Engine = connect(url, new)
        self._process = os.getpid()
        weakref.finalize(self, _close, self._engine, self._process)
        self._prepare(new)

    def _prepare(self, new: bool) -> None:
        """Create or migrate the tables, unless they are as they should be already."""
        version = self._patiently(lambda connection, _: stored_version(connection) if has_tables(connection) else None)
        if version is None and not new:
            raise StoreError.of(f"store {self.name}", "a database with tuners", Description("another one"), "Check it.")
        if version != tables.VERSION:
            self._patiently(lambda connection, _: migrate(connection), writes=True)

    # -- Tuners. --

    def names(self) -> list[str]:
        query = select(TUNERS.c.name).order_by(TUNERS.c.name)
        return self._patiently(lambda connection, _: list(connection.execute(query).scalars()))

    def create(self, name: str, drafts: Sequence[Draft]) -> bool:
        """Create a tuner with its first events; return False if that name is there already."""
        request = uuid.uuid4().hex

        def step(connection: Connection, _: int) -> bool:
            if _row_of(connection, name) is not None:
                return False
            connection.execute(TUNERS.insert().values(name=name, last=0, described=0))
            Log(connection, _row_of(connection, name), request).append(*drafts)
            return True

        return self._unless_taken(step)

    # -- Events. --

    def read(self, name: str, step: Callable[[Log], T]) -> T:
        """Return what `step` reads from the log of a tuner."""
        return self._patiently(lambda connection, _: step(self._log(connection, name, "")))

    def write(self, name: str, step: Callable[[Log], list[Event]]) -> list[Event]:
        """Return the events that `step` appends to the log of a tuner, which nobody else changes meanwhile.

        It may be called several times. If the connection broke while its events were committed, they are found again.
        """
        request = uuid.uuid4().hex

        def attempt(connection: Connection, number: int) -> list[Event]:
            log = self._log(connection, name, request, lock=True)
            return (log.of_request() if number else []) or step(log)

        return self._patiently(attempt, writes=True)

    def report(self, name: str, draft: Draft, described: int) -> bool:
        """Append the first report about an ask, and hold the lock as briefly as possible.

        Return False, with nothing done, if there is no such ask, if it has a report, or if the description is not that
        of event `described`.
        """
        event = draft.at_number(0)
        fields = {"kind": event.kind, "ask": event.ask, "at": event.at, "body": encode(event.body), "request": ""}
        return self._unless_taken(
            lambda connection, _: append_first_report(connection, name, described, fields), single=True
        )

    # -- Snapshots. --

    def snapshots(self, name: str) -> list[Snapshot]:
        """Return the snapshots of a tuner, newest first."""

        def step(log: Log) -> list[Snapshot]:
            columns = (SNAPSHOTS.c.number, SNAPSHOTS.c.version, SNAPSHOTS.c.body)
            query = select(*columns).where(SNAPSHOTS.c.tuner == log.tuner).order_by(SNAPSHOTS.c.number.desc())
            return [Snapshot(*row) for row in log.connection.execute(query)]

        return self.read(name, step)

    def keep_snapshot(self, name: str, snapshot: Snapshot, every: int) -> None:
        """Store a snapshot in place of those before it, unless one has fewer than `every` events less."""

        def step(connection: Connection, _: int) -> None:
            tuner = self._log(connection, name, "").tuner
            of_tuner = SNAPSHOTS.c.tuner == tuner
            recent = select(SNAPSHOTS.c.number).where(of_tuner, SNAPSHOTS.c.number > snapshot.number - every)
            if connection.execute(recent).first() is None:
                connection.execute(SNAPSHOTS.delete().where(of_tuner))
                connection.execute(SNAPSHOTS.insert().values(tuner=tuner, **snapshot._asdict()))

        self._patiently(step, writes=True)

    # -- Transactions. --

    def _log(self, connection: Connection, name: str, request: str, lock: bool = False) -> Log:
        row = _row_of(connection, name, lock)
        if row is None:
            names = connection.execute(select(TUNERS.c.name)).scalars().all()
            if not names:
                remedy = "Create one with sb.Tuner or `softbandit tune init`, or check the path."
                raise StoreError.of(f"store {self.name}", f"a tuner {name!r}", Description("an empty one"), remedy)
            raise UnknownNameError.among("tuner", name, names)
        return Log(connection, row, request)

    def _unless_taken(self, step: Callable[[Connection, int], bool], single: bool = False) -> bool:
        """Return what `step` returns; False if another process has meanwhile written what there can be once."""
        try:
            return self._patiently(step, writes=True, single=single)
        except StoreError as error:
            if isinstance(error.__cause__, IntegrityError):
                return False
            raise

    def _patiently(self, step: Callable[[Connection, int], T], writes: bool = False, single: bool = False) -> T:
        """Return what `step` returns, in a new transaction at each attempt. `single` says that it is one statement."""
        options: dict[str, Any] = {"writes": writes}
        if single and self._engine.dialect.name == "postgresql":
            options["isolation_level"] = "AUTOCOMMIT"  # begin and commit in the same message

        def attempt(number: int) -> T:
            self._leave_connections_of_parent()
            with self._engine.connect().execution_options(**options) as connection, connection.begin():
                return step(connection, number)

        return patiently(f"store {self.name}", attempt)

    def _leave_connections_of_parent(self) -> None:
        """After a fork, open new connections: two processes must not use one connection."""
        if os.getpid() != self._process:
            self._engine.dispose(close=False)
            self._process = os.getpid()


def _row_of(connection: Connection, name: str, lock: bool = False) -> Any:
    query = select(TUNERS.c.id, TUNERS.c.last, TUNERS.c.described).where(TUNERS.c.name == name)
    return connection.execute(query.with_for_update() if lock else query).one_or_none()


def _close(engine: Engine, process: int) -> None:
    engine.dispose(close=os.getpid() == process)
