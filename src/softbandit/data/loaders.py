"""Data files read into arrays, or refused with what is wrong with them and where."""

import csv
import datetime
import io
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from softbandit.backend.shapes import Floats
from softbandit.errors import DataError, Description

MAT_HEADER = b"MATLAB 5.0 MAT-file"
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
LAYOUT = "Expected is a struct `data` with train.sensordata, test.sensordata (samples x sensors) and coords."
COLUMNS = "Expected is a column Date, then one column of prices a stock."


@dataclass(frozen=True, eq=False)
class Readings:
    """Light sensors: samples x sensors, and where each sensor is."""

    train: Floats
    test: Floats
    coords: Floats  # sensors x 2

    @property
    def arrays(self) -> tuple[Floats, ...]:
        return self.train, self.test, self.coords


@dataclass(frozen=True, eq=False)
class Prices:
    """Stocks: days x stocks, with the days as ISO dates."""

    dates: tuple[str, ...]
    tickers: tuple[str, ...]
    values: Floats

    @property
    def arrays(self) -> tuple[Floats, ...]:
        return (self.values,)


def load_sensors(path: str | PathLike[str]) -> Readings:
    """The readings in a MATLAB file with the layout of iw_data_all.mat."""
    return parse_sensors(read(path), str(path))


def load_prices(path: str | PathLike[str]) -> Prices:
    """The prices in a CSV file with the layout of fin.csv."""
    return parse_prices(read(path), str(path))


def read(path: str | PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path} could not be read: {error.strerror or error}.") from error


# -- Sensors --


def parse_sensors(content: bytes, where: str) -> Readings:
    struct = _matlab(content, where)
    train = _matrix(struct, ("train", "sensordata"), where)
    test = _matrix(struct, ("test", "sensordata"), where)
    coords = _matrix(struct, ("coords",), where)
    n = train.shape[1]
    if test.shape[1] != n:
        raise DataError.of(f"{where}, data.test.sensordata", f"{n} sensors, as in train", test.shape[1], LAYOUT)
    if coords.shape != (n, 2):
        raise DataError.of(f"{where}, data.coords", f"shape ({n}, 2)", coords.shape, LAYOUT)
    if len(train) < 2 or len(test) < 2:
        raise DataError.of(where, "at least 2 samples in train and in test", (len(train), len(test)), LAYOUT)
    return Readings(train, test, coords)


def _matlab(content: bytes, where: str) -> Any:
    """The struct `data` as nested dictionaries."""
    import scipy.io  # a tenth of a second that only this needs

    if not content.startswith(MAT_HEADER):
        got = Description(f"{len(content):,} bytes that begin with {content[:19]!r}")
        raise DataError.of(where, f"a MATLAB file, which begins with {MAT_HEADER.decode()!r}", got, LAYOUT)
    whole = 136 + int.from_bytes(content[132:136], "little" if content[126:128] == b"IM" else "big")
    if len(content) < max(whole, 136):
        got = Description(f"{len(content):,} bytes")
        remedy = "It is truncated: copy or fetch it again."
        raise DataError.of(where, f"at least {max(whole, 136):,} bytes, as its first tag says", got, remedy)
    try:
        variables = scipy.io.loadmat(io.BytesIO(content), simplify_cells=True)
    except Exception as error:  # damage shows itself in many ways, depending on where it is
        raise DataError(f"{where} is damaged: {error or type(error).__name__}. Copy or fetch it again.") from error
    if not isinstance(variables.get("data"), dict):
        names = sorted(name for name in variables if not name.startswith("__"))
        raise DataError.of(where, "a struct `data`", Description(f"variables {names}"), LAYOUT)
    return variables["data"]


def _matrix(struct: Any, names: tuple[str, ...], where: str) -> Floats:
    """The numbers at data.names[0].names[1]..."""
    what, value = "data", struct
    for name in names:
        if not isinstance(value, dict) or name not in value:
            fields = sorted(value) if isinstance(value, dict) else type(value).__name__
            raise DataError.of(f"{where}, {what}", f"a field {name!r}", Description(f"{fields}"), LAYOUT)
        what, value = f"{what}.{name}", value[name]
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu" or value.ndim != 2:
        kind = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        raise DataError.of(f"{where}, {what}", "a matrix of numbers", Description(kind), LAYOUT)
    result = value.astype(np.float64)
    if not np.isfinite(result).all():
        row, column = np.argwhere(~np.isfinite(result))[0]
        raise DataError.of(
            f"{where}, {what}, row {row}, column {column}", "a finite number", result[row, column], "Repair the gap."
        )
    return result


# -- Prices --


def parse_prices(content: bytes, where: str) -> Prices:
    lines = _lines(content, where)
    tickers = _tickers(next(lines, (0, []))[1], where)
    dates: list[str] = []
    values: list[list[float]] = []
    for line, (date, *cells) in lines:
        at = f"{where}, line {line}"
        if len(cells) != len(tickers):
            remedy = "The file is truncated, or a separator is missing there."
            raise DataError.of(at, f"{len(tickers) + 1} cells", 1 + len(cells), remedy)
        dates.append(_date(date, dates[-1] if dates else "", at))
        values.append([_price(cell, f"{at}, column {name}") for cell, name in zip(cells, tickers, strict=True)])
    if len(dates) < 2:
        raise DataError.of(where, "at least 2 days of prices", len(dates), COLUMNS)
    return Prices(tuple(dates), tickers, np.array(values))


def _lines(content: bytes, where: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, with their line numbers, which begin at 1."""
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        for row in reader:
            if row:
                yield reader.line_num, row
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{where} is not comma-separated text: {error}. {COLUMNS}") from error


def _tickers(header: list[str], where: str) -> tuple[str, ...]:
    if header[:1] != ["Date"] or len(header) < 2:
        raise DataError.of(f"{where}, line 1", "the columns Date and at least one stock", header, COLUMNS)
    tickers = tuple(name.strip() for name in header[1:])
    if "" in tickers or len(set(tickers)) < len(tickers):
        twice = sorted({name for name in tickers if tickers.count(name) > 1})
        raise DataError.of(f"{where}, line 1", "one name a column", twice or header, "Name each stock once.")
    return tickers


def _date(text: str, last: str, at: str) -> str:
    """ISO dates order as text does."""
    try:
        if not ISO_DATE.fullmatch(text):
            raise ValueError
        datetime.date.fromisoformat(text)
    except ValueError:
        raise DataError.of(f"{at}, column Date", "a date as 2016-01-04", text, "Write dates in ISO form.") from None
    if text <= last:
        raise DataError.of(f"{at}, column Date", f"a day after {last}", text, "Sort the rows by date, one a day.")
    return text


def _price(text: str, at: str) -> float:
    if not text.strip():
        raise DataError.of(at, "a price", text, "Fill the gap, or drop that stock or that day.")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise DataError.of(at, "a positive number", text, "Repair that cell.")
    return value
