"""The history of a tuner as a table: one row per round, as CSV or as a data frame."""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from softbandit.errors import needs_extra
from softbandit.tuner.rounds import Round

FIXED = ("id", "status", "kind", "asked", "told", "reason")


def rows_of(rounds: Iterable[Round]) -> list[dict[str, Any]]:
    """Return the rounds as rows with the same columns: what is fixed, then values, context and metrics by name.

    A parameter, a context or a metric whose name is taken by a column before is called "value.NAME" and so on.
    """
    listed = list(rounds)
    parts = {"value": [r.values for r in listed], "context": [r.context or {} for r in listed]}
    parts["metric"] = [r.metrics or {} for r in listed]
    columns = _columns(parts)
    return [
        {name: getattr(r, name) for name in FIXED}
        | {column: parts[part][i].get(name) for column, (part, name) in columns.items()}
        for i, r in enumerate(listed)
    ]


def _columns(parts: Mapping[str, list[dict[str, Any]]]) -> dict[str, tuple[str, str]]:
    """Return the part and the name behind each column."""
    columns: dict[str, tuple[str, str]] = {}
    for part, entries in parts.items():
        for name in dict.fromkeys(name for entry in entries for name in entry):
            taken = name in columns or name in FIXED
            columns[f"{part}.{name}" if taken else name] = part, name
    return columns


def csv_text(rounds: Iterable[Round]) -> str:
    """Return the table as CSV, with times in ISO format and lists as JSON."""
    rows, file = rows_of(rounds), io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(rows[0] if rows else FIXED)
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return file.getvalue()


def _cell(value: Any) -> Any:
    """Return a cell as text or a number."""
    if isinstance(value, datetime):
        return value.isoformat()
    return json.dumps(value) if isinstance(value, (list, tuple)) else value


def frame(rounds: Iterable[Round]) -> Any:
    """Return the table as a pandas data frame, whose index is the round's id."""
    with needs_extra("pandas", "frame"):
        import pandas
    rows = rows_of(rounds)
    return pandas.DataFrame(rows, columns=list(rows[0]) if rows else list(FIXED)).set_index("id")
