import numpy as np
import pytest

import softbandit as sb
from softbandit.experiments.tables import Table, label

ROWS = [
    {"policy": "a", "width_scale": 1.0, "instance": 0, "trial": 0, "round": 10, "violation": 0.5},
    {"policy": "a", "width_scale": 0.2, "instance": 0, "trial": 0, "round": 20, "violation": 1 / 3},
    {"policy": "b", "width_scale": 0.2, "instance": 1, "trial": 1, "round": 20, "violation": 0.0},
]
TABLE = Table.of_rows(ROWS)


def test_a_written_table_is_read_back(tmp_path):
    TABLE.write(tmp_path / "t.csv")
    copy = Table.read(tmp_path / "t.csv")
    assert list(copy.columns) == list(ROWS[0])
    assert copy["policy"].tolist() == ["a", "a", "b"]
    assert copy["width_scale"].tolist() == ["1", "0.2", "0.2"]  # a setting is a label
    np.testing.assert_allclose(copy["violation"], [0.5, 1 / 3, 0.0], rtol=1e-9)  # ten digits are written
    assert (tmp_path / "t.csv").read_text().splitlines()[0] == "policy,width_scale,instance,trial,round,violation"


def test_where_selects_rows_by_value_however_a_number_is_written():
    assert len(TABLE.where(width_scale=0.20)) == 2
    assert len(TABLE.where(width_scale=1, policy="a")) == 1
    assert len(TABLE.where(no_such_column=3)) == 3
    assert TABLE.final()["policy"].tolist() == ["a", "b"]


def test_groups_keep_the_order_of_first_occurrence():
    assert [key for key, _ in TABLE.groups("policy", "width_scale")] == [("a", "1"), ("a", "0.2"), ("b", "0.2")]
    assert [len(part) for _, part in TABLE.groups("policy")] == [2, 1]
    assert [key for key, _ in TABLE.groups()] == [()]


def test_a_misspelt_column_raises_an_error_with_a_suggestion():
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'violation'"):
        TABLE["violaton"]


def test_a_table_without_rows_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(sb.FileError, match="expected a table with rows"):
        Table.read(tmp_path / "t.csv")


@pytest.mark.parametrize(("value", "text"), [(True, "yes"), (3, "3"), (0.1 + 0.2, "0.3"), ("x", "x")])
def test_label_writes_a_setting_the_same_way_every_time(value, text):
    assert label(value) == text
