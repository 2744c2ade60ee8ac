"""Where data files lie: in a folder that is named, by the caller or by SOFTBANDIT_DATA, or else in the user's cache.

A folder that is named must hold the file; the cache may lack it.
"""

import os
import sys
from os import PathLike
from pathlib import Path
from typing import NamedTuple

VARIABLE = "SOFTBANDIT_DATA"


class Place(NamedTuple):
    """A folder, and who named it: "caller", the variable, or "" for the cache, which nobody named."""

    folder: Path
    named_by: str


def place(folder: str | PathLike[str] | None = None) -> Place:
    """Where to look, and where to fetch to."""
    if folder is not None:
        return Place(Path(folder).expanduser(), "caller")
    if named := os.environ.get(VARIABLE):
        return Place(Path(named).expanduser(), VARIABLE)
    return Place(cache_folder(), "")


def cache_folder() -> Path:
    """The user's cache, as the system has it."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "softbandit"
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    fallback = Path.home() / ("AppData/Local" if sys.platform == "win32" else ".cache")
    return Path(os.environ.get(variable) or fallback) / "softbandit"
