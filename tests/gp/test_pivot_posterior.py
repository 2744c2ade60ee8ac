"""The posterior over finite points, against the dense formula with one row per observation."""

import numpy as np
import pytest
from softbandit_tests import point_effects_formulas as formulas

import softbandit as sb
from softbandit.gp.pivot_posterior import PivotPosterior
from softbandit.gp.point_effects import PointEffects

rng = np.random.default_rng(1)
POINTS = rng.random((25, 2))
PLACES = rng.integers(12, size=60)  # repeats in any order; points 12 to 24 are not observed
Y = rng.standard_normal(60)


def model(own=0.2, noise=0.1, kernel=None):
    return PointEffects(kernel or sb.Matern([0.3, 0.6]), offset=-1.5, signal=1.7, own=own, noise=noise)


def observed(the_model, places=PLACES, y=Y, points=POINTS):
    posterior = PivotPosterior.prior(the_model, points)
    for i, value in zip(places, y, strict=True):
        posterior = posterior.observe(int(i), float(value))
    return posterior


def dense(the_model, places=PLACES, y=Y, points=POINTS):
    return formulas.moments(the_model, points[places], places, y, points, np.arange(len(points)))


@pytest.mark.parametrize("own", [0.0, 0.2, 5.0])
@pytest.mark.parametrize("kernel", [sb.Matern([0.3, 0.6]), 0.5 * sb.Linear() + 0.5 * sb.SquaredExponential(0.3)])
def test_mean_and_variance_equal_the_dense_formula(own, kernel):
    posterior, (mean, variance) = observed(model(own, kernel=kernel)), dense(model(own, kernel=kernel))
    # A rest below 1e-9 of the variance, 7, counts as none; the smallest noise of a mean is 0.1 / 60: a relative 4e-6.
    np.testing.assert_allclose(posterior.mean, mean, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(posterior.variance, variance, rtol=1e-5)
    assert len(posterior.S) == len(np.unique(PLACES))


def test_the_prior_is_the_offset_and_the_variance():
    prior = PivotPosterior.prior(model(), POINTS)
    np.testing.assert_array_equal(prior.mean, np.full(25, -1.5))
    np.testing.assert_allclose(prior.variance, np.full(25, 1.9))


def test_observing_a_mean_of_several_equals_observing_each():
    one_by_one, together = observed(model()), PivotPosterior.prior(model(), POINTS)
    for i in np.unique(PLACES):
        values = Y[i == PLACES]
        together = together.observe(int(i), float(values.mean()), len(values))
    np.testing.assert_allclose(together.mean, one_by_one.mean, atol=1e-11)
    np.testing.assert_allclose(together.variance, one_by_one.variance, atol=1e-11)


def test_equal_points_are_one_without_effects_of_their_own_and_several_with_them():
    points = np.repeat(POINTS[:6], 2, axis=0)
    places, y = np.array([0, 1, 3, 2, 2, 11]), Y[:6]
    for own, rank in ((0.0, 3), (0.2, 5)):
        posterior, (mean, variance) = observed(model(own), places, y, points), dense(model(own), places, y, points)
        np.testing.assert_allclose(posterior.mean, mean, atol=1e-7)
        np.testing.assert_allclose(posterior.variance, variance, atol=1e-7)
        assert len(posterior.S) == rank


def test_two_continuations_of_one_posterior_do_not_disturb_each_other():
    past = observed(model(), PLACES[:20], Y[:20])
    before = past.mean.copy(), past.variance.copy(), past.Phi.copy()
    futures = [(15, 1.0), (20, -1.0), (18, 2.0)]  # none was observed: each needs a row of its own
    shared = [past.observe(i, y).observe(24, y) for i, y in futures]
    for posterior, (i, y) in zip(shared, futures, strict=True):
        mean, variance = dense(model(), np.r_[PLACES[:20], i, 24], np.r_[Y[:20], y, y])
        np.testing.assert_allclose(posterior.mean, mean, atol=1e-6)
        np.testing.assert_allclose(posterior.variance, variance, atol=1e-6)
    for array, kept in zip((past.mean, past.variance, past.Phi), before, strict=True):
        np.testing.assert_array_equal(array, kept)


def test_continuations_stay_independent_when_the_buffer_has_grown():
    """The buffer holds 16 rows at first."""
    past = observed(model(), np.arange(15), Y[:15])
    longer = past
    for i in range(15, 25):
        longer = longer.observe(i, 3.0)
    other = past.observe(20, -3.0)
    for posterior, places, y in (
        (longer, np.arange(25), np.r_[Y[:15], np.full(10, 3.0)]),
        (other, np.r_[np.arange(15), 20], np.r_[Y[:15], -3.0]),
    ):
        np.testing.assert_allclose(posterior.mean, dense(model(), places, y)[0], atol=1e-6)


def test_thousands_of_observations_with_little_noise_do_not_drift():
    the_model, places = model(noise=1e-6), np.tile(PLACES, 50)
    y = np.sin(9 * POINTS[places, 0])
    posterior = observed(the_model, places, y)
    # Noise-free values: means of 250 observations of noise 1e-3 are within 1e-4 of them.
    np.testing.assert_allclose(posterior.mean[np.unique(PLACES)], np.sin(9 * POINTS[np.unique(PLACES), 0]), atol=1e-4)
    k = np.bincount(places)[np.unique(places)]
    # Given the others, a point's variance is at most that of its own mean, noise / k.
    assert (posterior.variance[np.unique(places)] <= 1e-6 / k + 1e-11).all()
    assert (posterior.variance >= 0).all()
