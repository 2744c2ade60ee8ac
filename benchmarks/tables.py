"""Results as CSV files: rows are appended as they come, so that a run that is stopped keeps what it has."""

import csv
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def read(path):
    """The rows, as dictionaries of text; none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def start(path, columns):
    """A new file with a header alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(columns)


def append(path, row):
    with path.open("a", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(row.values())
