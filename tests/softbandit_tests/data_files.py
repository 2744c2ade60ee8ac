"""Small data files of invented numbers, with the layouts of the originals, and the folder of the originals, if any."""

import os

import pytest
import scipy.io

ORIGINALS = os.environ.get("SOFTBANDIT_DATA", "")
needs_originals = pytest.mark.skipif(not ORIGINALS, reason="SOFTBANDIT_DATA names no folder with the originals")

SOME_PRICES = (("2020-01-02", 10.5, 200), ("2020-01-03", 11.25, 190.5), ("2020-01-06", 12, 180))


def write_mat(path, train, test, coords, **other):
    data = {"train": {"sensordata": train}, "test": {"sensordata": test}, "coords": coords, **other}
    scipy.io.savemat(path, {"data": data}, do_compression=True)
    return path


def random_readings(rng, sensors=5):
    """Return train, test and coords."""
    return rng.integers(50, 900, (30, sensors)), rng.integers(50, 900, (12, sensors)), rng.random((sensors, 2))


def write_csv(path, rows, header=("Date", "AAA", "BBB")):
    path.write_text("\n".join(",".join(map(str, row)) for row in (header, *rows)) + "\n")
    return path
