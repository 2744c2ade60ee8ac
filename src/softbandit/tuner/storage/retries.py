"""Retries after errors of a database that pass by themselves, and remedies for those that do not."""

import itertools
import secrets
import time
from collections.abc import Callable
from typing import TypeVar

from softbandit.errors import StoreError, needs_extra

with needs_extra("sqlalchemy", "tuner"):
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

T = TypeVar("T")

PATIENCE = 30.0  # seconds until a call gives up
LOCKED_PAUSE = 0.002  # seconds between two attempts while others write
BROKEN_PAUSE = 0.1  # between two attempts to reach a database

LOCKED = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")
TRANSIENT = ("08", "40", "55P03", "57P", "25P03", "53300")
"""PostgreSQL's states, by how they start: connections, conflicts, locks, shutdowns, time-outs, too many clients."""

REFUSED = ("does not exist", "authentication failed", "no pg_hba.conf entry")
"""Parts of PostgreSQL's answers to a connection that it will refuse again; they come without a state."""

REMEDIES = {
    "SQLITE_FULL": "The disk is full: free some space.",
    "SQLITE_READONLY": "The file or its folder is read-only: check their permissions.",
    "SQLITE_CANTOPEN": "Check that the folder exists and may be written.",
    "SQLITE_PERM": "Check the permissions of the file and its folder.",
    "SQLITE_AUTH": "Check the permissions of the file and its folder.",
    "SQLITE_NOTADB": "It is no SQLite file, or a damaged one: restore the tuners from exports into a new store.",
    "SQLITE_CORRUPT": "The file is damaged: restore the tuners from exports into a new store.",
    "SQLITE_IOERR": "The disk may be full or failing: check it.",
    "53100": "The server's disk is full: free some space there.",
    "42501": "Grant the user the right to create and write tables.",
    "25006": "The database is read-only: use the primary server.",
}
"""Remedies for errors that do not pass, by how the name or state of each starts."""


def patiently(what: str, attempt: Callable[[int], T]) -> T:
    """Return what `attempt` returns, given 0, 1, 2 ...; repeat it after an error that passes by itself."""
    end = time.monotonic() + PATIENCE
    for number in itertools.count():
        try:
            return attempt(number)
        except SQLAlchemyError as error:
            if not _passes(error) or time.monotonic() > end:
                raise _store_error(what, error) from error
            pause = LOCKED_PAUSE if _state(error).startswith(LOCKED) else BROKEN_PAUSE
        time.sleep(pause * (0.5 + secrets.randbelow(1000) / 1000))  # processes that wait come at different times
    raise AssertionError("unreachable")


def _state(error: SQLAlchemyError) -> str:
    """Return SQLite's name of an error, or PostgreSQL's state; empty if the database did not answer."""
    original = getattr(error, "orig", None)
    return str(getattr(original, "sqlite_errorname", None) or getattr(original, "sqlstate", None) or "")


def _passes(error: SQLAlchemyError) -> bool:
    if not isinstance(error, DBAPIError) or any(words in str(error.orig) for words in REFUSED):
        return False
    state = _state(error)
    is_broken = error.connection_invalidated or (not state and type(error.orig).__name__ == "OperationalError")
    return is_broken or state.startswith(LOCKED + TRANSIENT)


def _store_error(what: str, error: SQLAlchemyError) -> StoreError:
    state = _state(error)
    reason = " ".join(str(getattr(error, "orig", None) or error).split())[:200]
    if _passes(error):
        return StoreError(f"{what}: no answer for {PATIENCE:g} s: {reason}. Check the database, then call again.")
    known = [remedy for start, remedy in REMEDIES.items() if state.startswith(start)]
    return StoreError(f"{what}: {reason}. {known[0] if known else 'Check the database and its URL.'}")
