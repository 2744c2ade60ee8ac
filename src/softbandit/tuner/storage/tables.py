"""The tables of a store, the version of their schema, and the steps from each version to the next."""

from collections.abc import Callable

from softbandit.errors import Description, StoreError, needs_extra

with needs_extra("sqlalchemy", "tuner"):
    from sqlalchemy import (
        BigInteger,
        Column,
        Connection,
        Float,
        ForeignKey,
        Index,
        Integer,
        LargeBinary,
        MetaData,
        Table,
        Text,
        inspect,
        select,
        text,
    )

METADATA = MetaData()

SCHEMA = Table("softbandit_schema", METADATA, Column("version", Integer, nullable=False))

TUNERS = Table(
    "softbandit_tuners",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("last", BigInteger, nullable=False),  # the number of the last event
    Column("described", BigInteger, nullable=False),  # the number of the event with the present description
)

EVENTS = Table(
    "softbandit_events",
    METADATA,
    Column("tuner", ForeignKey(TUNERS.c.id), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("ask", BigInteger),
    Column("at", Float(53), nullable=False),
    Column("body", Text, nullable=False),
    Column("request", Text, nullable=False),  # of the call that wrote it, so that a retry finds what it wrote
    Index("softbandit_events_by_ask", "tuner", "ask"),
    sqlite_with_rowid=False,
)

IS_REPORT = EVENTS.c.kind.in_(["told", "failed"])
Index(
    "softbandit_one_report",
    EVENTS.c.tuner,
    EVENTS.c.ask,
    unique=True,
    sqlite_where=IS_REPORT,
    postgresql_where=IS_REPORT,
)

SNAPSHOTS = Table(
    "softbandit_snapshots",
    METADATA,
    Column("tuner", ForeignKey(TUNERS.c.id), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),  # of the last event that it knows
    Column("version", Text, nullable=False),  # of the library that learned it
    Column("body", LargeBinary, nullable=False),
)

MIGRATIONS: dict[int, Callable[[Connection], None]] = {}
"""From each version, the step to the next. A store without tables gets the present ones at once."""

VERSION = 1
ADVISORY_LOCK = 7_306_355_810_419_521_635  # any number that other programs are unlikely to lock


def has_tables(connection: Connection) -> bool:
    return inspect(connection).has_table(SCHEMA.name)


def migrate(connection: Connection) -> None:
    """Bring the tables to the present version, in one transaction: processes that start at once do it once."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({ADVISORY_LOCK})"))
    if not has_tables(connection):
        METADATA.create_all(connection)
        connection.execute(SCHEMA.insert().values(version=VERSION))
        return
    version = stored_version(connection)
    for step in range(version, VERSION):
        MIGRATIONS[step](connection)
    if version < VERSION:
        connection.execute(SCHEMA.update().values(version=VERSION))


def stored_version(connection: Connection) -> int:
    """Return the version of a store's tables; refuse one that this library cannot use."""
    versions = connection.execute(select(SCHEMA.c.version)).scalars().all()
    version = versions[0] if len(versions) == 1 else None
    if version == VERSION or version in MIGRATIONS:
        return int(version)
    if version is not None and version > VERSION:
        remedy = "A newer softbandit wrote it: update softbandit."
        raise StoreError.of("store", f"a schema of version {VERSION} or earlier", Description(f"{version}"), remedy)
    remedy = "It is damaged: restore each tuner from an export into a new store."
    raise StoreError.of("store", "one version of its schema", Description(f"{versions}"), remedy)
