import numpy as np
import pytest

import softbandit as sb
from softbandit.experiments.tables import Table, label

ROWS = [
    {"policy": "a", "width_scale": 1.0, "instance": 0, "trial": 0, "round": 10, "violation": 0.5},
    {"policy": "a", "width_scale": 0.2, "instance": 0, "trial": 0, "round": 20, "violation": 1 / 3},
    {"policy": "b", "width_scale": 0.2, "instance": 1, "trial": 1, "round": 20, "violation": 0.0},
]
TABLE = Table.of(ROWS, list(ROWS[0]))


def test_a_table_comes_back_from_its_file(tmp_path):
    TABLE.write(tmp_path / "t.csv")
    back = Table.read(tmp_path / "t.csv")
    assert list(back.columns) == list(ROWS[0])
    assert back["policy"].tolist() == ["a", "a", "b"]
    assert back["width_scale"].tolist() == ["1", "0.2", "0.2"]  # a setting is a label
    np.testing.assert_allclose(back["violation"], [0.5, 1 / 3, 0.0], rtol=1e-9)  # ten digits are written
    assert (tmp_path / "t.csv").read_text().splitlines()[0] == "policy,width_scale,instance,trial,round,violation"


def test_rows_are_chosen_by_value_however_a_number_is_written():
    assert len(TABLE.where(width_scale=0.20)) == 2
    assert len(TABLE.where(width_scale=1, policy="a")) == 1
    assert len(TABLE.where(no_such_column=3)) == 3
    assert TABLE.final()["policy"].tolist() == ["a", "b"]


def test_groups_keep_the_order():
    assert [key for key, _ in TABLE.groups("policy", "width_scale")] == [("a", "1"), ("a", "0.2"), ("b", "0.2")]
    assert [len(part) for _, part in TABLE.groups("policy")] == [2, 1]
    assert [key for key, _ in TABLE.groups()] == [()]


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'violation'"):
        TABLE["violaton"]


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(sb.FileError, match="expected a table with rows"):
        Table.read(tmp_path / "t.csv")


@pytest.mark.parametrize(("value", "text"), [(True, "yes"), (3, "3"), (0.1 + 0.2, "0.3"), ("x", "x")])
def test_labels(value, text):
    assert label(value) == text
