"""The paper's two data sets, and the choice of data for a problem.

That is the original file if it is there, the user's own file, or a stand-in. The original is in the
folder that the caller names, else SOFTBANDIT_DATA, else the user's cache. A named folder must contain it.
"""

import difflib
import hashlib
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from softbandit import validation
from softbandit.data.loaders import Prices, Readings, parse_prices, parse_sensors, read_bytes
from softbandit.data.stand_ins import simulated_office, sp500_panel
from softbandit.errors import ArgumentError, DataError

ORIGINAL, STAND_IN, OWN_FILE = "original", "stand-in", "own file"
OK, DIFFERS, ABSENT = "ok", "differs", "absent"
VARIABLE = "SOFTBANDIT_DATA"
CACHES = {"darwin": ("", "Library/Caches"), "win32": ("LOCALAPPDATA", "AppData/Local")}  # variable, default in home
PathOrName = str | PathLike[str]
T = TypeVar("T", Readings, Prices)

_PUBLISHED = (
    "https://raw.githubusercontent.com/sayakrc/Bayesian-Optimization-under-Heavy-tailed-Payoffs/"
    "30196d5c9eca766ca87afec517be98cf76c961a5/"
)  # the code published with Chowdhury & Gopalan (2019), at one commit
_LICENCE = "published without a licence to redistribute it, so it is downloaded from its address and never shipped"


@dataclass(frozen=True)
class Known:
    """A data file, identified by its sha256."""

    name: str
    file: str
    sha256: str
    bytes: int
    address: str  # of the file itself
    page: str  # that describes it
    title: str
    about: str
    licence: str = _LICENCE

    def by_hand(self, folder: Path) -> str:
        """Return instructions for putting the file in a folder without this library."""
        return (
            "To place it by hand:\n"
            f"  download  {self.address}\n"
            f"  save as   {folder / self.file}\n"
            f"  sha256    {self.sha256}"
        )


@dataclass(frozen=True)
class Origin:
    """A description of the data in use, for captions and manifests."""

    name: str
    kind: str  # ORIGINAL, STAND_IN or OWN_FILE
    path: str | None
    sha256: str  # of the file, or of a stand-in's arrays
    text: str


class Status(NamedTuple):
    """The path at which the original is expected, and whether it is there."""

    file: Path
    named_by: str  # as in data_folder
    checked: str  # OK, DIFFERS or ABSENT


@dataclass(frozen=True)
class Source(Generic[T]):
    """One of the data sets: its original file, the parser of such files, and its stand-in."""

    known: Known
    parse: Callable[[bytes, str], T]  # content and file name
    stand_in: Callable[[], T]
    stand_in_title: str

    def choose(self, data: PathOrName | None = None, path: PathOrName | None = None) -> tuple[T, Origin]:
        """Return the data and their origin.

        `data` is a folder, "original", "stand-in", or None for the original if it is there and
        the stand-in otherwise. `path` is the user's own file, which need not be the original.
        """
        if path is not None:
            if data is not None:
                raise ArgumentError.of("data", "None if path names a file", data, "Pass one of the two.")
            file = validation.path("path", path)
            return self._parsed(read_bytes(file), str(file), OWN_FILE, f"own file {file.name}")
        named = data if isinstance(data, str) else None
        if named == STAND_IN:
            return self._build_stand_in()
        status = self.status(None if named == ORIGINAL else data)
        if status.checked == ABSENT and not status.named_by and named != ORIGINAL:
            return self._build_stand_in()
        return self._load_original(status)

    def status(self, folder: PathOrName | None = None) -> Status:
        """Return whether the original is in the folder, by default the one that it is read from."""
        path, named_by = data_folder(folder)
        file = path / self.known.file
        if not os.path.exists(file):  # also of a name that is too long, for which Path.exists raises
            return Status(file, named_by, ABSENT)
        return Status(file, named_by, OK if sha256(read_bytes(file)) == self.known.sha256 else DIFFERS)

    def _build_stand_in(self) -> tuple[T, Origin]:
        values = self.stand_in()
        digest = sha256(b"".join(np.ascontiguousarray(a, dtype="<f8").tobytes() for a in values.arrays))
        return values, Origin(self.known.name, STAND_IN, None, digest, f"stand-in: {self.stand_in_title}")

    def _load_original(self, status: Status) -> tuple[T, Origin]:
        if status.checked == ABSENT:
            raise _missing(self.known, status)
        content = read_bytes(status.file)
        if status.checked == DIFFERS:
            raise self._not_the_original(content, status)
        return self._parsed(content, str(status.file), ORIGINAL, f"{self.known.title}, {self.known.file}")

    def _parsed(self, content: bytes, path: str, kind: str, title: str) -> tuple[T, Origin]:
        digest = sha256(content)
        return self.parse(content, path), Origin(self.known.name, kind, path, digest, f"{title} sha256 {digest[:8]}...")

    def _not_the_original(self, content: bytes, status: Status) -> DataError:
        """Return the error for a file that has the original's name but not its sha256."""
        known, file = self.known, str(status.file)
        try:
            self.parse(content, file)
            fault = f"{file} is another file than the original {known.file} ({known.about})."
            alternative = f"\nor use it as a file of your own: softbandit.problems.{known.name}(path={file!r})"
        except DataError as error:
            fault, alternative = str(error), ""
        return DataError(
            f"{fault}\nIt has {len(content):,} bytes and sha256 {sha256(content)[:8]}..., the original {known.bytes:,} "
            f"and {known.sha256[:8]}...\nMove it away and fetch the original: {_command(known, status)}{alternative}"
        )


def data_folder(folder: PathOrName | None = None) -> tuple[Path, str]:
    """Return the folder of the data files, and who named it: "caller", the variable, or "" for the cache."""
    if folder is not None:
        return _expanded(validation.path("folder", folder)), "caller"
    if from_environment := os.environ.get(VARIABLE):
        return Path(from_environment).expanduser(), VARIABLE
    return cache_folder(), ""


def _expanded(path: Path) -> Path:
    """Return the path with the user's home in place of ~."""
    try:
        return path.expanduser()
    except RuntimeError:  # there is no such user
        return path


def cache_folder() -> Path:
    """Return softbandit's folder in the operating system's cache for the user."""
    variable, default = CACHES.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    return Path(os.environ.get(variable) or Path.home() / default) / "softbandit"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _missing(known: Known, status: Status) -> DataError:
    """Return the error for an original that is not in the folder."""
    folder, from_environment = status.file.parent, status.named_by == VARIABLE
    fault = f"{known.name}: {known.file} is not in {folder}" + (f" ({VARIABLE})." if from_environment else ".")
    if not os.path.exists(folder):
        fault += " There is no such folder."
    close = difflib.get_close_matches(folder.name, (ORIGINAL, STAND_IN), n=1)
    if status.named_by == "caller" and close:
        fault += f" Did you mean {close[0]!r}?"
    remedy = f"unset {VARIABLE}" if from_environment else f"pass {STAND_IN!r} instead of a folder"
    fetch = f"Fetch it with: {_command(known, status)}"
    return DataError(f"{fault}\n{fetch}\n{known.by_hand(folder)}\nTo use the stand-in, {remedy}.")


def _command(known: Known, status: Status) -> str:
    """Return the shell command that downloads the file to the folder."""
    to = f" --to {shlex.quote(str(status.file.parent))}" if status.named_by == "caller" else ""
    return f"softbandit data fetch {known.name}{to}"


SENSORS: Source[Readings] = Source(
    Known(
        name="sensors",
        file="iw_data_all.mat",
        sha256="3d87e03ae8bc9e3f0a4abeb57c64933c7d3dee7476ac5c4f6ca28b4efc357c15",
        bytes=286816,
        address=_PUBLISHED + "iw_data_all.mat",
        page="http://www.cs.cmu.edu/~guestrin/Class/10708-F08/projects/",
        title="CMU light sensors",
        about="601 train and 192 test readings of 41 light sensors, CMU Intelligent Workplace, November 2005",
    ),
    parse_sensors,
    simulated_office,
    "simulated office of 41 sensors, seed 0",
)
STOCKS: Source[Prices] = Source(
    Known(
        name="stocks",
        file="fin.csv",
        sha256="e9f7d7c3a0ad4ada75e5b8fa3830c77ed0579232b45837438c671d83b1818199",
        bytes=333618,
        address=_PUBLISHED + "fin.csv",
        page="https://github.com/sayakrc/Bayesian-Optimization-under-Heavy-tailed-Payoffs",
        title="prices of 29 stocks",
        about="adjusted closing prices of 29 stocks on 823 days, 2016-01-04 to 2019-04-10",
    ),
    parse_prices,
    sp500_panel,
    "skfolio sp500_dataset, 20 stocks, 2016-01-04 to 2019-04-10",
)
SOURCES: dict[str, Source[Readings] | Source[Prices]] = {"sensors": SENSORS, "stocks": STOCKS}
KNOWN: dict[str, Known] = {name: source.known for name, source in SOURCES.items()}


def identify(name: str, data: PathOrName | None = None, path: PathOrName | None = None) -> dict[str, str | None]:
    """Return the origin of the data that `problems.sensors` or `problems.stocks` would use.

    The keys are name, kind, path, sha256 and text.

    >>> origin = identify("sensors", "stand-in")
    >>> origin["kind"], origin["path"], len(origin["sha256"])
    ('stand-in', None, 64)
    """
    return asdict(validation.named("data", name, SOURCES).choose(data, path)[1])
