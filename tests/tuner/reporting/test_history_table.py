import re
import sys
from datetime import UTC, datetime

import pytest

import softbandit as sb
from softbandit.errors import install_command
from softbandit.tuner.reporting import history_table as table
from softbandit.tuner.rounds import Round

TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ROUNDS = [
    Round(1, {"n": 4, "kind": "a"}, {"hour": 3.5}, "baseline", {}, TIME, "told", {"ms": 1.5, "n": 2.0}, None, TIME),
    Round(2, {"n": 5, "kind": (1, 2)}, {"hour": 4.0}, "best", {}, TIME, "failed", None, "timeout, again", TIME),
    Round(3, {"n": 6, "kind": "a", "new": True}, None, "best", {}, TIME),
]


def test_a_name_that_is_taken_by_a_column_before_gets_a_prefix():
    first = table.rows_of(ROUNDS)[0]
    assert list(first) == [*table.FIXED, "n", "value.kind", "new", "hour", "ms", "metric.n"]
    assert [first[name] for name in ("kind", "value.kind", "n", "metric.n", "new")] == ["baseline", "a", 4, 2.0, None]


def test_csv_has_one_line_per_round():
    at = "2026-01-02T03:04:05+00:00"
    assert table.csv_text(ROUNDS).splitlines() == [
        "id,status,kind,asked,told,reason,n,value.kind,new,hour,ms,metric.n",
        f"1,told,baseline,{at},{at},,4,a,,3.5,1.5,2.0",
        f'2,failed,best,{at},{at},"timeout, again",5,"[1, 2]",,4.0,,',
        f"3,asked,best,{at},,,6,a,True,,,",
    ]
    assert table.csv_text([]) == "id,status,kind,asked,told,reason\n"


@pytest.mark.extra
def test_a_data_frame_has_the_same_columns_and_the_ids_as_index():
    pytest.importorskip("pandas")
    frame = table.frame(ROUNDS)
    assert frame.index.tolist() == [1, 2, 3]
    assert frame["n"].tolist() == [4, 5, 6]
    assert frame["ms"].mean() == 1.5
    assert frame["asked"].dt.year.tolist() == [2026] * 3
    assert table.frame([]).empty


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sb.MissingExtraError, match=re.escape(install_command("frame"))):
        table.frame(ROUNDS)
