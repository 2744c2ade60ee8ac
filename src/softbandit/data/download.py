"""A known data file fetched from its address: resumed where it broke off, put in place once its sha256 is right."""

import contextlib
import errno
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from softbandit import validation
from softbandit.atomic_write import replacing
from softbandit.data.catalogue import KNOWN, Known
from softbandit.data.folders import place
from softbandit.data.loaders import read
from softbandit.data.sources import sha256
from softbandit.errors import ChecksumError, DataError, DiskFullError, FetchError, MovedError, OfflineError

Progress = Callable[[int, int], None]  # bytes so far, bytes in all
TIMEOUT = 30  # seconds without a byte
PIECE = 1 << 14
RESUMED, GONE, BAD_RANGE = 206, (404, 410), 416


def fetch(what: str | Known, folder: str | PathLike[str] | None = None, progress: Progress | None = None) -> Path:
    """Download one of the KNOWN files to a folder, by default the one where it is looked for; where it now lies.

    What has arrived when the connection breaks is kept beside it as a .part file, and the next
    call goes on from there. `progress` is called with the bytes so far and the bytes in all.
    """
    known = what if isinstance(what, Known) else validation.named("data", what, KNOWN)
    target = place(folder).folder / known.file
    if target.exists():
        return _already(known, target)
    part = target.with_name(f"{target.name}.part")
    with _writing(known, target):
        target.parent.mkdir(parents=True, exist_ok=True)
    if _size(part) != known.bytes:
        _download(known, part, progress or (lambda done, total: None))
    content = read(part)
    if sha256(content) != known.sha256:
        part.unlink()
        got = f"{len(content):,} bytes with sha256 {sha256(content)[:8]}..."
        fault = f"what came is another file, {got} It was removed; try again, or look at {known.page}"
        raise ChecksumError(f"{known.name}: {fault}\n{known.by_hand(target.parent)}")
    with _writing(known, target), replacing(target) as file:
        file.write(content)
    part.unlink()
    return target


def _already(known: Known, target: Path) -> Path:
    if sha256(read(target)) != known.sha256:
        fault = f"{target} exists and is another file. It was left as it is: move it away, then fetch again."
        raise DataError(f"{known.name}: {fault}\n{known.by_hand(target.parent)}")
    return target


def _download(known: Known, part: Path, progress: Progress) -> None:
    """Bring the part up to the known size, or a piece beyond it where more than that comes."""
    have = _size(part) if _size(part) < known.bytes else 0
    with _requesting(known, part):
        response = _response(known.address, have)
    done = have if response.status == RESUMED else 0  # a server that cannot resume sends the whole
    with response, _writing(known, part), part.open("ab" if done else "wb") as file:
        progress(done, known.bytes)
        for piece in _pieces(known, part, response):
            file.write(piece)
            file.flush()
            done += len(piece)
            progress(done, known.bytes)
            if done > known.bytes:
                break
    if done < known.bytes:
        raise OfflineError(_broken(known, part, f"the connection broke after {done:,} of {known.bytes:,} bytes"))


def _pieces(known: Known, part: Path, response: Any) -> Iterator[bytes]:
    with _requesting(known, part):
        while piece := response.read(PIECE):
            yield piece


def _response(address: str, have: int) -> Any:
    headers = {"User-Agent": "softbandit", "Accept-Encoding": "identity"}
    request = urllib.request.Request(address, headers=headers | ({"Range": f"bytes={have}-"} if have else {}))
    try:
        return urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if not have or error.code != BAD_RANGE:
            raise
        error.close()
        return _response(address, 0)


@contextlib.contextmanager
def _requesting(known: Known, part: Path) -> Iterator[None]:
    """The network's errors as ours."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        kind = MovedError if error.code in GONE else FetchError
        fault = "It has moved or is gone" if error.code in GONE else "Try again later"
        said = f"{known.address} answered {error.code} {error.reason}. {fault}; {known.page} may say more."
        raise kind(f"{known.name}: {said}\n{known.by_hand(part.parent)}") from None
    except (OSError, http.client.HTTPException) as error:
        cause = getattr(error, "reason", error)
        raise OfflineError(_broken(known, part, f"no connection to the server ({cause})")) from error


def _broken(known: Known, part: Path, fault: str) -> str:
    kept = f" The first {_size(part):,} bytes are kept, and fetching again goes on from there." if _size(part) else ""
    return f"{known.name}: {fault}. Are you online?{kept}\n{known.by_hand(part.parent)}"


@contextlib.contextmanager
def _writing(known: Known, target: Path) -> Iterator[None]:
    """The disk's errors as ours."""
    try:
        yield
    except FetchError:  # the network's
        raise
    except OSError as error:
        cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
        full = cause.errno in (errno.ENOSPC, errno.EDQUOT)
        fault = f"no room for {known.bytes:,} bytes" if full else str(cause.strerror or cause)
        message = f"{known.name}: {target} could not be written: {fault}. Name another folder, or make room there."
        kind = DiskFullError if full else FetchError
        raise kind(f"{message}\n{known.by_hand(target.parent)}") from error


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
