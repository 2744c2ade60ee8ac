import itertools

import numpy as np
import pytest
from scipy import stats

from softbandit.experiments.statistics import (
    curves,
    exponent,
    growth,
    growth_interval,
    interval,
    intervals,
    readable,
    units,
)
from softbandit.experiments.tables import Table


def table(rows):
    names = ["policy", "instance", "trial", "round", "violation"]
    return Table.of_rows([dict(zip(names, row, strict=True)) for row in rows])


def test_an_interval_agrees_with_the_quantiles_of_all_resamples():
    values = np.array([0.0, 1.0, 5.0, 30.0])
    means = [np.mean(sample) for sample in itertools.product(values, repeat=4)]  # all 256, equally likely
    low, high = np.quantile(means, [0.025, 0.975])
    estimate = interval(values)
    assert estimate.mean == 9.0
    # 2,000 of them have quantiles within 4 standard errors of the probability, 4 sqrt(0.025 * 0.975 / 2000) = 0.014.
    assert np.quantile(means, 0.011) <= estimate.low <= np.quantile(means, 0.039)
    assert np.quantile(means, 0.961) <= estimate.high <= np.quantile(means, 0.989)
    assert low < estimate.mean < high


def test_the_interval_of_many_normal_values_is_students():
    values = np.random.default_rng(0).normal(3, 2, 400)
    low, high = stats.t.interval(0.95, 399, values.mean(), values.std(ddof=1) / np.sqrt(400))
    # A quantile of 2,000 normal draws has a standard error of 0.06 of their deviation: of this width, 1.5%.
    assert interval(values) == pytest.approx((values.mean(), low, high), abs=0.06 * (high - low))
    np.testing.assert_array_equal(intervals(values[:, None])[:, 0], interval(values))


def test_the_interval_of_counts_is_not_negative():
    assert interval(np.array([0.0] * 20 + [900.0])).low == 0.0


def test_equal_values_have_an_interval_of_width_zero_and_a_single_value_has_none():
    assert interval(np.array([2.0, 2.0])) == (2.0, 2.0, 2.0)
    single = interval(np.array([2.0]))
    assert single.mean == 2.0
    assert np.isnan(single.low)


def test_units_are_instances_if_there_are_several_and_trials_otherwise():
    rows = [("a", 0, 0, 5, 1.0), ("a", 0, 1, 5, 3.0), ("a", 1, 2, 5, 10.0)]
    np.testing.assert_array_equal(units(table(rows), "violation"), [2.0, 10.0])
    np.testing.assert_array_equal(units(table(rows[:2]), "violation"), [1.0, 3.0])


def test_units_are_in_the_order_of_trials_so_that_policies_are_paired():
    rows = [("a", 0, 1, 5, 3.0), ("a", 0, 0, 5, 1.0)]
    np.testing.assert_array_equal(units(table(rows), "violation"), [1.0, 3.0])


def test_curves_have_one_row_per_unit():
    rows = [("a", 0, trial, t, 10.0 * trial + t) for trial in range(3) for t in (1, 2)]
    rounds, values = curves(table(rows), "violation")
    np.testing.assert_array_equal(rounds, [1, 2])
    np.testing.assert_array_equal(values, [[1, 2], [11, 12], [21, 22]])


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_growth_of_a_power_of_t_is_that_power(power):
    t = np.array([100.0, 1000.0])
    assert growth(np.outer([1.0, 3.0], t**power), (100, 1000)) == pytest.approx(power)


def test_growth_from_zero_is_infinite_and_growth_of_zero_is_zero():
    assert growth(np.array([[0.0, 1.0]]), (1, 2)) == float("inf")
    assert growth(np.array([[0.0, 0.0]]), (1, 2)) == 0.0


def test_the_interval_of_growth_covers_the_powers_of_its_units():
    t = np.array([100.0, 1000.0])
    values = np.stack([t**power for power in (0.4, 0.5, 0.6)])
    estimate = growth_interval(values, (100, 1000))
    assert estimate.low == pytest.approx(0.4)  # all three drawn alike has probability 1/27, beyond 2.5%
    assert estimate.high == pytest.approx(0.6)
    assert estimate.mean == pytest.approx(np.log10(values.mean(axis=0)[1] / values.mean(axis=0)[0]))
    assert growth_interval(values, (100, 1000)) == estimate


def test_growth_that_is_infinite_in_some_resamples_has_an_infinite_upper_end():
    assert growth_interval(np.array([[0.0, 1.0], [1.0, 2.0]]), (1, 10)).high == float("inf")


def test_readable_writes_three_digits_without_exponents_in_the_usual_range():
    assert [readable(v) for v in (0.0, 12.345, 1234.5, 1e9, -0.0012345)] == ["0", "12.3", "1,234", "1e+09", "-0.00123"]


def test_the_exponent_is_fitted_on_the_upper_half_of_the_range():
    x = np.array([10.0, 20.0, 100.0, 1000.0, 10_000.0])
    assert exponent(x, np.where(x < 100, 7.0, 3 * x**2)) == pytest.approx(2.0)
