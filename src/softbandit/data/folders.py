"""The folder of the data files: the one named by the caller, else by SOFTBANDIT_DATA, else the user's cache.

A named folder must contain the file; the cache need not.
"""

import os
import sys
from os import PathLike
from pathlib import Path
from typing import NamedTuple

VARIABLE = "SOFTBANDIT_DATA"


class DataFolder(NamedTuple):
    """A folder, and who named it: "caller", the environment variable, or "" for the cache."""

    path: Path
    named_by: str


def data_folder(folder: str | PathLike[str] | None = None) -> DataFolder:
    """Return the folder that data files are read from and downloaded to."""
    if folder is not None:
        return DataFolder(Path(folder).expanduser(), "caller")
    if from_environment := os.environ.get(VARIABLE):
        return DataFolder(Path(from_environment).expanduser(), VARIABLE)
    return DataFolder(cache_folder(), "")


def cache_folder() -> Path:
    """Return softbandit's folder in the operating system's cache for the user."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "softbandit"
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    fallback = Path.home() / ("AppData/Local" if sys.platform == "win32" else ".cache")
    return Path(os.environ.get(variable) or fallback) / "softbandit"
