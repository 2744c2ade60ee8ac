"""The log of one tuner inside a transaction: read it, or append to it."""

from typing import Any

from softbandit.errors import needs_extra
from softbandit.tuner.events import DESCRIBES, Draft, Event, decode, encode, in_order
from softbandit.tuner.storage.tables import EVENTS, TUNERS

with needs_extra("sqlalchemy", "tuner"):
    from sqlalchemy import Connection, Select, func, select

STORED = (EVENTS.c.number, EVENTS.c.kind, EVENTS.c.ask, EVENTS.c.at, EVENTS.c.body)


class Log:
    """The log of one tuner inside a transaction."""

    def __init__(self, connection: Connection, row: Any, request: str) -> None:
        self.connection, self.request = connection, request
        self.tuner, self.last, self.described = row.id, row.last, row.described

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
        """Append events, whose numbers follow the last one."""
        events = [draft.at_number(number) for number, draft in enumerate(drafts, start=self.last + 1)]
        if events:
            self.connection.execute(EVENTS.insert(), [self._row(event) for event in events])
            self.last = events[-1].number
            self.described = max([self.described, *(event.number for event in events if event.kind in DESCRIBES)])
            update = TUNERS.update().where(TUNERS.c.id == self.tuner)
            self.connection.execute(update.values(last=self.last, described=self.described))
        return events

    def _row(self, event: Event) -> dict[str, Any]:
        stored = {"number": event.number, "kind": event.kind, "ask": event.ask, "at": event.at}
        return {"tuner": self.tuner, **stored, "body": encode(event.body), "request": self.request}

    def _read(self, query: Select[Any]) -> list[Event]:
        rows = self.connection.execute(query.where(EVENTS.c.tuner == self.tuner).order_by(EVENTS.c.number))
        return [decode(*row) for row in rows]
