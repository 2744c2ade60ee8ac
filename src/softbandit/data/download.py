"""Downloads of the known data files: resumed after a broken connection, put in place once the sha256 is right."""

import contextlib
import errno
import http.client
import os
import time
import urllib.error
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from softbandit import validation
from softbandit.atomic_write import replacing
from softbandit.data import web
from softbandit.data.loaders import read_bytes
from softbandit.data.sources import KNOWN, Known, data_folder, sha256
from softbandit.errors import ChecksumError, DataError, DiskFullError, FetchError, MovedError, OfflineError

Progress = Callable[[int, int], None]  # called with the bytes so far and the bytes in total
DEADLINE = 600.0  # seconds that a download may take in all: the files have less than a megabyte
CHUNK = 1 << 14  # bytes
PARTIAL_CONTENT, NOT_FOUND, RANGE_NOT_SATISFIABLE = 206, (404, 410), 416  # HTTP status codes


def fetch(what: str | Known, folder: str | PathLike[str] | None = None, progress: Progress | None = None) -> Path:
    """Download one of the KNOWN files to a folder, by default the one that problems read it from. Return its path.

    If the connection breaks, the bytes received so far are kept beside it in a .part file, and
    the next call resumes from there. `progress` is called with the bytes so far and in total.
    """
    known = what if isinstance(what, Known) else validation.named("data", what, KNOWN)
    target = data_folder(folder)[0] / known.file
    if target.exists():
        if sha256(read_bytes(target)) != known.sha256:
            fault = f"{target} exists and is another file. It was not changed: move it away, then fetch again."
            raise _error(DataError, known, target, fault)
        return target
    part = target.with_name(f"{target.name}.part")
    with _disk_errors(known, target):
        target.parent.mkdir(parents=True, exist_ok=True)
    if part.is_symlink() or (part.exists() and not part.is_file()):
        raise _error(FetchError, known, part, f"{part} is no plain file, and is not written to. Move it away.")
    if _size(part) != known.bytes:
        _download(known, part, progress or (lambda done, total: None))
    content = read_bytes(part)
    if sha256(content) != known.sha256:
        part.unlink()
        got = f"{len(content):,} bytes with sha256 {sha256(content)[:8]}..."
        fault = f"the download is another file, {got} It was removed; try again, or look at {known.page}"
        raise _error(ChecksumError, known, target, fault)
    with _disk_errors(known, target), replacing(target) as file:
        file.write(content)
    part.unlink()
    return target


def _download(known: Known, part: Path, progress: Progress) -> None:
    """Download the rest of the file to `part`. Stop at the first chunk beyond its known size."""
    offset = _size(part) if _size(part) < known.bytes else 0
    deadline = time.monotonic() + DEADLINE
    with _network_errors(known, part), _request(known.address, offset, deadline) as response:
        done = offset if response.status == PARTIAL_CONTENT else 0  # a server that cannot resume sends the whole file
        progress(done, known.bytes)
        while done <= known.bytes and (chunk := response.read1(CHUNK)):
            with _disk_errors(known, part), _plain_file(part, append=done > 0) as file:
                file.write(chunk)
            done += len(chunk)
            progress(done, known.bytes)
        if done < known.bytes:
            raise ConnectionError(f"the connection broke after {done:,} of {known.bytes:,} bytes")


def _request(address: str, offset: int, deadline: float) -> http.client.HTTPResponse:
    """Request the file from the offset on, or all of it if the server does not have that many bytes."""
    headers = {"User-Agent": "softbandit", "Accept-Encoding": "identity"}
    try:
        return web.request(address, headers | ({"Range": f"bytes={offset}-"} if offset else {}), deadline)
    except urllib.error.HTTPError as error:
        if not offset or error.code != RANGE_NOT_SATISFIABLE:
            raise
        error.close()
        return _request(address, 0, deadline)


def _plain_file(path: Path, append: bool) -> BinaryIO:
    """Open a file to write to, and never one that a symbolic link of that name points to."""
    how = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | (os.O_APPEND if append else os.O_TRUNC)
    return os.fdopen(os.open(path, how, 0o666), "wb")


@contextlib.contextmanager
def _network_errors(known: Known, part: Path) -> Iterator[None]:
    """Raise errors of the network as FetchError or one of its subclasses."""
    try:
        yield
    except FetchError:  # from the disk, inside the same block
        raise
    except web.Refused as error:
        raise _error(FetchError, known, part, f"{error}. {known.page} may say more.") from None
    except urllib.error.HTTPError as error:
        error.close()
        gone = error.code in NOT_FOUND
        fault = "It has moved or is gone" if gone else "Try again later"
        answer = f"{known.address} answered {error.code} {error.reason}. {fault}; {known.page} may say more."
        raise _error(MovedError if gone else FetchError, known, part, answer) from None
    except (OSError, http.client.HTTPException) as error:
        size = _size(part)
        kept = f" The first {size:,} bytes are kept, and fetching again resumes from there." if size else ""
        fault = f"the download failed ({getattr(error, 'reason', error)}). Are you online?{kept}"
        raise _error(OfflineError, known, part, fault) from error


@contextlib.contextmanager
def _disk_errors(known: Known, target: Path) -> Iterator[None]:
    """Raise errors of the disk as DiskFullError or FetchError."""
    try:
        yield
    except OSError as error:
        cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
        full = cause.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = f"no room for {known.bytes:,} bytes" if full else cause.strerror or cause
        fault = f"{target} could not be written: {reason}. Name another folder, or make room there."
        raise _error(DiskFullError if full else FetchError, known, target, fault) from error


def _error(kind: type[DataError], known: Known, file: Path, fault: str) -> DataError:
    return kind(f"{known.name}: {fault}\n{known.by_hand(file.parent)}")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
