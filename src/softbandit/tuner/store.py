"""The store: tuners by name, each with its log of events, and snapshots of what was learned from them.

Whoever appends to a log holds its lock until the transaction ends, so numbers have no gaps: on SQLite that of the
file, on PostgreSQL that of the tuner's row.
"""

import os
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from softbandit.errors import Description, StoreError, UnknownNameError, needs_extra
from softbandit.tuner.engine import connect, store_url
from softbandit.tuner.events import Draft, Event, decode, encode, in_order
from softbandit.tuner.retries import patiently
from softbandit.tuner.tables import EVENTS, SNAPSHOTS, TUNERS, migrate

with needs_extra("sqlalchemy", "tuner"):
    from sqlalchemy import Connection, Engine, Row, Select, func, select
    from sqlalchemy.exc import IntegrityError

T = TypeVar("T")

STORED = (EVENTS.c.number, EVENTS.c.kind, EVENTS.c.ask, EVENTS.c.at, EVENTS.c.body)


class Snapshot(NamedTuple):
    number: int
    version: str
    body: bytes


class Log:
    """The log of one tuner inside a transaction."""

    def __init__(self, connection: Connection, tuner: int, described: int, request: str) -> None:
        self.connection, self.tuner, self.described, self.request = connection, tuner, described, request

    def events(self, after: int = 0) -> list[Event]:
        found = self._read(select(*STORED).where(EVENTS.c.number > after))
        return list(in_order(found, after))

    def of_ask(self, ask: int) -> list[Event]:
        return self._read(select(*STORED).where(EVENTS.c.ask == ask))

    def of_request(self) -> list[Event]:
        """Return what an earlier attempt of the same call has written."""
        return self._read(select(*STORED).where(EVENTS.c.request == self.request))

    def description(self) -> Event:
        return self._read(select(*STORED).where(EVENTS.c.number == self.described))[0]

    def asks(self) -> int:
        """Return the number of asks, which is the id of the last one."""
        largest = select(func.max(EVENTS.c.ask)).where(EVENTS.c.tuner == self.tuner)
        return self.connection.execute(largest).scalar_one() or 0

    def append(self, *drafts: Draft) -> list[Event]:
        last = select(func.max(EVENTS.c.number)).where(EVENTS.c.tuner == self.tuner)
        first = (self.connection.execute(last).scalar_one() or 0) + 1
        now = time.time()
        events = [
            Event(number, draft.kind, draft.ask, now if draft.at is None else draft.at, draft.body)
            for number, draft in enumerate(drafts, start=first)
        ]
        if events:
            self.connection.execute(EVENTS.insert(), [self._row(event) for event in events])
        return events

    def describe(self, number: int) -> None:
        """Note which event holds the present description."""
        self.connection.execute(TUNERS.update().where(TUNERS.c.id == self.tuner).values(described=number))

    def _row(self, event: Event) -> dict[str, Any]:
        stored = {"number": event.number, "kind": event.kind, "ask": event.ask, "at": event.at}
        return {"tuner": self.tuner, **stored, "body": encode(event.body), "request": self.request}

    def _read(self, query: Select[Any]) -> list[Event]:
        rows = self.connection.execute(query.where(EVENTS.c.tuner == self.tuner).order_by(EVENTS.c.number))
        return [decode(*row) for row in rows]


class Store:
    """A database with tuners. Threads may share it; a forked process connects by itself."""

    def __init__(self, place: object, new: bool = True) -> None:
        url = store_url(place)
        self.place = url.render_as_string(hide_password=False)
        self.name = url.render_as_string(hide_password=True)
        self._engine: Engine = connect(url, new)
        self._process = os.getpid()
        weakref.finalize(self, _close, self._engine, self._process)
        self._patiently(lambda connection, _: migrate(connection), writes=True)

    # -- Tuners. --

    def names(self) -> list[str]:
        query = select(TUNERS.c.name).order_by(TUNERS.c.name)
        return self._patiently(lambda connection, _: list(connection.execute(query).scalars()))

    def create(self, name: str, drafts: Sequence[Draft]) -> bool:
        """Create a tuner with its first events; return False if that name is there already."""
        described = max(i for i, draft in enumerate(drafts, start=1) if "description" in draft.body)
        request = uuid.uuid4().hex

        def step(connection: Connection, _: int) -> bool:
            if _row_of(connection, name) is not None:
                return False
            row = TUNERS.insert().values(name=name, described=described).returning(TUNERS.c.id)
            tuner = connection.execute(row).scalar_one()
            Log(connection, tuner, described, request).append(*drafts)
            return True

        try:
            return self._patiently(step, writes=True)
        except StoreError as error:
            if isinstance(error.__cause__, IntegrityError):  # another process was faster
                return False
            raise

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

    # -- Snapshots. --

    def snapshots(self, name: str) -> list[Snapshot]:
        """Return the snapshots of a tuner, newest first."""

        def step(log: Log) -> list[Snapshot]:
            columns = (SNAPSHOTS.c.number, SNAPSHOTS.c.version, SNAPSHOTS.c.body)
            query = select(*columns).where(SNAPSHOTS.c.tuner == log.tuner).order_by(SNAPSHOTS.c.number.desc())
            return [Snapshot(*row) for row in log.connection.execute(query)]

        return self.read(name, step)

    def keep_snapshot(self, name: str, snapshot: Snapshot) -> None:
        """Store a snapshot in place of those before it."""

        def step(log: Log) -> list[Event]:
            of_tuner = SNAPSHOTS.c.tuner == log.tuner
            log.connection.execute(SNAPSHOTS.delete().where(of_tuner, SNAPSHOTS.c.number <= snapshot.number))
            log.connection.execute(SNAPSHOTS.insert().values(tuner=log.tuner, **snapshot._asdict()))
            return []

        self.write(name, step)

    # -- Transactions. --

    def _log(self, connection: Connection, name: str, request: str, lock: bool = False) -> Log:
        row = _row_of(connection, name, lock)
        if row is None:
            names = connection.execute(select(TUNERS.c.name)).scalars().all()
            if not names:
                remedy = "Create one with sb.Tuner(...), or check the path."
                raise StoreError.of(f"store {self.name}", f"a tuner {name!r}", Description("an empty one"), remedy)
            raise UnknownNameError.among("tuner", name, names)
        return Log(connection, row.id, row.described, request)

    def _patiently(self, step: Callable[[Connection, int], T], writes: bool = False) -> T:
        """Return what `step` returns, in a transaction of its own at each attempt."""

        def attempt(number: int) -> T:
            with self._transaction(writes) as connection:
                return step(connection, number)

        return patiently(f"store {self.name}", attempt)

    @contextmanager
    def _transaction(self, writes: bool) -> Iterator[Connection]:
        if os.getpid() != self._process:  # a forked process must not use its parent's connections
            self._engine.dispose(close=False)
            self._process = os.getpid()
        with self._engine.connect().execution_options(writes=writes) as connection, connection.begin():
            yield connection


def _row_of(connection: Connection, name: str, lock: bool = False) -> Row[Any] | None:
    query = select(TUNERS.c.id, TUNERS.c.described).where(TUNERS.c.name == name)
    return connection.execute(query.with_for_update() if lock else query).one_or_none()


def _close(engine: Engine, process: int) -> None:
    engine.dispose(close=os.getpid() == process)
