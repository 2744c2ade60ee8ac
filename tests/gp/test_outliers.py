"""Observations far from what all others let expect: predictions without one of them, against the dense formula."""

import numpy as np
import pytest
from softbandit_tests import point_effects_formulas as formulas

import softbandit as sb
from softbandit.gp import learning
from softbandit.gp.outliers import FARTHEST, in_turn, leave_one_out, near_the_middle, without_outliers
from softbandit.gp.point_effects import PointEffects, Repeats

rng = np.random.default_rng(0)
POINTS = rng.random((20, 2))
PLACES = np.r_[np.arange(20), rng.integers(10, size=60)]  # half of the points have repeats
X = POINTS[PLACES]
NOISE = 0.1
MODEL = PointEffects(sb.Matern([0.3, 0.6]), offset=0.2, signal=1.2, own=0.05, noise=NOISE**2)


def surface(X):
    return np.sin(4 * X[:, 0]) + X[:, 1]


Y = surface(X) + NOISE * rng.standard_normal(len(X))


def test_an_observation_counts_at_most_so_many_deviations_from_its_prediction():
    """With mean 1 and variance 4 that is from 1 - 5 * 2 to 1 + 5 * 2; twice as far after each outlier."""
    y, mean, variance = np.array([-9.0, 11.0, 11.5, 20.0, -20.0, 40.0, 50.0]), np.full(7, 1.0), np.full(7, 4.0)
    np.testing.assert_array_equal(in_turn(y, mean, variance), [-9.0, 11.0, 11.0, 20.0, -19.0, 40.0, 41.0])
    np.testing.assert_array_equal(in_turn(np.array([-50.0]), mean[:1], variance[:1], outliers=1), [-19.0])


def test_observations_far_from_the_middle_are_brought_within_its_width():
    """The middle of 0 ... 100 is from 5 to 95, so that its width is 90."""
    y = np.arange(101.0)
    data = Repeats.of(np.zeros((101, 1)), y)
    np.testing.assert_array_equal(near_the_middle(data, y), y)
    y[[0, 100]] = -1e9, 1e9
    np.testing.assert_array_equal(near_the_middle(data, y)[[0, 1, 99, 100]], [-85.0, 1.0, 99.0, 185.0])


@pytest.mark.parametrize("spread", [0.0, 0.01])
def test_after_a_long_stay_at_an_optimum_the_other_observations_are_no_outliers(spread):
    """Of 20 points one is played 600 times more, or 600 others within a hundredth of the range around it."""
    stay = POINTS[3] + spread * rng.uniform(-0.5, 0.5, (600, 2))
    places = np.concatenate([POINTS, stay])
    y = surface(places) + NOISE * rng.standard_normal(len(places))
    data = Repeats.of(places, y)
    np.testing.assert_array_equal(near_the_middle(data, y), y)
    np.testing.assert_array_equal(without_outliers(MODEL, data, y), y)


@pytest.mark.parametrize("i", [0, 7, 15, 40, 79])
def test_each_observation_is_predicted_as_if_it_were_missing(i):
    mean, variance = leave_one_out(MODEL, Repeats.of(X, Y), Y)
    rest = np.delete(np.arange(len(X)), i)
    expected = formulas.moments(MODEL, X[rest], PLACES[rest], Y[rest], X[i][None], PLACES[i][None])
    # A jitter of 1e-9 of the prior's variance, relative to the noise: 1.25e-9 / 0.01, times 80 observations.
    np.testing.assert_allclose(mean[i], expected[0][0], rtol=1e-4)
    np.testing.assert_allclose(variance[i], expected[1][0] + MODEL.noise, rtol=1e-4)


def test_with_too_many_points_those_left_out_are_predicted_from_the_subset(monkeypatch):
    monkeypatch.setattr(learning, "MOST_POINTS", 12)
    data = Repeats.of(X, Y)
    used = learning.subset_of_points(data.counts)
    mean, variance = leave_one_out(MODEL, data, Y)
    known = np.isin(data.place, used)
    first = np.flatnonzero(~known)[0]
    expected = formulas.moments(MODEL, X[known], PLACES[known], Y[known], X[first][None], PLACES[first][None])
    np.testing.assert_allclose(mean[first], expected[0][0], rtol=1e-4)
    np.testing.assert_allclose(variance[first], expected[1][0] + MODEL.noise, rtol=1e-4)


@pytest.mark.parametrize("size", [10.0, -30.0, 1e6])
def test_glitches_count_as_little_however_large_they_are(size):
    """They count within FARTHEST deviations of what is predicted there, as the surface and the model have it."""
    glitches = np.array([3, 25, 60])
    y = Y.copy()
    y[glitches] += size
    counted = without_outliers(MODEL, Repeats.of(X, y), y)
    np.testing.assert_array_equal(np.flatnonzero(counted != y), glitches)
    # A point that was observed once is predicted to about 0.6; the 95% quantile of 80 residuals may be twice as large.
    assert np.abs(counted[glitches] - surface(X)[glitches]).max() < 2 * FARTHEST * 0.6


def test_gaussian_noise_has_no_outliers():
    """5 deviations are exceeded with probability 6e-7: in 4,000 observations with 0.2%."""
    for seed in range(50):
        y = surface(X) + NOISE * np.random.default_rng(seed).standard_normal(len(X))
        np.testing.assert_array_equal(without_outliers(MODEL, Repeats.of(X, y), y), y)


def test_a_model_that_is_wrong_everywhere_makes_no_outliers():
    """Its noise is taken for a hundredth of what it is."""
    sure = PointEffects(MODEL.kernel, 0.2, 1.2, 1e-6, (NOISE / 100) ** 2)
    np.testing.assert_array_equal(without_outliers(sure, Repeats.of(X, Y), Y), Y)


def test_rare_events_of_a_share_are_no_outliers():
    y = np.zeros(len(X))
    y[[5, 50]] = 1.0
    np.testing.assert_array_equal(without_outliers(MODEL, Repeats.of(X, y), y), y)
