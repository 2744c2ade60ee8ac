"""A tuner's log as a file of JSON lines: a header, one line per event, and a digest of the lines before.

{"softbandit": "tuner", "version": 1, "name": "ingest"}
{"number": 1, "kind": "created", "ask": null, "at": 1767225600.0, "body": {"description": ...}}
...
{"events": 1, "sha256": "..."}
"""

import hashlib
import json
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from softbandit.atomic_write import replacing
from softbandit.errors import Description, FileError, SoftbanditError, StoreError
from softbandit.tuner.events import Draft, Event, decode, encode, in_order
from softbandit.tuner.rounds import Rounds

VERSION = 1
DAMAGED = "The file is damaged: export the tuner again."


def write_log(path: str | PathLike[str], name: str, events: Iterable[Event]) -> None:
    """Write a whole file, or none."""
    lines = [json.dumps({"softbandit": "tuner", "version": VERSION, "name": name})]
    lines += [json.dumps(vars(event)) for event in events]
    content = "".join(f"{line}\n" for line in lines).encode()
    end = json.dumps({"events": len(lines) - 1, "sha256": hashlib.sha256(content).hexdigest()})
    with replacing(path) as file:
        file.write(content + f"{end}\n".encode())


def read_log(path: str | PathLike[str]) -> tuple[str, list[Draft]]:
    """Return a tuner's name and its events, each of them checked; raise FileError if any is bad."""
    lines = _read_lines(path)
    name = _name_in(path, lines[0])
    _check_digest(path, lines)
    events = [_event(path, number, line) for number, line in enumerate(lines[1:-1], start=2)]
    try:
        Rounds(in_order(events, after=0))
    except SoftbanditError as error:
        raise FileError(f"{path}: {error}") from error
    return name, [Draft(event.kind, event.body, event.ask, event.at) for event in events]


def _read_lines(path: str | PathLike[str]) -> list[bytes]:
    """Return the lines, with their ends; at least a header, an event and a digest."""
    try:
        lines = Path(path).read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise FileError(f"{path} could not be read: {error}. Check the path.") from error
    if len(lines) < 3:
        raise FileError.of(f"{path}", "an exported tuner", Description(f"{len(lines)} lines"), DAMAGED)
    return lines


def _name_in(path: object, header: bytes) -> str:
    given = _object(path, 1, header)
    if given.get("softbandit") != "tuner" or not isinstance(given.get("name"), str):
        got = Description(header[:60].decode(errors="replace"))
        raise FileError.of(f"{path}", "an exported tuner", got, "Pass a file that export() wrote.")
    if given.get("version") != VERSION:
        remedy = "A newer softbandit wrote it: update softbandit."
        raise FileError.of(f"{path}", f"version {VERSION}", given.get("version"), remedy)
    return str(given["name"])


def _check_digest(path: object, lines: list[bytes]) -> None:
    """Refuse a file that was cut off, or changed after it was written."""
    end = _object(path, len(lines), lines[-1])
    digest = hashlib.sha256(b"".join(lines[:-1])).hexdigest()
    if end != {"events": len(lines) - 2, "sha256": digest}:
        raise FileError.of(f"{path}", "the digest of its lines at the end", Description("another one"), DAMAGED)


def _event(path: object, number: int, line: bytes) -> Event:
    given = _object(path, number, line)
    if given.keys() != {"number", "kind", "ask", "at", "body"}:
        raise FileError.of(f"{path}, line {number}", "an event", Description(", ".join(given)), DAMAGED)
    try:
        return decode(given["number"], given["kind"], given["ask"], given["at"], encode(given["body"]))
    except StoreError as error:
        raise FileError(f"{path}, line {number}: {error}") from error


def _object(path: object, number: int, line: bytes) -> dict[str, Any]:
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        got = Description(line[:60].decode(errors="replace"))
        raise FileError.of(f"{path}, line {number}", "a JSON object", got, DAMAGED)
    return given
