"""A posterior after further points in one block, against the dense formula with one row per observation."""

import numpy as np
import pytest
from softbandit_tests import point_effects_formulas as formulas

import softbandit as sb
from softbandit.gp.conditioning import CandidatePosterior
from softbandit.gp.point_effects import PointEffects, PointPosterior, Repeats

rng = np.random.default_rng(0)
ARMS = rng.random((12, 2))
PLAYED, FURTHER = rng.integers(12, size=30), np.array([3, 7, 7, 11, 0, 3])  # both repeat points
Y, Y_FURTHER = rng.standard_normal(30) + 3.0, rng.standard_normal(6) + 3.0


def model(own=0.2):
    return PointEffects(sb.Matern([0.3, 0.6]), offset=2.5, signal=1.7, own=own, noise=0.1)


def candidates(the_model, among=ARMS):
    return CandidatePosterior.of(PointPosterior.of(the_model, Repeats.of(ARMS[PLAYED], Y)), among)


def dense(the_model, played, y):
    return formulas.moments(the_model, ARMS[played], played, y, ARMS, np.arange(12))


@pytest.mark.parametrize("own", [0.0, 0.2])
@pytest.mark.parametrize("observed", [0, 2, 6])
def test_further_points_equal_the_dense_formula_with_pending_ones_at_their_mean(own, observed):
    the_model, posterior = model(own), candidates(model(own))
    y = Y_FURTHER[:observed]
    before = np.r_[PLAYED, FURTHER[:observed]], np.r_[Y, y]
    mean = dense(the_model, *before)[0]
    pending = FURTHER[observed:]
    expected = dense(the_model, np.r_[before[0], pending], np.r_[before[1], mean[pending]])
    got = posterior.given(ARMS[FURTHER], y)
    # The jitter adds 1e-9 of the variance to a diagonal of at least noise / 40: 7e-9 / 2.5e-3, 3e-6.
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-5)
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-5)
    np.testing.assert_allclose(got[0], mean, rtol=1e-5)
    np.testing.assert_allclose(posterior.mean_at(ARMS[FURTHER], y), mean[FURTHER], rtol=1e-5)


def test_points_that_are_no_candidates_equal_the_dense_formula():
    the_model, posterior = model(), candidates(model(), among=ARMS[:5])
    got = posterior.given(ARMS[FURTHER], Y_FURTHER)
    expected = dense(the_model, np.r_[PLAYED, FURTHER], np.r_[Y, Y_FURTHER])
    np.testing.assert_allclose(got, np.array(expected)[:, :5], rtol=1e-5)


def test_with_outliers_a_further_observation_counts_within_five_deviations_of_its_prediction():
    the_model = model()
    mean, variance = dense(the_model, PLAYED, Y)
    most = mean[3] + 5 * np.sqrt(variance[3] + the_model.noise)
    expected = dense(the_model, np.r_[PLAYED, 3, 7], np.r_[Y, most, 3.0])
    got = candidates(the_model).given(ARMS[[3, 7]], np.array([1e6, 3.0]), outliers=True)
    np.testing.assert_allclose(got, expected, rtol=1e-5)  # of the jitter, as above


def test_residual_is_that_one_step_ahead():
    the_model, posterior = model(), candidates(model())
    for t in range(len(FURTHER)):
        mean, _ = dense(the_model, np.r_[PLAYED, FURTHER[:t]], np.r_[Y, Y_FURTHER[:t]])
        expected = Y_FURTHER[t] - mean[FURTHER[t]]
        assert posterior.residual(ARMS[FURTHER[: t + 1]], Y_FURTHER[: t + 1]) == pytest.approx(expected, rel=1e-5)


def test_without_further_points_mean_and_variance_equal_the_dense_formula():
    np.testing.assert_allclose(candidates(model()).given(ARMS[:0], Y[:0]), dense(model(), PLAYED, Y), rtol=1e-5)


def test_the_result_does_not_depend_on_which_points_were_asked_for_before():
    fresh, used = candidates(model()), candidates(model())
    for t in range(1, 7):
        used.given(ARMS[FURTHER[:t]], Y_FURTHER[:t])
    np.testing.assert_array_equal(fresh.given(ARMS[FURTHER], Y_FURTHER[:4]), used.given(ARMS[FURTHER], Y_FURTHER[:4]))
