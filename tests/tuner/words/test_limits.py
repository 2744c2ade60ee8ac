import math

import pytest

import softbandit as sb

VALUES = [10.0, 14.0, 60.0, 50.0]


def mean_cost(limit):
    return math.fsum(map(limit.cost, VALUES)) / len(VALUES)


@pytest.mark.parametrize(
    ("limit", "costs", "measured", "text"),
    [
        (sb.Mean("ms", at_most=12), [-2, 2, 48, 38], 33.5, "mean ms <= 12"),
        (sb.Mean("ms", at_least=20), [10, 6, -40, -30], 33.5, "mean ms >= 20"),
        (sb.Share("ms", above=50, at_most=0.25), [-0.25, -0.25, 0.75, -0.25], 0.25, "share of ms > 50 <= 25%"),
        (sb.Share("ms", below=14, at_most=0.125), [0.875, -0.125, -0.125, -0.125], 0.25, "share of ms < 14 <= 12.5%"),
        (sb.Excess("ms", above=50, at_most=2), [-2, -2, 8, -2], 2.5, "mean excess of ms over 50 <= 2"),
        (sb.Excess("ms", above=0.5, at_most=0), [9.5, 13.5, 59.5, 49.5], 33.0, "mean excess of ms over 0.5 <= 0"),
    ],
    ids=lambda case: case.text if isinstance(case, sb.Mean | sb.Share | sb.Excess) else None,
)
def test_costs_and_measures_match_numbers_worked_by_hand(limit, costs, measured, text):
    assert [limit.cost(value) for value in VALUES] == costs
    assert limit.measure(mean_cost(limit)) == measured
    assert limit.measure(0.0) == limit.bound
    assert limit.text == text


def test_a_window_is_part_of_the_limit():
    limit = sb.Mean("ms", at_most=12, over=500)
    assert limit.window == 500
    assert limit.text == "mean ms <= 12, last 500 rounds"
    assert sb.Mean("ms", at_most=12).window is None


def test_the_end_of_an_interval_of_a_share_or_an_excess_is_a_share_or_an_excess():
    share = sb.Share("ms", above=50, at_most=0.01)
    assert [share.measure(cost) for cost in (-0.5, 0.02, 5.0)] == pytest.approx([0.0, 0.03, 1.0])
    assert [sb.Excess("ms", above=50, at_most=1).measure(cost) for cost in (-3.0, 4.0)] == [0.0, 5.0]


def test_numbers_are_shown_in_the_units_of_the_limit():
    assert sb.Share("ms", above=50, at_most=0.01).show(0.00123456) == "0.12%"
    assert sb.Share("ms", above=50, at_most=0.01).show(-1e-9) == "0%"
    assert sb.Mean("ms", at_most=12).show(11.912345) == "11.91"
    assert sb.Mean("rows", at_least=12).show(17466.9) == "17470"
    assert sb.Excess("ms", above=50, at_most=1).show(-0.1) == "0"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: sb.Mean("ms"), "at_most, at_least: expected one of them, got neither"),
        (lambda: sb.Mean("ms", at_most=1, at_least=2), "at_most, at_least: expected one of them, got both"),
        (lambda: sb.Mean("ms", at_most=math.nan), "at_most: expected a finite number"),
        (lambda: sb.Mean("ms", at_most="12"), "at_most: expected a number, got '12'"),
        (lambda: sb.Mean("ms", at_most=1e50), "at_most: expected a number of at most 1e"),
        (lambda: sb.Mean("", at_most=1), "metric: expected the name of a metric"),
        (lambda: sb.Mean("failed", at_most=1), "metric: expected the name of a metric"),
        (lambda: sb.Mean(3, at_most=1), "metric: expected text"),
        (lambda: sb.Mean("ms", at_most=1, over="some"), 'over: expected "all" or a number of rounds'),
        (lambda: sb.Mean("ms", at_most=1, over=0), "over: expected a whole number from 1"),
        (lambda: sb.Share("ms", at_most=0.1), "above, below: expected one of them, got neither"),
        (lambda: sb.Share("ms", above=1, below=2, at_most=0.1), "above, below: expected one of them, got both"),
        (lambda: sb.Share("ms", above=1, at_most=1), "at_most: expected a share from 0 to 1, less than 1, got 1"),
        (lambda: sb.Excess("ms", above=1, at_most=-1), "at_most: expected a number of at least 0"),
    ],
)
def test_bad_limits_are_refused(build, message):
    with pytest.raises(sb.ArgumentError, match=message):
        build()
