"""Readers of the data files. A file that cannot be used raises an error that says what is wrong, and in which cell."""

import csv
import datetime
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.errors import DataError, Description

MAT_HEADER = b"MATLAB 5.0 MAT-file"
LAYOUT = "Expected is a struct `data` with train.sensordata, test.sensordata (samples x sensors) and coords."
COLUMNS = "Expected is a column Date, then one column of prices per stock."


@dataclass(frozen=True, eq=False)
class Readings:
    """Readings of light sensors, samples x sensors, and the position of each sensor."""

    train: Floats
    test: Floats
    coords: Floats  # sensors x 2

    @property
    def arrays(self) -> tuple[Floats, ...]:
        return self.train, self.test, self.coords


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of stocks, days x stocks, with the days as ISO dates."""

    dates: tuple[str, ...]
    tickers: tuple[str, ...]
    values: Floats

    @property
    def arrays(self) -> tuple[Floats, ...]:
        return (self.values,)


def load_sensors(path: str | PathLike[str]) -> Readings:
    """Load a MATLAB file with the layout of iw_data_all.mat."""
    file = validation.path("path", path)
    return parse_sensors(read_bytes(file), str(file))


def load_prices(path: str | PathLike[str]) -> Prices:
    """Load a CSV file with the layout of fin.csv."""
    file = validation.path("path", path)
    return parse_prices(read_bytes(file), str(file))


def read_bytes(path: str | PathLike[str]) -> bytes:
    """Return the content of a file, or raise DataError."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path} could not be read: {error.strerror or error}.") from error


def parse_sensors(content: bytes, file: str) -> Readings:
    """Parse the content of a MATLAB file; `file` is its name in error messages."""
    struct = _load_struct(content, file)
    train, test, coords = (_matrix(struct, field, file) for field in ("train.sensordata", "test.sensordata", "coords"))
    n = train.shape[1]
    if test.shape[1] != n:
        raise DataError.of(f"{file}, data.test.sensordata", f"{n} sensors, as in train", test.shape[1], LAYOUT)
    if coords.shape != (n, 2):
        raise DataError.of(f"{file}, data.coords", f"shape ({n}, 2)", coords.shape, LAYOUT)
    if len(train) < 2 or len(test) < 2:
        raise DataError.of(file, "at least 2 samples in train and in test", (len(train), len(test)), LAYOUT)
    return Readings(train, test, coords)


def _load_struct(content: bytes, file: str) -> dict[str, object]:
    """Return the struct `data` as nested dictionaries."""
    import scipy.io  # takes a tenth of a second, and nothing else needs it

    if not content.startswith(MAT_HEADER):
        got = Description(f"{len(content):,} bytes that begin with {content[:19]!r}")
        raise DataError.of(file, f"a MATLAB file, which begins with {MAT_HEADER.decode()!r}", got, LAYOUT)
    try:
        variables = scipy.io.loadmat(io.BytesIO(content), simplify_cells=True)
    except Exception as error:  # a damaged file can raise almost anything
        fault = f"{file} is damaged or truncated: {error or type(error).__name__}."
        raise DataError(f"{fault} Copy or fetch it again.") from error
    struct = variables.get("data")
    if not isinstance(struct, dict):
        names = sorted(name for name in variables if not name.startswith("__"))
        raise DataError.of(file, "a struct `data`", Description(f"variables {names}"), LAYOUT)
    return struct


def _matrix(struct: object, path: str, file: str) -> Floats:
    """Return the matrix at that path in the struct `data`, such as "train.sensordata"."""
    field, value = "data", struct
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            fields = sorted(value) if isinstance(value, dict) else type(value).__name__
            raise DataError.of(f"{file}, {field}", f"a field {name!r}", Description(f"{fields}"), LAYOUT)
        field, value = f"{field}.{name}", value[name]
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu" or value.ndim != 2:
        kind = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        raise DataError.of(f"{file}, {field}", "a matrix of numbers", Description(kind), LAYOUT)
    matrix = value.astype(np.float64)
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        cell = f"{file}, {field}, row {row}, column {column}"
        raise DataError.of(cell, "a finite number", matrix[row, column], "Fill the gap.")
    return matrix


def parse_prices(content: bytes, file: str) -> Prices:
    """Parse the content of a CSV file; `file` is its name in error messages."""
    rows = _csv_rows(content, file)
    tickers = _parse_header(next(rows, (0, []))[1], file)
    dates: list[str] = []
    values: list[list[float]] = []
    for line_number, (date, *cells) in rows:
        line = f"{file}, line {line_number}"
        if len(cells) != len(tickers):
            remedy = "The file is truncated, or a separator is missing there."
            raise DataError.of(line, f"{len(tickers) + 1} cells", 1 + len(cells), remedy)
        dates.append(_parse_date(date, dates[-1] if dates else "", f"{line}, column Date"))
        values.append([_parse_price(cell, f"{line}, column {name}") for cell, name in zip(cells, tickers, strict=True)])
    if len(dates) < 2:
        raise DataError.of(file, "at least 2 days of prices", len(dates), COLUMNS)
    return Prices(tuple(dates), tickers, np.array(values))


def _csv_rows(content: bytes, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, with their line numbers, which begin at 1."""
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        for row in reader:
            if row:
                yield reader.line_num, row
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{file} is not comma-separated text: {error}. {COLUMNS}") from error


def _parse_header(header: list[str], file: str) -> tuple[str, ...]:
    """Return the tickers."""
    if header[:1] != ["Date"] or len(header) < 2:
        raise DataError.of(f"{file}, line 1", "the columns Date and at least one stock", header, COLUMNS)
    tickers = tuple(name.strip() for name in header[1:])
    if "" in tickers or len(set(tickers)) < len(tickers):
        repeated = sorted({name for name in tickers if tickers.count(name) > 1})
        raise DataError.of(f"{file}, line 1", "one name per column", repeated or header, "Name each stock once.")
    return tickers


def _parse_date(text: str, previous: str, cell: str) -> str:
    """Check that the text is an ISO date after the previous one. ISO dates sort as text."""
    try:
        if datetime.date.fromisoformat(text).isoformat() != text:  # another ISO form, such as 2016-W01-1
            raise ValueError
    except ValueError:
        raise DataError.of(cell, "a date like 2016-01-04", text, "Use ISO dates.") from None
    if text <= previous:
        raise DataError.of(cell, f"a day after {previous}", text, "Sort the rows by date, one row per day.")
    return text


def _parse_price(text: str, cell: str) -> float:
    if not text.strip():
        raise DataError.of(cell, "a price", text, "Fill the gap, or drop that stock or that day.")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise DataError.of(cell, "a positive number", text, "Correct that cell.")
    return value
