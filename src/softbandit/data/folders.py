"""The folder of the data files: the one named by the caller, else by SOFTBANDIT_DATA, else the user's cache.

A named folder must contain the file; the cache need not.
"""

import os
import sys
from os import PathLike
from pathlib import Path

VARIABLE = "SOFTBANDIT_DATA"
CACHES = {"darwin": ("", "Library/Caches"), "win32": ("LOCALAPPDATA", "AppData/Local")}  # variable, default in home


def data_folder(folder: str | PathLike[str] | None = None) -> tuple[Path, str]:
    """Return the folder of the data files, and who named it: "caller", the variable, or "" for the cache."""
    if folder is not None:
        return Path(folder).expanduser(), "caller"
    if from_environment := os.environ.get(VARIABLE):
        return Path(from_environment).expanduser(), VARIABLE
    return cache_folder(), ""


def cache_folder() -> Path:
    """Return softbandit's folder in the operating system's cache for the user."""
    variable, default = CACHES.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    return Path(os.environ.get(variable) or Path.home() / default) / "softbandit"
