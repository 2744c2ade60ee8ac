"""Write a file as a whole or not at all, one writer at a time.

The content of NAME is first written to `.NAME.part` in the same folder. A writer locks that file until it has become
NAME, so that others wait, and what the body of `with replacing(path)` reads of the old file is what will be replaced.
The lock of a killed process is gone, and the next writer uses its file again: nothing is left behind. Without such
locks (on Windows, and on some network disks) each writer has a temporary file of a random name, and nobody waits.
"""

import contextlib
import errno
import os
import secrets
import stat
import time
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from softbandit.errors import FileError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PATIENCE = 60.0  # seconds to wait for another writer
PAUSE = 0.005  # seconds between two attempts
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)  # from a disk without locks


def real_path(path: str | PathLike[str]) -> Path:
    """Return the file that a path names, through symbolic links; raise FileError if it can name none."""
    try:
        target = Path(path).resolve()
        target.with_name("x")  # fails if it has no name, like the root of all folders
    except (TypeError, ValueError, OSError, RuntimeError) as error:  # no path; a null character; links in a circle
        raise FileError.of("path", "the path of a file", path, "Pass a str or a Path.") from error
    return target


@contextlib.contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` once it is written: a crash leaves the old file as it was."""
    target = real_path(path)
    try:
        with _part_of(target) as (part, file):
            earlier = target.stat() if target.exists() else None
            _set_owner_and_mode(part, earlier, also=0o600)  # before there is anything to read
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is None:
                file.close()  # Windows renames no open file
            part.replace(target)
            _set_owner_and_mode(target, earlier)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{path} could not be written: {error}. An earlier file of that name is unchanged.") from error
    _sync_folder(target)


@contextlib.contextmanager
def _part_of(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Open a temporary file for this writer alone. It is removed unless the body renames it."""
    part, file = _open_part(target)
    with file:
        try:
            yield part, file
        except BaseException:
            if fcntl is None:
                file.close()  # Windows removes no open file
            part.unlink(missing_ok=True)  # before it is unlocked: then it may be another writer's
            raise
        finally:
            _unlock(file)


def _open_part(target: Path) -> tuple[Path, BinaryIO]:
    if fcntl is not None:
        part = target.with_name(f".{target.name}.part")
        try:
            return part, _open_locked(part)
        except _NoLocks:
            part.unlink(missing_ok=True)
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    return part, part.open("x+b")


def _open_locked(part: Path) -> BinaryIO:
    """Open the file, perhaps one that a killed process left, and lock it; wait while another writer has it."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        file = open(part, "w+b", opener=_open_unchanged)  # noqa: SIM115 - the caller closes it
        try:
            if _lock(file) and _is_at(part, file):  # the writer before may have renamed or removed it
                file.truncate(0)
                return file
        except BaseException:
            file.close()
            raise
        file.close()
        time.sleep(PAUSE)
    raise TimeoutError(errno.ETIMEDOUT, f"another process has been writing it for {PATIENCE:g} seconds")


def _open_unchanged(name: str, flags: int) -> int:
    """Open a file as it is, whoever may be writing it; not through a symbolic link that somebody has put there."""
    return os.open(name, flags & ~os.O_TRUNC | os.O_NOFOLLOW, 0o666)


class _NoLocks(Exception):
    """The disk has no locks."""


def _lock(file: BinaryIO) -> bool:
    """Lock the file, and return whether that succeeded."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in NO_LOCKS:
            raise _NoLocks from error
        raise
    return True


def _unlock(file: BinaryIO) -> None:
    """Unlock now, rather than by closing: a process that was forked meanwhile has the file open too."""
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)


def _is_at(path: Path, file: BinaryIO) -> bool:
    """Return whether the path names the open file."""
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _set_owner_and_mode(path: Path, earlier: os.stat_result | None, also: int = 0) -> None:
    """Give a file the owner and the permissions of the one that it replaces, and others besides."""
    if earlier is None:
        return
    if hasattr(os, "chown"):
        with contextlib.suppress(PermissionError):  # the owner is another user, who shares the folder
            os.chown(path, earlier.st_uid, earlier.st_gid)
    path.chmod(stat.S_IMODE(earlier.st_mode) | also)


def _sync_folder(target: Path) -> None:
    """Write the folder to the disk, so that the new name survives a power failure."""
    try:
        folder = os.open(target.parent, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some disks synchronise no folders
            raise FileError(f"{target} was written, but may not survive a power failure: {error}.") from error
    finally:
        os.close(folder)
