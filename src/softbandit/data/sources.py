"""Which data a problem stands on: the original where it is found, a file of one's own, or a stand-in."""

import difflib
import hashlib
import shlex
from collections.abc import Callable
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from softbandit import validation
from softbandit.backend.shapes import Floats
from softbandit.data.catalogue import KNOWN, Known
from softbandit.data.folders import VARIABLE, Place, place
from softbandit.data.loaders import Prices, Readings, parse_prices, parse_sensors, read
from softbandit.data.office_simulation import simulated_office
from softbandit.data.sp500 import sp500_panel
from softbandit.errors import ArgumentError, DataError

ORIGINAL, STAND_IN, OWN_FILE = "original", "stand-in", "own file"
OK, DIFFERS, ABSENT = "ok", "differs", "absent"
INSTEAD = f"To use the stand-in, say {STAND_IN!r} in place of a folder."
Where = str | PathLike[str] | None


class HasArrays(Protocol):
    @property
    def arrays(self) -> tuple[Floats, ...]: ...


T = TypeVar("T", bound=HasArrays)


@dataclass(frozen=True)
class Origin:
    """What data were used, for a figure's caption and for a manifest."""

    name: str
    kind: str  # ORIGINAL, STAND_IN or OWN_FILE
    path: str | None
    sha256: str  # of the file, or of a stand-in's arrays
    text: str


class Status(NamedTuple):
    """Whether the original is where it is looked for."""

    file: Path
    named_by: str  # as in Place
    checked: str  # OK, DIFFERS or ABSENT


@dataclass(frozen=True)
class Source(Generic[T]):
    """One of the data sets: its known file, how such a file is read, and what stands in for it."""

    known: Known
    parse: Callable[[bytes, str], T]
    stand_in: Callable[[], T]
    stand_in_title: str

    def choose(self, data: Where = None, path: Where = None) -> tuple[T, Origin]:
        """The data, and what they are.

        `data` is a folder, "original", "stand-in", or None: then the original where it is found,
        else the stand-in. `path` is a file of one's own, which need not be the original.
        """
        if path is not None:
            return self._own(data, path)
        if data == STAND_IN:
            return self._stand_in()
        at = place(None if data == ORIGINAL else data)
        if not at.named_by and data != ORIGINAL and not (at.folder / self.known.file).exists():
            return self._stand_in()
        return self._original(at)

    def status(self, folder: Where = None) -> Status:
        """Whether the original is in the folder, by default the one where it is looked for."""
        at = place(folder)
        file = at.folder / self.known.file
        if not file.exists():
            return Status(file, at.named_by, ABSENT)
        return Status(file, at.named_by, OK if sha256(read(file)) == self.known.sha256 else DIFFERS)

    def _own(self, data: Where, path: str | PathLike[str]) -> tuple[T, Origin]:
        if data is not None:
            raise ArgumentError.of("data", "None where path names a file", data, "Pass one of the two.")
        content = read(path)
        digest = sha256(content)
        about = f"own file {Path(path).name} sha256 {digest[:8]}..."
        return self.parse(content, str(path)), Origin(self.known.name, OWN_FILE, str(path), digest, about)

    def _stand_in(self) -> tuple[T, Origin]:
        values = self.stand_in()
        digest = sha256(b"".join(np.ascontiguousarray(a, dtype="<f8").tobytes() for a in values.arrays))
        return values, Origin(self.known.name, STAND_IN, None, digest, f"stand-in: {self.stand_in_title}")

    def _original(self, at: Place) -> tuple[T, Origin]:
        known, file = self.known, at.folder / self.known.file
        if not file.exists():
            raise _missing(known, at)
        content = read(file)
        digest = sha256(content)
        if digest != known.sha256:
            raise self._foreign(content, digest, at)
        text = f"{known.title}, {known.file} sha256 {digest[:8]}..."
        return self.parse(content, str(file)), Origin(known.name, ORIGINAL, str(file), digest, text)

    def _foreign(self, content: bytes, digest: str, at: Place) -> DataError:
        """What is wrong with a file that has the original's name and not its sha256."""
        known, file = self.known, at.folder / self.known.file
        try:
            self.parse(content, str(file))
            fault = f"{file} is another file than the original {known.file} ({known.about})."
            own = f"\nor use it as a file of your own with: softbandit.problems.{known.name}(path={str(file)!r})"
        except DataError as error:
            fault, own = str(error), ""
        return DataError(
            f"{fault}\nIt has {len(content):,} bytes and sha256 {digest[:8]}..., the original {known.bytes:,} and "
            f"{known.sha256[:8]}...\nMove it away and fetch the original with: {_command(known, at)}{own}"
        )


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _missing(known: Known, at: Place) -> DataError:
    fault = f"{known.name}: {known.file} is not in {at.folder}"
    fault += f" ({VARIABLE})." if at.named_by == VARIABLE else "."
    if not at.folder.exists():
        fault += " There is no such folder."
    if at.named_by == "caller" and (near := difflib.get_close_matches(at.folder.name, (ORIGINAL, STAND_IN), n=1)):
        fault += f" Did you mean {near[0]!r}?"
    remedy = f"To use the stand-in, unset {VARIABLE}." if at.named_by == VARIABLE else INSTEAD
    return DataError(f"{fault}\nFetch it with: {_command(known, at)}\n{known.by_hand(at.folder)}\n{remedy}")


def _command(known: Known, at: Place) -> str:
    to = f" --to {shlex.quote(str(at.folder))}" if at.named_by == "caller" else ""
    return f"softbandit data fetch {known.name}{to}"


SENSORS: Source[Readings] = Source(
    KNOWN["sensors"], parse_sensors, simulated_office, "simulated office of 41 sensors, seed 0"
)
STOCKS: Source[Prices] = Source(
    KNOWN["stocks"], parse_prices, sp500_panel, "skfolio sp500_dataset, 20 stocks, 2016-01-04 to 2019-04-10"
)
SOURCES: dict[str, Source[Any]] = {"sensors": SENSORS, "stocks": STOCKS}


def identify(name: str, data: Where = None, path: Where = None) -> dict[str, str | None]:
    """What data `problems.sensors` or `problems.stocks` would use: name, kind, path, sha256 and text.

    >>> found = identify("sensors", "stand-in")
    >>> found["kind"], found["path"], len(found["sha256"])
    ('stand-in', None, 64)
    """
    return asdict(validation.named("data", name, SOURCES).choose(data, path)[1])
