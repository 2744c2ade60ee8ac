"""Tidy tables: one row an observation, kept as CSV.

Columns named in NUMBERS hold numbers; all others hold labels, and a number that serves as
a label (a setting in a grid) is written in one way, by `label`.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softbandit.atomic_write import replacing
from softbandit.errors import FileError, UnknownNameError

METRICS = ("regret", "strong_regret", "violation", "positive_violation", "violated_rounds", "arms_tried")
NUMBERS = ("instance", "trial", "round", *METRICS, "microseconds")


def label(value: Any) -> str:
    """A setting as it stands in a table: 0.2, 1, theory.

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
    def of(cls, rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> Self:
        listed = list(rows)
        return cls(
            {
                name: np.array([row[name] for row in listed], dtype=float)
                if name in NUMBERS
                else np.array([label(row[name]) for row in listed], dtype=object)
                for name in names
            }
        )

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.columns:
            raise UnknownNameError.among("column", name, self.columns)
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def where(self, **values: Any) -> "Table":
        """The rows with those values; a column that the table lacks does not restrict it."""
        keep = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            if name in self.columns:
                keep &= self[name] == (value if name in NUMBERS else label(value))
        return Table({name: column[keep] for name, column in self.columns.items()})

    def values(self, name: str) -> list[Any]:
        """What occurs in a column, in order of first occurrence."""
        return list(dict.fromkeys(self[name].tolist()))

    def groups(self, *names: str) -> Iterator[tuple[tuple[Any, ...], "Table"]]:
        """The rows of each combination of values that occurs, in order of first occurrence."""
        keys = list(zip(*(self[name].tolist() for name in names), strict=True)) if names else [()] * len(self)
        for key in dict.fromkeys(keys):
            keep = np.fromiter((k == key for k in keys), dtype=bool, count=len(keys))
            yield key, Table({name: column[keep] for name, column in self.columns.items()})

    def final(self) -> "Table":
        """The rows of the last round."""
        return self.where(round=self["round"].max(initial=0.0))

    def write(self, path: Path) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(zip(*([label(v) for v in column.tolist()] for column in self.columns.values()), strict=True))
        with replacing(path) as file:
            file.write(text.getvalue().encode())

    @classmethod
    def read(cls, path: Path) -> Self:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        if not rows:
            raise FileError(f"{path}: expected a table with rows, got none. Remove it, and run again.")
        return cls.of(rows, list(rows[0]))
