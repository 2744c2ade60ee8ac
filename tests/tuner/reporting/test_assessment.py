import math
from datetime import UTC, datetime

import numpy as np
import pytest

import softbandit as sb
from softbandit.tuner import Description
from softbandit.tuner.reporting.assessment import count_rounds, mean_rewards
from softbandit.tuner.reporting.plots import draw_tuner
from softbandit.tuner.rounds import Round

pytest.importorskip("sqlalchemy")
pytestmark = pytest.mark.extra
TIME = datetime(2026, 1, 1, tzinfo=UTC)


def told(id, n, rows):
    return Round(id, {"n": n}, None, "best", {}, TIME, "told", {"rows": rows}, None, TIME)


def test_rewards_are_compared_with_rounds_at_the_baseline():
    description = Description.of(space={"n": sb.Integer(1, 9)}, minimize="rows", baseline={"n": 4})
    rounds = [told(1, 4, 10.0), told(2, 4, 12.0), told(3, 5, 8.0), told(4, 6, 10.0)]
    failed = Round(5, {"n": 4}, None, "best", {}, TIME, "failed", None, "timeout", TIME)
    reward, baseline, gain = mean_rewards(description, [*rounds, failed])
    assert (reward.mean, baseline.mean) == (9.0, 11.0)
    # It is minimised, so 2 less is a gain of 2; Welch: both variances are 2, with 2 degrees of freedom, t = 4.303.
    np.testing.assert_allclose(gain, [2.0, 2 - 4.3026527 * math.sqrt(2), 2 + 4.3026527 * math.sqrt(2)])
    assert count_rounds([*rounds, failed], 3) == {
        "told": 4, "failed": 1, "expired": 0, "pending": 0, "observed besides": 3,
    }  # fmt: skip


@pytest.fixture(scope="module")
def tuner(tmp_path_factory):
    """A tuner after 20 rounds: rows = 100 n, and ms = n is to be at most 5 on average."""
    made = sb.Tuner(
        "ingest",
        space={"n": sb.Integer(1, 9), "rate": sb.LogFloat(0.1, 1), "k": sb.Categorical([1, 2]), "c": sb.Fixed("x")},
        maximize="rows",
        limits=[sb.Mean("ms", at_most=5), sb.Share("ms", above=7, at_most=0.2, over=10)],
        baseline={"n": 2, "rate": 0.5, "k": 1, "c": "x"},
        store=tmp_path_factory.mktemp("store") / "tuners.db",
    )
    for i in range(20):
        with made.round() as round:
            if i == 7:
                round.fail("timeout")
            else:
                round.report(rows=100.0 * round.values["n"] + i % 3, ms=float(round.values["n"]))
    made.ask()
    return made


def test_a_status_has_the_numbers_of_the_history(tuner):
    status, rows = tuner.status(), tuner.history()
    told = [row for row in rows if row.status == "told"]
    assert status.counts == {"told": 19, "failed": 1, "expired": 0, "pending": 1, "observed besides": 0}
    assert status.pending == [21]
    at_baseline = [row.metrics["rows"] for row in told if row.values["n"] == 2 and row.values["rate"] == 0.5]
    assert status.baseline.mean == pytest.approx(np.mean(at_baseline))
    assert status.notes == ["The last failure was round 8: timeout"]


def test_a_failed_round_counts_in_the_limits_as_the_worst_so_far(tuner):
    rows = tuner.history()[:20]
    worst = max(row.metrics["ms"] for row in rows[:7])
    measured = [worst if row.metrics is None else row.metrics["ms"] for row in rows]
    mean, share = tuner.status().limits
    assert (mean.rounds, share.rounds) == (20, 10)
    assert mean.measured.mean == pytest.approx(np.mean(measured))
    assert share.measured.mean == pytest.approx(np.mean([value > 7 for value in measured[-10:]]))


def test_the_recommendation_of_a_status_is_that_of_the_tuner(tuner):
    recommended, best = tuner.status().recommended, tuner.recommend()
    assert recommended.values == best.values
    assert recommended.metric == tuple(best.metric)
    assert recommended.feasible == best.feasible
    assert recommended.gain.mean == pytest.approx(best.metric.value - 200, abs=30)
    assert str(tuner) == str(tuner.status())
    assert max(map(len, str(tuner).splitlines())) < 80


def test_the_frame_of_a_tuner_has_one_row_per_round(tuner):
    pytest.importorskip("pandas")
    assert tuner.frame()["n"].tolist() == [row.values["n"] for row in tuner.history()]


def test_a_tuner_is_drawn_with_a_panel_for_each_limit_and_parameter(tuner):
    pytest.importorskip("matplotlib")
    figure = draw_tuner("ingest", tuner._session._replay.rounds, tuner._session._replay.decider)
    drawn = figure.axes[1].lines[0].get_ydata()
    assert drawn[-1] == pytest.approx(tuner.status().limits[0].measured.mean)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == [
        "Metric: rows",
        "Limit: mean ms <= 5",
        "Price of mean ms <= 5",
        "Limit: share of ms > 7 <= 20%, last 10 rounds",
        "Price of share of ms > 7 <= 20%, last 10 rounds",
        "Effect of n",
        "Effect of rate",
        "Effect of k",
    ]


def test_a_figure_needs_a_name_that_says_its_format(tuner, tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(sb.ArgumentError, match="figure: expected a name ending in .png"):
        tuner.plot(tmp_path / "tuner.txt")


def test_a_tuner_without_rounds_has_a_status_and_a_figure(tmp_path):
    pytest.importorskip("matplotlib")
    new = sb.Tuner("new", space={"n": sb.Integer(1, 9)}, minimize="ms", store=tmp_path / "tuners.db")
    assert str(new) == "new: minimize ms; no rounds yet"
    new.plot(tmp_path / "new.svg")


def test_with_contexts_the_status_is_for_the_context_of_the_last_round(tmp_path):
    daily = sb.Tuner(
        "daily",
        space={"n": sb.Integer(1, 9)},
        context={"hour": sb.Cyclic(24)},
        minimize="ms",
        store=tmp_path / "tuners.db",
    )
    for hour in range(9):
        with daily.round(context={"hour": float(hour)}) as round:
            round.report(ms=round.values["n"] + hour)
    assert daily.status().recommended.context == {"hour": 8.0}
    assert "recommended if hour=8: n=" in str(daily)
