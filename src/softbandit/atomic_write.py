"""Files written whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from softbandit.errors import FileError


@contextlib.contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write under another name, put in place at the end: a crash leaves the old one whole."""
    target = Path(path).resolve()  # a link keeps leading where it led
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        raise FileError(f"{path} could not be written: {error}. An earlier file of that name is as it was.") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
