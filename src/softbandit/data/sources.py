"""The choice of data for a problem: the original if it is there, the user's own file, or a stand-in."""

import difflib
import hashlib
import shlex
from collections.abc import Callable
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from softbandit import validation
from softbandit.data.catalogue import KNOWN, Known
from softbandit.data.folders import VARIABLE, DataFolder, data_folder
from softbandit.data.loaders import Prices, Readings, parse_prices, parse_sensors, read_bytes
from softbandit.data.office_simulation import simulated_office
from softbandit.data.sp500 import sp500_panel
from softbandit.errors import ArgumentError, DataError

ORIGINAL, STAND_IN, OWN_FILE = "original", "stand-in", "own file"
OK, DIFFERS, ABSENT = "ok", "differs", "absent"
PathOrName = str | PathLike[str]
T = TypeVar("T", Readings, Prices)


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
    named_by: str  # as in DataFolder
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
            return self._parsed(read_bytes(path), str(path), OWN_FILE, f"own file {Path(path).name}")
        if data == STAND_IN:
            return self._build_stand_in()
        folder = data_folder(None if data == ORIGINAL else data)
        if not folder.named_by and data != ORIGINAL and not (folder.path / self.known.file).exists():
            return self._build_stand_in()
        return self._load_original(folder)

    def status(self, folder: PathOrName | None = None) -> Status:
        """Return whether the original is in the folder, by default the one that it is read from."""
        path, named_by = data_folder(folder)
        file = path / self.known.file
        if not file.exists():
            return Status(file, named_by, ABSENT)
        return Status(file, named_by, OK if sha256(read_bytes(file)) == self.known.sha256 else DIFFERS)

    def _build_stand_in(self) -> tuple[T, Origin]:
        values = self.stand_in()
        digest = sha256(b"".join(np.ascontiguousarray(a, dtype="<f8").tobytes() for a in values.arrays))
        return values, Origin(self.known.name, STAND_IN, None, digest, f"stand-in: {self.stand_in_title}")

    def _load_original(self, folder: DataFolder) -> tuple[T, Origin]:
        known, file = self.known, folder.path / self.known.file
        if not file.exists():
            raise _missing(known, folder)
        content = read_bytes(file)
        if sha256(content) != known.sha256:
            raise self._not_the_original(content, folder)
        return self._parsed(content, str(file), ORIGINAL, f"{known.title}, {known.file}")

    def _parsed(self, content: bytes, path: str, kind: str, title: str) -> tuple[T, Origin]:
        digest = sha256(content)
        return self.parse(content, path), Origin(self.known.name, kind, path, digest, f"{title} sha256 {digest[:8]}...")

    def _not_the_original(self, content: bytes, folder: DataFolder) -> DataError:
        """Return the error for a file that has the original's name but not its sha256."""
        known, file = self.known, folder.path / self.known.file
        try:
            self.parse(content, str(file))
            fault = f"{file} is another file than the original {known.file} ({known.about})."
            alternative = f"\nor use it as a file of your own: softbandit.problems.{known.name}(path={str(file)!r})"
        except DataError as error:
            fault, alternative = str(error), ""
        return DataError(
            f"{fault}\nIt has {len(content):,} bytes and sha256 {sha256(content)[:8]}..., the original {known.bytes:,} "
            f"and {known.sha256[:8]}...\nMove it away and fetch the original: {_command(known, folder)}{alternative}"
        )


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _missing(known: Known, folder: DataFolder) -> DataError:
    """Return the error for an original that is not in the folder."""
    from_environment = folder.named_by == VARIABLE
    fault = f"{known.name}: {known.file} is not in {folder.path}" + (f" ({VARIABLE})." if from_environment else ".")
    if not folder.path.exists():
        fault += " There is no such folder."
    close = difflib.get_close_matches(folder.path.name, (ORIGINAL, STAND_IN), n=1)
    if folder.named_by == "caller" and close:
        fault += f" Did you mean {close[0]!r}?"
    remedy = f"unset {VARIABLE}" if from_environment else f"pass {STAND_IN!r} instead of a folder"
    return DataError(
        f"{fault}\nFetch it with: {_command(known, folder)}\n{known.by_hand(folder.path)}\n"
        f"To use the stand-in, {remedy}."
    )


def _command(known: Known, folder: DataFolder) -> str:
    """Return the shell command that downloads the file to the folder."""
    to = f" --to {shlex.quote(str(folder.path))}" if folder.named_by == "caller" else ""
    return f"softbandit data fetch {known.name}{to}"


SENSORS: Source[Readings] = Source(
    KNOWN["sensors"], parse_sensors, simulated_office, "simulated office of 41 sensors, seed 0"
)
STOCKS: Source[Prices] = Source(
    KNOWN["stocks"], parse_prices, sp500_panel, "skfolio sp500_dataset, 20 stocks, 2016-01-04 to 2019-04-10"
)
SOURCES: dict[str, Source[Readings] | Source[Prices]] = {"sensors": SENSORS, "stocks": STOCKS}


def identify(name: str, data: PathOrName | None = None, path: PathOrName | None = None) -> dict[str, str | None]:
    """Return the origin of the data that `problems.sensors` or `problems.stocks` would use.

    The keys are name, kind, path, sha256 and text.

    >>> origin = identify("sensors", "stand-in")
    >>> origin["kind"], origin["path"], len(origin["sha256"])
    ('stand-in', None, 64)
    """
    return asdict(validation.named("data", name, SOURCES).choose(data, path)[1])
