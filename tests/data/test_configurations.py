"""The measured configurations that come with the library, against rows copied from the files by hand."""

import csv
from importlib import resources

import numpy as np
import pytest

from softbandit.data import SYSTEMS, load_configurations

# The last line of each file: the number of parameters, how many rows there are, and that line's numbers.
LAST_LINES = {
    "SS-A": (3, 1343, "10000,3,11,605.41,6333.2"),
    "SS-C": (3, 1512, "60000,6,18,167.86,34860"),
    "SS-D": (3, 196, "1.00E+06,6,18,26933,979.55"),
    "SS-E": (3, 756, "1.00E+06,6,18,47878,531.32"),
    "SS-M": (17, 864, "0,0,0,0,1,0,0,1,1,1,0,0,0,0,0,0,1,6.6884,249.4,2.163136"),
    "SS-O": (11, 972, "1,1,1,1,0,0,1,1,65536,512,64,60.98544,1.741663"),
    "SS-Q": (13, 2736, "1,1,1,0,0,1,1,0,1,4,2,15,6,25827.4,1337,66.393077"),
}
every_system = pytest.mark.parametrize("name", SYSTEMS)


@every_system
def test_the_last_line_of_a_file_is_the_last_configuration_and_its_measurements(name):
    count, rows, line = LAST_LINES[name]
    table, numbers = load_configurations(name), [float(text) for text in line.split(",")]
    assert table.settings.shape == (rows, count) == (len(table.values), len(table.parameters))
    np.testing.assert_array_equal(table.settings[-1], numbers[:count])
    np.testing.assert_array_equal(table.values[-1], numbers[count:])


@every_system
def test_every_number_of_a_file_is_under_the_name_of_its_column(name):
    table = load_configurations(name)
    with resources.files("softbandit.data").joinpath("moot", f"{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    for j, parameter in enumerate(table.parameters):
        np.testing.assert_array_equal(table.settings[:, j], [float(row[parameter]) for row in rows])
    for metric in table.metrics:
        np.testing.assert_array_equal(table.metric(metric), [float(row[metric]) for row in rows])


@every_system
def test_no_configuration_occurs_twice_and_all_measurements_are_positive(name):
    table = load_configurations(name)
    assert len({tuple(row) for row in table.settings.tolist()}) == len(table.settings)
    assert (table.values > 0).all()


def test_the_files_come_with_their_licence_and_attribution():
    folder = resources.files("softbandit.data").joinpath("moot")
    assert "Copyright (c) 2025 Tim Menzies" in folder.joinpath("LICENSE").read_text()
    assert "https://github.com/timm/moot" in folder.joinpath("README.md").read_text()


def test_an_unknown_system_suggests_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'SS-D'"):
        load_configurations("SSD")
