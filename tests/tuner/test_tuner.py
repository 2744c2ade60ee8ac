import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from softbandit_tests.shared_agents import run_in_threads
from softbandit_tests.stressed_tuners import fingerprint

import softbandit as sb
from softbandit.errors import install_command

pytestmark = pytest.mark.extra

VALUES = {"clients": 4, "rate": 0.1, "codec": "lz4"}


# -- Ask and tell. --


def test_a_round_is_asked_for_and_told(make):
    tuner = make()
    suggestion = tuner.ask()
    assert suggestion.id == 1
    assert suggestion.values.keys() == VALUES.keys()
    tuner.tell(suggestion, rows=41_200, note="a remark")
    (row,) = tuner.history()
    assert (row.id, row.values, row.status) == (1, suggestion.values, "told")
    assert row.metrics == {"rows": 41_200.0, "note": "a remark"}
    assert row.asked < row.told


def test_a_round_can_be_told_by_its_id_from_another_object(make, store):
    make().ask()
    sb.Tuner.open("ingest", store=store).tell(1, rows=3)
    assert make().history()[0].status == "told"


def test_the_same_report_again_has_no_effect(make):
    tuner = make()
    suggestion = tuner.ask()
    for _ in range(3):
        tuner.tell(suggestion, rows=0.1 + 0.2)
    assert len(tuner._session.events()) == 3
    assert tuner.history()[0].metrics == {"rows": 0.1 + 0.2}


def test_a_contradicting_report_is_refused_with_both(make):
    tuner = make()
    suggestion = tuner.ask()
    tuner.tell(suggestion, rows=3)
    with pytest.raises(sb.DecisionError, match=r"rows=3\.0.*rows=4\.0"):
        tuner.tell(suggestion, rows=4)
    with pytest.raises(sb.DecisionError, match=r"rows=3\.0.*failed='timeout'"):
        tuner.tell(suggestion, failed="timeout")
    assert tuner.history()[0].metrics == {"rows": 3.0}


def test_a_failure_is_reported_once_and_keeps_its_first_reason(make):
    tuner = make()
    suggestion = tuner.ask()
    tuner.fail(suggestion, "timeout")
    tuner.tell(suggestion, failed="another")
    with pytest.raises(sb.DecisionError, match=r"failed='timeout'.*rows=1\.0"):
        tuner.tell(suggestion, rows=1)
    (row,) = tuner.history()
    assert (row.status, row.reason, row.metrics) == ("failed", "timeout", None)


def test_a_report_about_an_unknown_ask_is_refused(make):
    tuner = make()
    with pytest.raises(sb.DecisionError, match="none yet"):
        tuner.tell(1, rows=1)
    tuner.ask()
    with pytest.raises(sb.DecisionError, match="1 to 1, got 2"):
        tuner.tell(2, rows=1)
    with pytest.raises(sb.DecisionError, match="one of 'ingest'"):
        tuner.tell(make("other").ask(), rows=1)


def test_a_report_needs_its_metrics_and_only_numbers(make):
    tuner = make(limits=[sb.Mean("latency_ms", at_most=12)])
    suggestion = tuner.ask()
    for metrics in ({"rows": 1}, {"rows": float("nan"), "latency_ms": 1}, {"rows": "1", "latency_ms": 1}):
        with pytest.raises(sb.FeedbackError):
            tuner.tell(suggestion, **metrics)
    with pytest.raises(sb.FeedbackError, match="not both"):
        tuner.tell(suggestion, failed="timeout", rows=1, latency_ms=1)
    assert tuner.history()[0].status == "asked"


def test_many_asks_before_the_first_report_differ(make):
    tuner = make()
    suggestions = [tuner.ask() for _ in range(8)]
    assert [s.id for s in suggestions] == list(range(1, 9))
    assert len({tuple(s.values.values()) for s in suggestions}) == 8


# -- One round as a block. --


def test_a_block_reports_what_it_measured(make):
    tuner = make()
    with tuner.round() as round:
        round.report(rows=round.values["clients"])
    assert tuner.history()[0].metrics == {"rows": round.values["clients"]}


def test_an_exception_in_a_block_is_a_failure_and_raised_again(make):
    tuner = make()
    with pytest.raises(TimeoutError, match="too slow"), tuner.round():
        raise TimeoutError("too slow")
    assert tuner.history()[0].reason == "TimeoutError: too slow"


def test_an_exception_after_the_report_changes_nothing(make):
    tuner = make()

    def report_and_fail(round):
        round.report(rows=1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), tuner.round() as round:
        report_and_fail(round)
    assert tuner.history()[0].status == "told"


def test_a_block_without_a_report_is_a_failure(make):
    tuner = make()
    with tuner.round():
        pass
    assert tuner.history()[0].reason == "no report"


def test_an_interrupted_block_says_nothing_about_its_values(make):
    tuner = make()
    with pytest.raises(KeyboardInterrupt), tuner.round():
        raise KeyboardInterrupt
    assert tuner.history()[0].status == "expired"


def test_a_refused_report_is_no_failure_of_the_values(make):
    tuner = make()
    with pytest.raises(sb.FeedbackError), tuner.round() as round:
        round.report(row=1)
    assert tuner.history()[0].status == "expired"
    tuner.tell(round.id, rows=1)
    assert tuner.history()[0].status == "told"


def test_an_exception_that_cannot_be_shown_is_a_failure_too(make):
    class OddError(Exception):
        def __str__(self):
            raise RuntimeError

    tuner = make()
    with pytest.raises(OddError), tuner.round():
        raise OddError
    assert "OddError" in tuner.history()[0].reason


def test_the_exception_of_a_block_is_raised_even_if_the_store_is_gone(make, monkeypatch):
    tuner = make()
    round = tuner.round()
    monkeypatch.setattr(tuner._session.store, "write", lambda *_: (_ for _ in ()).throw(sb.StoreError("gone")))
    monkeypatch.setattr(tuner._session.store, "report", lambda *_: (_ for _ in ()).throw(sb.StoreError("gone")))
    with pytest.raises(TimeoutError) as caught, round:
        raise TimeoutError
    assert "could not be reported: gone" in caught.value.__notes__[0]


# -- Deadlines. --


def test_a_round_expires_after_the_deadline_and_a_late_report_counts(make, monkeypatch):
    tuner = make(deadline=60)
    late, lost = tuner.ask(), tuner.ask()
    start = tuner.history()[0].asked.timestamp()
    monkeypatch.setattr("time.time", lambda: start + 61)
    tuner.ask()
    assert [row.status for row in tuner.history()] == ["expired", "expired", "asked"]
    tuner.tell(late, rows=5)
    tuner.fail(lost, "timeout")
    assert [row.status for row in tuner.history()] == ["told", "failed", "asked"]
    monkeypatch.setattr("time.time", lambda: start + 90)
    tuner.ask()
    assert [row.status for row in tuner.history()] == ["told", "failed", "asked", "asked"]


# -- Names and descriptions. --


def test_the_same_description_continues_a_tuner(make):
    make().ask()
    assert make().ask().id == 2


def test_another_description_is_refused_with_what_differs(make):
    make()
    with pytest.raises(sb.ArgumentError, match=r"seed: 0, now 1.*change"):
        make(seed=1)


def test_a_tuner_can_be_opened_by_name_and_tuners_are_listed(make, store):
    make("b"), make("a")
    assert sb.tuners(store) == ["a", "b"]
    assert sb.Tuner.open("a", store=store).description == make("b").description
    with pytest.raises(sb.UnknownNameError, match="one of 'a', 'b'"):
        sb.Tuner.open("c", store=store)


def test_a_store_that_does_not_exist_is_not_created_by_opening_it(file_store, tmp_path):
    with pytest.raises(sb.StoreError, match="a file with tuners"):
        sb.Tuner.open("ingest", store=file_store)
    with pytest.raises(sb.StoreError, match="a file with tuners"):
        sb.tuners(file_store)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "a\nb", "\0", "a" * 201, 3, None, "\udcff"])
def test_a_name_is_printable_text(make, name):
    with pytest.raises(sb.ArgumentError, match="name"):
        make(name)


IN_MEMORY = ["sqlite://", "sqlite:///:memory:", ":memory:"]


@pytest.mark.parametrize("store", [*IN_MEMORY, "mysql://host/a", "no such://", 3, None, "a\0b"])
def test_a_store_is_a_path_or_a_url_of_a_known_kind(store):
    with pytest.raises(sb.ArgumentError, match="store"):
        sb.tuners(store)


def test_copies_and_pickles_continue_the_same_tuner(make):
    tuner = make()
    tuner.ask()
    assert pickle.loads(pickle.dumps(tuner)).ask().id == 2
    assert copy.deepcopy(tuner).ask().id == 3


# -- Changes. --


def test_a_change_is_kept_and_checked_at_the_next_report_of_any_process(make, store):
    tuner = make()
    first = tuner.ask()
    tuner.tell(first, rows=1)
    sb.Tuner.open("ingest", store=store).change(limits=[sb.Mean("latency_ms", at_most=12)])
    second = tuner.ask()
    with pytest.raises(sb.FeedbackError, match="latency_ms"):
        tuner.tell(second, rows=1)
    tuner.tell(second, rows=1, latency_ms=3)
    with pytest.raises(sb.ArgumentError, match="latency_ms"):
        make()
    with pytest.raises(sb.UnknownNameError):
        tuner.change(colour="red")
    assert [row.status for row in tuner.history()] == ["told", "told"]


def test_a_metric_that_is_no_longer_needed_may_be_left_out_at_once(make, store):
    tuner = make(limits=[sb.Mean("latency_ms", at_most=12)])
    suggestions = [tuner.ask(), tuner.ask()]
    tuner.tell(suggestions[0], rows=1, latency_ms=3)
    sb.Tuner.open("ingest", store=store).change(limits=[])
    tuner.tell(suggestions[1], rows=1)
    assert tuner.history()[1].metrics == {"rows": 1.0}


def test_a_paused_tuner_suggests_its_baseline_until_it_is_resumed(make):
    tuner = make(baseline=VALUES)
    tuner.pause()
    tuner.pause()
    suggestions = [tuner.ask() for _ in range(8)]
    assert all((s.values, s.kind) == (VALUES, "paused") for s in suggestions)
    tuner.resume()
    assert tuner.ask().kind != "paused"
    kinds = [event.kind for event in tuner._session.events()]
    assert (kinds.count("paused"), kinds.count("resumed")) == (1, 1)


# -- Contexts and observations. --


def test_a_context_is_asked_with_and_kept(make):
    tuner = make(context={"hour": sb.Cyclic(24), "tier": sb.Categorical([("a", 1), ("b", 2)])})
    suggestion = tuner.ask({"hour": 23, "tier": ["a", 1]})
    assert suggestion.context == {"hour": 23.0, "tier": ("a", 1)} == tuner.history()[0].context
    for context in (None, {"hour": 3}, {"hour": 3, "tier": "c"}, 3):
        with pytest.raises(sb.ArgumentError):
            tuner.ask(context)
    assert len(tuner.history()) == 1


def test_a_context_of_a_tuner_without_one_is_refused(make):
    with pytest.raises(sb.ArgumentError, match="no context"):
        make().ask({"hour": 3})


def test_observations_are_stored_one_by_one_from_rows_and_from_a_data_frame(make):
    tuner = make(context={"hour": sb.Cyclic(24)})
    tuner.observe(VALUES, {"rows": 1}, {"hour": 1})
    tuner.observe({**VALUES, "hour": hour, "rows": np.float32(0.1), "note": "x"} for hour in range(2))
    frame = pytest.importorskip("pandas").DataFrame([{**VALUES, "hour": 2.5, "rows": 7}] * 3)
    tuner.observe(frame)
    with tuner._session.up_to_date() as replay:
        rows = replay.rounds.observed
    assert len(rows) == 6
    assert {tuple(row.values.items()) for row in rows} == {tuple(VALUES.items())}
    assert [row.context["hour"] for row in rows] == [1.0, 0.0, 1.0, 2.5, 2.5, 2.5]
    assert rows[1].metrics == {"rows": float(np.float32(0.1)), "note": "x"}


@pytest.mark.parametrize("rows", [3, "rows", None, VALUES, [1], [VALUES], [{**VALUES, "rows": float("nan")}]])
def test_an_observation_that_is_wrong_is_refused_with_all_others(make, rows):
    tuner = make()
    good = {**VALUES, "rows": 1}
    with pytest.raises(sb.SoftbanditError):
        tuner.observe([good, *rows] if isinstance(rows, list) else rows)
    with tuner._session.up_to_date() as replay:
        assert replay.number == 1


def test_the_error_of_a_bad_row_names_it(make):
    with pytest.raises(sb.ArgumentError, match="row 1: .*clients"):
        make().observe([{**VALUES, "rows": 1}, {**VALUES, "rows": 1, "clients": 99}])


# -- Threads. --


def test_threads_share_a_tuner(make):
    tuner = make()

    def play(i):
        for _ in range(4):
            tuner.tell(tuner.ask(), rows=i)

    run_in_threads(*[play] * 4)
    rows = tuner.history()
    assert [row.id for row in rows] == list(range(1, 17))
    assert sorted(row.metrics["rows"] for row in rows) == sorted([0.0, 1.0, 2.0, 3.0] * 4)


def test_an_interrupted_call_leaves_nothing_half_known(make, monkeypatch):
    tuner, other = make(), make()
    for i in range(12):
        other.tell(other.ask(), rows=i)

    def interrupted(event):
        raise KeyboardInterrupt

    monkeypatch.setattr(tuner._session._replay, "_follow", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tuner.ask()
    assert fingerprint(tuner) == fingerprint(other)
    assert tuner.ask().id == 13


def test_without_sqlalchemy_an_error_says_how_to_install_it():
    code = "import sys; sys.modules['sqlalchemy'] = None; import softbandit; softbandit.tuners('a.db')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"MissingExtraError: sqlalchemy is not installed. Install it with: {install_command('tuner')}" in done.stderr
