import numpy as np
import pytest
from scipy import stats

from softbandit.experiments.statistics import bootstrap, curves, growth, interval, readable, units
from softbandit.experiments.tables import Table


def table(rows):
    names = ["policy", "instance", "trial", "round", "violation"]
    return Table.of([dict(zip(names, row, strict=True)) for row in rows], names)


def test_the_interval_is_students():
    values = np.random.default_rng(0).normal(3, 2, 30)
    low, high = stats.t.interval(0.95, 29, values.mean(), values.std(ddof=1) / np.sqrt(30))
    assert interval(values) == pytest.approx((values.mean(), low, high))


def test_equal_values_have_no_width_and_one_value_no_interval():
    assert interval(np.array([2.0, 2.0])) == (2.0, 2.0, 2.0)
    alone = interval(np.array([2.0]))
    assert alone.mean == 2.0
    assert np.isnan(alone.low)


def test_the_unit_is_the_instance_where_there_are_several():
    rows = [("a", 0, 0, 5, 1.0), ("a", 0, 1, 5, 3.0), ("a", 1, 2, 5, 10.0)]
    np.testing.assert_array_equal(units(table(rows), "violation"), [2.0, 10.0])
    np.testing.assert_array_equal(units(table(rows[:2]), "violation"), [1.0, 3.0])


def test_units_are_in_the_order_of_trials_so_that_policies_are_paired():
    rows = [("a", 0, 1, 5, 3.0), ("a", 0, 0, 5, 1.0)]
    np.testing.assert_array_equal(units(table(rows), "violation"), [1.0, 3.0])


def test_curves_have_a_row_a_unit():
    rows = [("a", 0, trial, t, 10.0 * trial + t) for trial in range(3) for t in (1, 2)]
    rounds, values = curves(table(rows), "violation")
    np.testing.assert_array_equal(rounds, [1, 2])
    np.testing.assert_array_equal(values, [[1, 2], [11, 12], [21, 22]])


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_growth_finds_the_power(power):
    t = np.array([100.0, 1000.0])
    assert growth(np.outer([1.0, 3.0], t**power), (100, 1000)) == pytest.approx(power)


def test_growth_from_nothing_is_infinite_and_of_nothing_is_none():
    assert growth(np.array([[0.0, 1.0]]), (1, 2)) == float("inf")
    assert growth(np.array([[0.0, 0.0]]), (1, 2)) == 0.0


def test_the_bootstrap_agrees_with_students_interval_and_with_itself():
    values = np.random.default_rng(1).normal(0, 1, 200)
    ours, theirs = bootstrap(lambda sample: float(sample.mean()), values), interval(values)
    # The bootstrap's quantiles have a standard error of about 3% of the width at 2,000 resamples.
    assert ours == pytest.approx(theirs, abs=0.1 * (theirs.high - theirs.low))
    assert bootstrap(lambda sample: float(sample.mean()), values) == ours


def test_numbers_can_be_read():
    assert [readable(v) for v in (0.0, 12.345, 1234.5, 1e9, -0.0012345)] == ["0", "12.3", "1,234", "1e+09", "-0.00123"]
