import json
import math

import numpy as np
import pytest

import softbandit as sb
from softbandit.tuner.reporting.intervals import Interval
from softbandit.tuner.reporting.status import LimitStatus, Recommended, Status

EXPECTED = (Interval(112.0, 108.0, 116.0), Interval(12.0, 9.0, 15.0), [Interval(11.0, 9.5, 12.5)], 0.93)
MEAN, SHARE = sb.Mean("ms", at_most=12), sb.Share("ms", above=50, at_most=0.1)


def status(**changes):
    fields = {
        "name": "ingest",
        "goal": "maximize rows",
        "metric": "rows",
        "paused": False,
        "counts": {"told": 10, "failed": 0, "expired": 1, "pending": 2},
        "pending": [12, 13],
        "reward": Interval(110.0, 105.0, 115.0),
        "baseline": Interval(100.0, 98.0, 102.0),
        "gain": Interval(10.0, 4.0, 16.0),
        "limits": [LimitStatus(MEAN, 10, Interval(11.4, 11.0, 11.8), 3.25)],
        "recommended": Recommended({"clients": 4, "rate": 0.123456}, None, *EXPECTED),
        "notes": ["the noise of rows is large"],
    }
    return Status(**fields | changes)


def test_a_status_reads_as_sentences():
    assert str(status()).splitlines() == [
        "ingest: maximize rows; 10 told, 1 expired, 2 pending",
        "mean rows 110 [105, 115]; baseline 100 [98, 102]",
        "gain over the baseline +10 [+4, +16], +10.0%",
        "limit mean ms <= 12: 11.4 [11, 11.8], 95% used, held, price 3.25",
        "recommended: clients=4, rate=0.1235",
        "  rows 112 [108, 116], gain +12 [+9, +15]",
        "  mean ms 11 [9.5, 12.5]",
        "  all limits met with probability 0.93",
        "pending rounds: 12, 13",
        "note: the noise of rows is large",
    ]


def test_a_tuner_without_rounds_has_a_short_status():
    nothing = status(
        counts={"told": 0}, pending=[], reward=None, baseline=None, gain=None, recommended=None, notes=[],
        limits=[LimitStatus.of(MEAN, np.array([]), None)],
    )  # fmt: skip
    assert str(nothing).splitlines() == [
        "ingest: maximize rows; no rounds yet",
        "limit mean ms <= 12: no rounds yet",
    ]


def test_a_status_fits_80_columns_whatever_its_names():
    long = status(
        name="n" * 60,
        recommended=Recommended({f"parameter_{i}": i for i in range(30)}, {"hour": 3.5}, *EXPECTED),
        pending=list(range(1, 300)),
        notes=["word " * 60],
        paused=True,
    )
    assert max(map(len, str(long).splitlines())) < 80
    assert all(line.count("[") == line.count("]") for line in str(long).splitlines())
    assert "and 291 more" in str(long)
    assert "paused" in str(long)
    assert "recommended if hour=3.5:" in str(long)


@pytest.mark.parametrize(
    ("costs", "verdict", "used"),
    [
        ([-1.0, -1.0], "held", 11 / 12),
        ([-2.0, 2.5], "at its limit", 12.25 / 12),
        ([1.0, 1.1, 1.0, 1.1], "exceeded", 13.05 / 12),
        ([3.0], "at its limit", 1.25),
    ],
)
def test_the_verdict_on_a_limit_depends_on_the_mean_and_its_interval(costs, verdict, used):
    limit = LimitStatus.of(MEAN, np.array(costs), None)
    assert limit.verdict == verdict
    assert limit.used == pytest.approx(used)
    # The same measurements as a lower bound on their negative: the mean of -ms is at least -12.
    mirrored = LimitStatus.of(sb.Mean("x", at_least=-12), np.array(costs), None)
    assert mirrored.verdict == verdict
    assert mirrored.used is None


def test_a_share_is_shown_in_percent_with_wilsons_interval():
    # 1 of 20 is 5%; Wilson's interval at 95% is 0.9% to 23.6%
    limit = LimitStatus.of(SHARE, np.array([0.9] + [-0.1] * 19), None)
    assert str(limit) == "5% [0.89%, 23.61%], 50% used, held"


def test_json_has_every_number_and_none_for_ends_that_are_not_known():
    data = json.loads(json.dumps(status(gain=Interval(1.0, -math.inf, math.inf)).to_json(), allow_nan=False))
    assert data["gain"] == {"mean": 1.0, "low": None, "high": None}
    assert data["limits"] == [
        {
            "limit": "mean ms <= 12",
            "rounds": 10,
            "measured": {"mean": 11.4, "low": 11.0, "high": 11.8},
            "used": 11.4 / 12,
            "verdict": "held",
            "price": 3.25,
        }
    ]
    assert data["recommended"]["values"] == {"clients": 4, "rate": 0.123456}
    assert data["recommended"]["metric"] == {"mean": 112.0, "low": 108.0, "high": 116.0}
