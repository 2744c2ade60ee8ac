"""Tidy tables: one row per observation, stored as CSV.

Columns named in NUMBERS hold numbers. All others hold labels: `label` writes a setting of the
grid the same way whether the file says 1, 1.0 or 1e0.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softbandit import validation
from softbandit.atomic_write import replacing
from softbandit.errors import FileError

SYMBOLS = {
    "regret": "R(T)",
    "strong_regret": "R_+(T)",
    "violation": "V(T)",
    "positive_violation": "sum [g]_+",
    "violated_rounds": "N",
    "arms_tried": "arms tried",
}
"""The metrics, with the heading of each in a table of results."""

METRICS = tuple(SYMBOLS)
NUMBERS = ("instance", "trial", "round", *METRICS, "microseconds")


def label(value: object) -> str:
    """Return a setting as it is written in a table: 0.2, 1, theory.

    >>> label(0.20), label(1.0), label("theory"), label(True)
    ('0.2', '1', 'theory', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.10g}" if isinstance(value, (int, float)) else str(value)


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length."""

    columns: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, columns: Mapping[str, Iterable[object]]) -> Self:
        """Build a table of numbers and labels, as the columns' names demand."""
        return cls({name: _column(name, list(values)) for name, values in columns.items()})

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, object]]) -> Self:
        """Build a table from rows with the same keys."""
        return cls.of({name: [row[name] for row in rows] for name in rows[0]})

    def __getitem__(self, name: str) -> NDArray[Any]:
        return validation.named("column", name, self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def where(self, **values: object) -> "Table":
        """Return the rows with those values; a column that the table lacks does not restrict it."""
        keep = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            if name in self.columns:
                keep &= self[name] == (value if name in NUMBERS else label(value))
        return Table({name: column[keep] for name, column in self.columns.items()})

    def values(self, name: str) -> list[str]:
        """Return the distinct labels of a column, in order of first occurrence."""
        return list(dict.fromkeys(self[name].tolist()))

    def groups(self, *names: str) -> Iterator[tuple[tuple[str, ...], "Table"]]:
        """Yield each combination of labels that occurs, in order of first occurrence, with its rows."""
        rows = zip(*(self[name].tolist() for name in names), strict=True) if names else [()]
        for key in dict.fromkeys(rows):
            yield key, self.where(**dict(zip(names, key, strict=True)))

    def final(self) -> "Table":
        """Return the rows of the last round."""
        return self.where(round=self["round"].max(initial=0.0))

    def write(self, path: Path) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(zip(*(map(label, column.tolist()) for column in self.columns.values()), strict=True))
        with replacing(path) as file:
            file.write(text.getvalue().encode())

    @classmethod
    def read(cls, path: Path) -> Self:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        if not rows:
            raise FileError(f"{path}: expected a table with rows, got none. Remove it, and run again.")
        return cls.of_rows(rows)


def _column(name: str, values: Sequence[object]) -> NDArray[Any]:
    return np.array(values, dtype=float) if name in NUMBERS else np.array(list(map(label, values)), dtype=object)


def join(tables: Sequence[Table]) -> Table:
    """Concatenate tables that have the same columns."""
    return Table({name: np.concatenate([table[name] for table in tables]) for name in tables[0].columns})
