"""The first report about an ask, appended while the log is locked as briefly as possible.

On PostgreSQL it is one statement, so that nobody waits for this process while it holds the lock.
"""

from typing import Any

from softbandit.errors import needs_extra
from softbandit.tuner.storage.tables import EVENTS, TUNERS

with needs_extra("sqlalchemy", "tuner"):
    from sqlalchemy import Connection, bindparam, select

IS_ASKED = select(EVENTS.c.number).where(EVENTS.c.tuner == TUNERS.c.id, EVENTS.c.ask == bindparam("ask")).exists()
IS_KNOWN = TUNERS.c.described == bindparam("known_description")

NEXT_NUMBER = (
    TUNERS.update()
    .where(TUNERS.c.name == bindparam("tuner_name"), IS_KNOWN, IS_ASKED)
    .values(last=TUNERS.c.last + 1)
    .returning(TUNERS.c.id, TUNERS.c.last)
)
"""Takes the tuner's lock, and returns no row if there is no such ask, or if the description has changed."""

FIELDS = ("kind", "ask", "at", "body", "request")
_ROW = NEXT_NUMBER.cte()
_VALUES = select(_ROW.c.id, _ROW.c.last, *(bindparam(name, type_=EVENTS.c[name].type) for name in FIELDS))
IN_ONE_STATEMENT = EVENTS.insert().from_select(["tuner", "number", *FIELDS], _VALUES).returning(EVENTS.c.number)


def append_first_report(connection: Connection, name: str, described: int, fields: dict[str, Any]) -> bool:
    """Append a report with those fields; return whether its ask exists and the description is the known one."""
    parameters = {"tuner_name": name, "known_description": described, **fields}
    if connection.dialect.name == "postgresql":
        return connection.execute(IN_ONE_STATEMENT, parameters).one_or_none() is not None
    row = connection.execute(NEXT_NUMBER, parameters).one_or_none()
    if row is not None:
        connection.execute(EVENTS.insert(), {"tuner": row.id, "number": row.last, **fields})
    return row is not None
