"""Learning the model with effects of points: the posterior's density, its gradient, and what is recovered."""

import math

import numpy as np
import pytest
from softbandit_tests import point_effects_formulas as formulas

import softbandit as sb
from softbandit.gp import learning
from softbandit.gp.learning import LogPosterior, learn
from softbandit.gp.point_effects import PointEffects, Repeats

rng = np.random.default_rng(2)
POINTS = rng.random((12, 2)) * [1.0, 40.0]
PLACES = rng.integers(12, size=50)
Y = rng.standard_normal(50)
DATA = Repeats.of(POINTS[PLACES], Y)
MEDIANS = np.log([0.3 * math.sqrt(2), 0.3 * math.sqrt(2), 1.0, 0.03, 0.01])  # of the docstring's table
DEVIATIONS = np.array([1.0, 1.0, 1.0, 1.5, 1.5])
KERNELS = {
    "Matern": sb.Matern([1.0, 1.0]),
    "Sum": 0.5 * sb.SquaredExponential([1.0, 1.0]) + 0.5 * sb.Matern(1.0, nu=1.5),
    "by differences": 0.5 * sb.Linear() + 0.5 * sb.Matern([1.0, 1.0]),
}


def objective(kernel="Matern", data=DATA):
    return LogPosterior(KERNELS[kernel], data)


def thetas(log_posterior, count=4):
    return [log_posterior.centre + rng.normal(0, 0.7, len(log_posterior.centre)) for _ in range(count)]


def joint_log_density(theta):
    """Return ln p(all observations | theta, best offset) + ln p(offset) + ln p(theta), up to a constant."""
    *lengths, signal, own, noise = np.exp(theta)

    def value(offset):
        model = PointEffects(sb.Matern(lengths), offset, signal, own, noise)
        return formulas.log_density(model, POINTS[PLACES], PLACES, Y) - 0.5 * offset**2

    low, middle, high = value(-1.0), value(0.0), value(1.0)  # a parabola in the offset, whose top is
    best = value((high - low) / (2 * (2 * middle - low - high)))
    spread = np.append(np.log(np.ptp(DATA.points, axis=0)), np.zeros(3))
    return best - 0.5 * np.sum(((theta - MEDIANS - spread) / DEVIATIONS) ** 2)


def test_the_log_posterior_is_the_normal_density_of_all_observations_and_the_priors():
    log_posterior = objective()
    differences = [-log_posterior(theta)[0] - joint_log_density(theta) for theta in thetas(log_posterior)]
    # The jitter adds 1e-9 of the variance, some 5, to a diagonal of at least own + noise / 10, some 5e-3: a relative
    # 1e-6 of 12 terms of order 1.
    np.testing.assert_allclose(differences, differences[0], atol=2e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gradient_of_the_log_posterior_equals_central_differences(kernel):
    log_posterior, h = objective(kernel), 1e-5
    for theta in thetas(log_posterior):
        _, gradient = log_posterior(theta)
        steps = h * np.eye(len(theta))
        expected = [(log_posterior(theta + step)[0] - log_posterior(theta - step)[0]) / (2 * h) for step in steps]
        # Errors: h^2 times third derivatives of order 100, and rounding of 1e-13 / h.
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5)


def test_the_priors_are_those_of_the_documentation():
    log_posterior = objective()
    spread = np.append(np.log(np.ptp(DATA.points, axis=0)), np.zeros(3))
    np.testing.assert_allclose(log_posterior.centre, MEDIANS + spread)
    np.testing.assert_allclose(log_posterior.precision, DEVIATIONS**-2.0)


def test_what_is_learned_comes_with_its_log_posterior():
    learned = learn(sb.Matern([1.0, 1.0]), DATA)
    assert learned.log_posterior == -objective()(learned.theta)[0]
    assert learned.log_posterior > -objective()(objective().centre)[0]


def test_the_offset_of_the_model_is_its_best_value():
    log_posterior = objective()
    theta = log_posterior.centre
    model = log_posterior.model(theta)

    def density(offset):
        shifted = PointEffects(model.kernel, offset, model.signal, model.own, model.noise)
        return formulas.log_density(shifted, POINTS[PLACES], PLACES, Y) - 0.5 * offset**2

    assert density(model.offset) > max(density(model.offset - 0.01), density(model.offset + 0.01))


def sample(own, noise, points=60, repeats=6, seed=0, lengthscale=0.3):
    """Return observations of a function of one variable, `repeats` at each point, in any order."""
    local = np.random.default_rng(seed)
    X = local.random((points, 1))
    C = sb.Matern(lengthscale)(X, X) + own * np.eye(points)
    values = np.linalg.cholesky(C + 1e-9 * np.eye(points)) @ local.standard_normal(points)
    place = local.permutation(np.repeat(np.arange(points), repeats))
    return X[place], values[place] + math.sqrt(noise) * local.standard_normal(len(place))


@pytest.mark.parametrize("noise", [1e-3, 0.03, 0.5])
def test_repeats_tell_the_noise(noise):
    model = learn(sb.Matern(1.0), Repeats.of(*sample(own=0.05, noise=noise))).model
    # The squares within points are noise chi^2 of 300 degrees: a relative deviation of sqrt(2 / 300), 0.08; four of
    # them, and the prior, which pulls by ln(50) / 1.5^2 against a curvature of 150, at most 0.012.
    assert model.noise == pytest.approx(noise, rel=0.35)


@pytest.mark.parametrize("own", [0.1, 1.0])
def test_effects_of_points_are_told_from_noise_by_repeats(own):
    model = learn(sb.Matern(1.0), Repeats.of(*sample(own=own, noise=0.01))).model
    # 60 effects, of which the smooth function takes some: with 50 left a deviation of sqrt(2 / 50), 0.2; three of
    # them.
    assert model.own == pytest.approx(own, rel=0.6)
    assert model.noise == pytest.approx(0.01, rel=0.35)


def test_a_smooth_surface_is_learned_to_have_small_effects():
    rough = learn(sb.Matern(1.0), Repeats.of(*sample(own=1.0, noise=0.01))).model
    smooth = learn(sb.Matern(1.0), Repeats.of(*sample(own=0.0, noise=0.01))).model
    assert smooth.own < 0.02 < 0.4 < rough.own


def test_learning_finds_a_point_at_which_the_gradient_vanishes():
    data = Repeats.of(*sample(own=0.1, noise=0.05))
    theta = learn(sb.Matern(1.0), data).theta
    log_posterior = LogPosterior(sb.Matern(1.0), data)
    inside = (theta > log_posterior.lower) & (theta < log_posterior.upper)
    # The search stops when a step gains less than 2e-9 of the value, some hundreds, with curvatures of 1 to 100.
    assert np.abs(log_posterior(theta)[1][inside]).max() < 0.1


def test_learning_evaluates_a_bounded_number_of_times_and_always_the_same(monkeypatch):
    calls = []
    evaluate = LogPosterior.__call__
    monkeypatch.setattr(LogPosterior, "__call__", lambda self, theta: calls.append(theta) or evaluate(self, theta))
    local = np.random.default_rng(0)
    data = Repeats.of(local.random((600, 4)), local.standard_normal(600))
    monkeypatch.setattr(learning, "MOST_POINTS", 80)
    monkeypatch.setattr(learning, "WORK", 1e5)  # so little that the least number of evaluations applies, 8
    first = learn(sb.Matern([1.0] * 4), data).theta
    count = len(calls)
    assert 1 < count <= 8 + 20  # the search checks the bound after a line search, of at most 20 evaluations
    np.testing.assert_array_equal(learn(sb.Matern([1.0] * 4), data).theta, first)
    assert len(calls) == 2 * count


def test_outputs_that_are_learned_in_one_go_share_the_time(monkeypatch):
    calls = []
    evaluate = LogPosterior.__call__
    monkeypatch.setattr(LogPosterior, "__call__", lambda self, theta: calls.append(theta) or evaluate(self, theta))
    monkeypatch.setattr(learning, "WORK", 1e8)  # 40 evaluations at 80 points in 2 dimensions
    local = np.random.default_rng(0)
    data = Repeats.of(local.random((80, 2)), local.standard_normal(80))
    counts = []
    for outputs in (1, 2, 4):
        learn(sb.Matern([1.0, 1.0]), data, outputs=outputs)
        counts.append(len(calls))
        calls.clear()
    assert counts[0] == counts[1] > 1.5 * counts[2]


def test_learning_uses_the_points_observed_most_often_and_others(monkeypatch):
    monkeypatch.setattr(learning, "MOST_POINTS", 40)
    places = np.r_[np.arange(200), np.repeat(np.arange(100, 110), 30)]
    data = Repeats.of(places[:, None].astype(float), rng.standard_normal(len(places)))
    subset = learning.subset(data)
    assert subset.points.shape == (40, 1)
    assert set(range(100, 110)) <= set(subset.points[:, 0].astype(int))
    assert len(np.unique(subset.points)) == 40
    np.testing.assert_array_equal(subset.means, data.means[subset.points[:, 0].astype(int)])
    np.testing.assert_array_equal(subset.counts, data.counts[subset.points[:, 0].astype(int)])


@pytest.mark.parametrize("y", [np.zeros(20), np.r_[1e6, np.zeros(19)], np.full(20, 7.0)])
def test_degenerate_outputs_give_a_finite_model(y):
    X = np.repeat(np.linspace(0, 1, 10), 2)[:, None]
    model, theta, _ = learn(sb.Matern(1.0), Repeats.of(X, y))
    assert np.isfinite(theta).all()
    assert np.isfinite([model.offset, model.signal, model.own, model.noise]).all()


def test_one_point_and_one_observation_can_be_learned_from():
    model = learn(sb.Matern([1.0, 1.0]), Repeats.of(np.zeros((1, 2)), np.array([0.5]))).model
    assert np.isfinite([model.offset, model.signal, model.own, model.noise]).all()


def test_a_search_may_start_where_the_last_one_ended():
    data = Repeats.of(*sample(own=0.1, noise=0.05))
    theta = learn(sb.Matern(1.0), data).theta
    again = learn(sb.Matern(1.0), data, theta)[1]
    value = LogPosterior(sb.Matern(1.0), data)
    assert value(again)[0] <= value(theta)[0]
    assert value(again)[0] == pytest.approx(value(theta)[0], abs=1e-3)


@pytest.mark.parametrize("noise", [1e-4, 0.3])
def test_a_known_noise_is_kept_and_the_rest_is_learned_around_it(noise):
    rng = np.random.default_rng(0)
    X = rng.random((40, 1))
    data = Repeats.of(X, np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(40))
    effects, theta, _ = learn(sb.Matern([1.0]), data, noise=noise)
    assert effects.noise == pytest.approx(noise, rel=1e-12)
    objective = LogPosterior(sb.Matern([1.0]), data)
    slope = objective(theta)[1]
    assert np.abs(slope[:-1]).max() < 1e-2  # flat in the others: their best values, given the noise
    assert abs(slope[-1]) > 1.0  # the noise itself is not at its best value
