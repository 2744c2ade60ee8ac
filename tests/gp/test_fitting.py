"""Learned hyperparameters, against scikit-learn, difference quotients and the data's own law."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.gaussian_process.kernels import Matern as TheirMatern

import softbandit as sb
from softbandit.gp.fitting import _Goal, fit, log_likelihood

rng = np.random.default_rng(0)
X = rng.random((50, 2))
Y = 3 + 2 * np.sin(5 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(50)

PAIRS = {
    "SE": (sb.SquaredExponential([0.4, 0.9]), RBF([0.4, 0.9])),
    "Matern 1/2": (sb.Matern([0.4, 0.9], nu=0.5), TheirMatern([0.4, 0.9], nu=0.5)),
    "Matern 3/2": (sb.Matern(0.4, nu=1.5), TheirMatern(0.4, nu=1.5)),
    "Matern 5/2": (sb.Matern([0.4, 0.9]), TheirMatern([0.4, 0.9], nu=2.5)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_likelihood_is_scikit_learns(name):
    ours, theirs = PAIRS[name]
    model = GaussianProcessRegressor(ConstantKernel(2.5) * theirs + WhiteKernel(0.07), alpha=0, optimizer=None)
    expected = model.fit(X, Y).log_marginal_likelihood_value_
    assert log_likelihood(2.5 * ours, math.sqrt(0.07), X, Y) == pytest.approx(expected, rel=1e-10)


@pytest.mark.filterwarnings("ignore:The optimal value found")
@pytest.mark.parametrize("name", PAIRS)
def test_the_fit_is_at_least_as_likely_as_scikit_learns(name):
    ours, theirs = PAIRS[name]
    y = Y - Y.mean()
    kernel = ConstantKernel(1.0, (1e-4, 1e6)) * theirs + WhiteKernel(0.1, (1e-8, 1e2))
    model = GaussianProcessRegressor(kernel, alpha=0, n_restarts_optimizer=2, random_state=0)
    theirs_value = model.fit(X, y).log_marginal_likelihood_value_
    found = fit(ours, X, Y, prior=None, lengthscales=(1e-3, 1e3), noise=(1e-8, 1e3))
    assert found.log_likelihood >= theirs_value - 1e-4  # both stop where steps gain less than about 1e-6
    again = log_likelihood(found.scale**2 * found.kernel, found.noise, X, y)
    assert found.log_likelihood == pytest.approx(again, rel=1e-9)


@pytest.mark.parametrize(
    "kernel",
    [
        sb.SquaredExponential(0.4),
        sb.SquaredExponential([0.4, 0.9]),
        sb.Matern([0.4, 0.9], nu=0.5),
        sb.Matern(0.3, nu=1.5),
        sb.Matern([0.4, 0.9]),
        0.6 * sb.SquaredExponential(0.4) + 0.4 * sb.Linear(),
        sb.Matern(0.5) * (0.3 * sb.SquaredExponential([0.5, 2.0])),
    ],
    ids=str,
)
def test_gradients_are_those_of_difference_quotients(kernel):
    goal = _Goal(kernel, X, (Y - Y.mean()) / Y.std(), (0.02, 20.0), (1e-6, 10.0), (0.5, 1.0))
    theta = goal.start + 0.1
    _, slope = goal(theta)
    step = 1e-5  # errors of step^2 times third derivatives, about 1e2, and of 1e-12 / step
    by_difference = [(goal(theta + e)[0] - goal(theta - e)[0]) / (2 * step) for e in step * np.eye(len(theta))]
    np.testing.assert_allclose(slope, by_difference, rtol=1e-6, atol=1e-6)


def test_the_truth_is_recovered_from_many_data():
    truth = sb.SquaredExponential([0.2, 1.0])
    P = np.random.default_rng(1).random((300, 2))
    f = np.linalg.cholesky(truth(P, P) + 1e-9 * np.eye(300)) @ np.random.default_rng(2).standard_normal(300)
    y = 7 + 3 * f + 0.3 * np.random.default_rng(3).standard_normal(300)
    found = fit(sb.SquaredExponential([1.0, 1.0]), P, y, prior=None)
    # 300 points determine ln(length scale) to about 1 / sqrt(number of its wiggles), here within a factor of 1.5.
    assert np.abs(np.log(np.array(found.kernel.lengthscale) / [0.2, 1.0])).max() < math.log(1.5)
    assert found.noise == pytest.approx(0.3, rel=0.2)  # a standard deviation of 300 data: 1 / sqrt(600) = 4%


def test_outputs_in_other_units_give_the_same_kernel():
    one = fit(sb.Matern([1.0, 1.0]), X, Y)
    for factor, shift in ((1e12, 0.0), (1e-12, 0.0), (2.0, 100.0)):
        other = fit(sb.Matern([1.0, 1.0]), X, factor * Y + shift)
        np.testing.assert_allclose(other.kernel.lengthscale, one.kernel.lengthscale, rtol=1e-4)
        assert other.scale == pytest.approx(factor * one.scale, rel=1e-4)
        assert other.noise == pytest.approx(factor * one.noise, rel=1e-3)


def test_the_prior_decides_where_the_data_do_not():
    noise_only = np.random.default_rng(4).standard_normal(8)
    found = fit(sb.SquaredExponential(1.0), X[:8], noise_only, prior=(0.5, 0.01))
    assert found.kernel.lengthscale == pytest.approx(0.5 * np.ptp(X[:8], axis=0).max(), rel=0.05)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e12])
def test_constant_outputs_give_a_usable_fit(value):
    found = fit(sb.Matern(0.5), X, np.full(50, value))
    assert found.offset == value
    assert found.scale > 0
    assert 0 < found.regularisation < math.inf


def test_a_single_point_and_repeated_points():
    for n in (1, 2):
        found = fit(sb.Matern(0.5), X[:n], Y[:n], centred=False)
        assert all(map(math.isfinite, (found.scale, found.noise, found.log_likelihood)))
    found = fit(sb.Matern(0.5), np.repeat(X[:3], 20, axis=0), np.repeat(Y[:3], 20))
    assert math.isfinite(found.noise)


def test_what_cannot_be_fitted_is_refused():
    with pytest.raises(sb.KernelError, match="can be learned"):
        fit(sb.Tabular(np.eye(50)), np.arange(50.0)[:, None], Y)
    with pytest.raises(sb.ArgumentError, match="one output for each point"):
        fit(sb.Matern(0.5), X, Y[:3])
    with pytest.raises(sb.ArgumentError, match="finite"):
        fit(sb.Matern(0.5), X, np.full(50, np.nan))
    with pytest.raises(sb.ArgumentError, match="lower < upper"):
        fit(sb.Matern(0.5), X, Y, noise=(1.0, 0.1))
    with pytest.raises(sb.KernelError, match="one for each of 2 dimensions"):
        fit(sb.Matern([1.0, 1.0, 1.0]), X, Y)
