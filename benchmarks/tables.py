"""Results as CSV files. Rows are appended as they are measured, so that a run that is stopped keeps them."""

import csv
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
RENAMED = {"bytes_a_round": "bytes_per_round", "us_a_round": "us_per_round"}  # columns of older files


def read(path):
    """Return the rows as dictionaries of text; none if there is no such file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{RENAMED.get(name, name): value for name, value in row.items()} for row in csv.DictReader(file)]


def start(path, columns):
    """Write a new file with only a header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(columns)


def append(path, row):
    with path.open("a", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(row.values())
