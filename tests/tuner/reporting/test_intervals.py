import math

import numpy as np
import pytest

from softbandit.tuner.reporting.intervals import Interval

A, B = np.array([9.0, 10.0, 11.0, 12.0]), np.array([5.0, 9.0, 4.0])


def test_the_interval_of_a_mean_is_students():
    stats = pytest.importorskip("scipy.stats")
    expected = stats.t.interval(0.95, 3, loc=10.5, scale=stats.sem(A))
    np.testing.assert_allclose(Interval.of(A), [10.5, *expected])


def test_the_interval_of_a_share_is_wilsons():
    stats = pytest.importorskip("scipy.stats")
    for ones, n in ((0, 20), (3, 50), (20, 20)):
        expected = stats.binomtest(ones, n).proportion_ci(0.95, method="wilson")
        share = Interval.of_share([1.0] * ones + [0.0] * (n - ones))
        np.testing.assert_allclose(share, [ones / n, expected.low, expected.high], atol=1e-15)


def test_the_interval_of_a_difference_is_welchs():
    stats = pytest.importorskip("scipy.stats")
    expected = stats.ttest_ind(A, B, equal_var=False).confidence_interval(0.95)
    np.testing.assert_allclose(Interval.of_difference(A, B), [4.5, expected.low, expected.high])


def test_equal_numbers_have_an_interval_without_width():
    assert Interval.of([2.0, 2.0]) == (2.0, 2.0, 2.0)
    assert Interval.of_difference([2.0, 2.0], [1.0, 1.0]) == (1.0, 1.0, 1.0)


def test_too_few_numbers_have_no_interval():
    assert Interval.of([]) is Interval.of_share([]) is Interval.of_difference([1.0], []) is None
    assert Interval.of([3.0]) == (3.0, -math.inf, math.inf)
    assert Interval.of([3.0]).show(str) == "3.0"
    assert Interval.of_difference([3.0], [1.0, 2.0]) == (1.5, -math.inf, math.inf)


def test_an_interval_is_shown_in_the_units_of_its_reader():
    assert Interval(11.912, 11.6, 12.2).show("{:.4g}".format) == "11.91 [11.6, 12.2]"
    assert Interval(0.01, 0.0, 0.05).show("{:.0%}".format) == "1% [0%, 5%]"
