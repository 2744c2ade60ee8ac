"""Write a file as a whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from softbandit.errors import FileError


@contextlib.contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` once it is written: a crash leaves the old file as it was."""
    target = Path(path).resolve()  # write through a symbolic link, not over it
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise FileError(f"{path} could not be written: {error}. An earlier file of that name is unchanged.") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
