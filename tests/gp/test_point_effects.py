"""The posterior with effects of points, against the dense formula with one row per observation."""

import numpy as np
import pytest
from softbandit_tests import point_effects_formulas as formulas

import softbandit as sb
from softbandit.gp.point_effects import PointEffects, PointPosterior, Repeats, inverse_lower

rng = np.random.default_rng(0)
POINTS = rng.random((9, 2))
PLACES = rng.integers(9, size=40)  # the point of each observation: repeats in any order
Y = rng.standard_normal(40) + 3.0
OTHERS = rng.random((5, 2))


def model(own=0.2, noise=0.1, kernel=None):
    return PointEffects(kernel or sb.Matern([0.3, 0.6]), offset=2.5, signal=1.7, own=own, noise=noise)


def test_repeats_puts_observations_together_by_point():
    X = np.array([[2.0], [1.0], [2.0], [2.0]])
    data = Repeats.of(X, np.array([1.0, 5.0, 2.0, 6.0]))
    np.testing.assert_array_equal(data.points, [[1.0], [2.0]])
    np.testing.assert_array_equal(data.counts, [1, 3])
    np.testing.assert_array_equal(data.means, [5.0, 3.0])
    np.testing.assert_array_equal(data.place, [1, 0, 1, 1])
    assert data.within == 4 + 1 + 9


@pytest.mark.parametrize("own", [0.0, 0.2, 5.0])
@pytest.mark.parametrize("kernel", [sb.Matern([0.3, 0.6]), 0.5 * sb.Linear() + 0.5 * sb.SquaredExponential(0.3)])
def test_mean_and_variance_equal_the_dense_formula(own, kernel):
    the_model, k = model(own, kernel=kernel), len(np.unique(PLACES))
    data = Repeats.of(POINTS[PLACES], Y)
    mean, variance = PointPosterior.of(the_model, data).moments(OTHERS)
    Z, places = np.concatenate([data.points, OTHERS]), np.r_[np.arange(k), 100 + np.arange(5)]
    expected = formulas.moments(the_model, POINTS[PLACES], data.place, Y, Z, places)
    # The jitter adds 1e-9 of the variance to a diagonal of at least noise / 40: 7e-9 / 2.5e-3, 3e-6.
    np.testing.assert_allclose(mean, expected[0], rtol=1e-5)
    np.testing.assert_allclose(variance, expected[1], rtol=1e-5)


@pytest.mark.parametrize("first", [1, 15, 39])
def test_observations_one_at_a_time_equal_the_dense_formula(first):
    the_model, X = model(noise=0.3), POINTS[PLACES]
    posterior = PointPosterior.of(the_model, Repeats.of(X[:first], Y[:first]))
    for x, y in zip(X[first:], Y[first:], strict=True):
        posterior = posterior.observe(x, float(y))
    k = len(posterior.points)
    Z, others = np.concatenate([posterior.points, OTHERS]), np.r_[np.arange(k), 100 + np.arange(5)]
    places = (X[:, None] == posterior.points).all(axis=2).argmax(axis=1)
    # The jitter adds 1e-9 of the variance to a diagonal of at least noise / 40: 2e-9 / 7.5e-3, 3e-7.
    expected = formulas.moments(the_model, X, places, Y, Z, others)
    np.testing.assert_allclose(posterior.moments(OTHERS), expected, rtol=1e-6)


def test_a_thousand_repeats_of_two_hundred_points_one_at_a_time_equal_all_at_once():
    local = np.random.default_rng(1)
    points, Z = local.random((200, 3)), local.random((20, 3))
    X, y = points[local.integers(200, size=1000)], local.standard_normal(1000)
    the_model = model(noise=0.01, kernel=sb.Matern(0.5))
    posterior = PointPosterior.of(the_model, Repeats.of(X[:100], y[:100]))
    for x, value in zip(X[100:], y[100:], strict=True):
        posterior = posterior.observe(x, float(value))
    expected = PointPosterior.of(the_model, Repeats.of(X, y)).at(Z)
    np.testing.assert_allclose(posterior.at(Z), expected, rtol=1e-9)


@pytest.mark.parametrize("n", [1, 128, 129, 300])
def test_the_inverse_by_halves_is_one(n):
    L = np.tril(np.random.default_rng(0).standard_normal((n, n))) / n + np.eye(n)
    M = inverse_lower(L)
    np.testing.assert_allclose(M @ L, np.eye(n), atol=1e-13)
    np.testing.assert_array_equal(np.triu(M, 1), 0)


def test_observing_changes_no_earlier_posterior():
    before = PointPosterior.of(model(), Repeats.of(POINTS[:4], Y[:4]))
    expected = before.moments(OTHERS)
    repeated, extended = before.observe(POINTS[2], 9.0), before.observe(POINTS[5], 9.0)
    np.testing.assert_array_equal(before.moments(OTHERS), expected)
    assert repeated.moments(OTHERS)[0][4] != expected[0][4] != extended.moments(OTHERS)[0][5]


def test_a_point_that_was_observed_keeps_its_effect_when_it_is_asked_for_again():
    posterior = PointPosterior.of(model(own=5.0), Repeats.of(POINTS[PLACES], Y))
    k = len(posterior.points)
    mean, variance = posterior.moments(posterior.points[[3, 0]])
    np.testing.assert_allclose(mean[k:], mean[[3, 0]], rtol=1e-12)
    np.testing.assert_allclose(variance[k:], variance[[3, 0]], rtol=1e-9)


def test_the_order_of_observations_does_not_matter():
    order = rng.permutation(40)
    one, other = (
        PointPosterior.of(model(), Repeats.of(POINTS[PLACES[i]], Y[i])).moments(OTHERS) for i in (np.arange(40), order)
    )
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_nearly_equal_points_without_effects_of_their_own_give_finite_moments():
    X = np.repeat(POINTS, 2, axis=0)
    X[1::2] += 1e-14
    posterior = PointPosterior.of(model(own=0.0, noise=1e-6), Repeats.of(X, np.sin(X[:, 0])))
    mean, variance = posterior.moments(OTHERS)
    assert np.isfinite(mean).all()
    assert (variance >= 0).all()
    # Pairs of equal values are interpolated within a few deviations of the noise, 1e-3.
    np.testing.assert_allclose(mean[:18], np.sin(posterior.points[:, 0]), atol=5e-3)


def test_effects_of_their_own_leave_points_that_were_not_observed_uncertain():
    """A thousand observations of a neighbour say nothing of a point's own effect."""
    data = Repeats.of(np.full((1000, 1), 0.5), np.zeros(1000))
    _, variance = PointPosterior.of(model(own=0.2, kernel=sb.Matern(0.3)), data).moments(np.array([[0.5 + 1e-6]]))
    assert 0.2 < variance[1] < 0.4
    assert variance[0] < 1e-3
