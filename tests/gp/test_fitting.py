"""Fitted hyperparameters, against scikit-learn, difference quotients and the distribution of the data."""

import math

import numpy as np
import pytest

import softbandit as sb
from softbandit.gp.fitting import _LogPosterior, fit

rng = np.random.default_rng(0)
X = rng.random((50, 2))
Y = 3 + 2 * np.sin(5 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(50)

KERNELS = [
    sb.SquaredExponential([0.4, 0.9]),
    sb.Matern([0.4, 0.9], nu=0.5),
    sb.Matern(0.4, nu=1.5),
    sb.Matern([0.4, 0.9]),
]


def scikit_learn_kernel(kernel):
    """The same kernel in scikit-learn."""
    from sklearn.gaussian_process.kernels import RBF, Matern

    if isinstance(kernel, sb.Matern):
        return Matern(kernel.lengthscale, nu=kernel.nu)
    return RBF(kernel.lengthscale)


@pytest.mark.extra
@pytest.mark.parametrize("ours", KERNELS, ids=str)
def test_the_log_likelihood_of_a_fit_equals_scikit_learns_at_its_parameters(ours):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

    theirs = scikit_learn_kernel(ours)
    result = fit(ours, X, Y, restarts=0)
    theirs = theirs.clone_with_theta(np.log(np.atleast_1d(result.kernel.lengthscale)))
    kernel = ConstantKernel(result.scale**2) * theirs + WhiteKernel(result.noise**2)
    model = GaussianProcessRegressor(kernel, alpha=0, optimizer=None).fit(X, Y - result.offset)
    assert result.log_likelihood == pytest.approx(model.log_marginal_likelihood_value_, rel=1e-9)


@pytest.mark.extra
@pytest.mark.filterwarnings("ignore:The optimal value found")
@pytest.mark.parametrize("ours", KERNELS, ids=str)
def test_a_fit_is_at_least_as_likely_as_scikit_learns(ours):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

    y = Y - Y.mean()
    kernel = ConstantKernel(1.0, (1e-4, 1e6)) * scikit_learn_kernel(ours) + WhiteKernel(0.1, (1e-8, 1e2))
    model = GaussianProcessRegressor(kernel, alpha=0, n_restarts_optimizer=2, random_state=0)
    theirs_value = model.fit(X, y).log_marginal_likelihood_value_
    result = fit(ours, X, Y, prior=None, lengthscales=(1e-3, 1e3), noise=(1e-8, 1e3))
    assert result.log_likelihood >= theirs_value - 1e-4  # both stop when steps gain less than about 1e-6


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
def test_gradients_of_the_log_posterior_equal_difference_quotients(kernel):
    objective = _LogPosterior(kernel, X, (Y - Y.mean()) / Y.std(), (0.02, 20.0), (1e-6, 10.0), (0.5, 1.0))
    theta = objective.start + 0.1
    _, gradient = objective(theta)
    step = 1e-5  # errors of step^2 times third derivatives, about 1e2, and of 1e-12 / step
    by_difference = [
        (objective(theta + e)[0] - objective(theta - e)[0]) / (2 * step) for e in step * np.eye(len(theta))
    ]
    np.testing.assert_allclose(gradient, by_difference, rtol=1e-6, atol=1e-6)


def test_fitting_300_points_recovers_length_scales_and_noise():
    truth = sb.SquaredExponential([0.2, 1.0])
    P = np.random.default_rng(1).random((300, 2))
    f = np.linalg.cholesky(truth(P, P) + 1e-9 * np.eye(300)) @ np.random.default_rng(2).standard_normal(300)
    y = 7 + 3 * f + 0.3 * np.random.default_rng(3).standard_normal(300)
    result = fit(sb.SquaredExponential([1.0, 1.0]), P, y, prior=None, restarts=0)
    # 300 points determine ln(length scale) to about 1 / sqrt(number of its wiggles), here within a factor of 1.5.
    assert np.abs(np.log(np.array(result.kernel.lengthscale) / [0.2, 1.0])).max() < math.log(1.5)
    assert result.noise == pytest.approx(0.3, rel=0.2)  # a standard deviation of 300 data: 1 / sqrt(600) = 4%


def test_outputs_in_other_units_give_the_same_kernel():
    reference = fit(sb.Matern([1.0, 1.0]), X, Y)
    for factor, shift in ((1e12, 0.0), (1e-12, 0.0), (2.0, 100.0)):
        other = fit(sb.Matern([1.0, 1.0]), X, factor * Y + shift)
        np.testing.assert_allclose(other.kernel.lengthscale, reference.kernel.lengthscale, rtol=1e-4)
        assert other.scale == pytest.approx(factor * reference.scale, rel=1e-4)
        assert other.noise == pytest.approx(factor * reference.noise, rel=1e-3)


def test_a_narrow_prior_determines_the_length_scale_of_pure_noise():
    noise_only = np.random.default_rng(4).standard_normal(8)
    result = fit(sb.SquaredExponential(1.0), X[:8], noise_only, prior=(0.5, 0.01))
    assert result.kernel.lengthscale == pytest.approx(0.5 * np.ptp(X[:8], axis=0).max(), rel=0.05)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e12])
def test_constant_outputs_give_a_usable_fit(value):
    result = fit(sb.Matern(0.5), X, np.full(50, value))
    assert result.offset == value
    assert result.scale > 0
    assert 0 < result.regularisation < math.inf


def test_a_single_point_and_repeated_points_give_a_finite_fit():
    for n in (1, 2):
        result = fit(sb.Matern(0.5), X[:n], Y[:n], centred=False)
        assert all(map(math.isfinite, (result.scale, result.noise, result.log_likelihood)))
    result = fit(sb.Matern(0.5), np.repeat(X[:3], 20, axis=0), np.repeat(Y[:3], 20))
    assert math.isfinite(result.noise)


def test_fitting_a_tabular_kernel_learns_scale_and_noise_only():
    half = np.random.default_rng(5).standard_normal((50, 60)) / math.sqrt(60)
    kernel, index = sb.Tabular(half @ half.T), np.arange(50)
    normal = np.random.default_rng(6).standard_normal
    arms = np.tile(index, 4)  # 150 residuals determine the noise to 1 / sqrt(300) = 6%
    y = (3 * half @ normal(60))[arms] + 0.5 * normal(200)
    result = fit(kernel, arms[:, None], y, centred=False)
    assert result.kernel == kernel
    assert result.noise == pytest.approx(0.5, rel=0.2)
    assert result.scale == pytest.approx(3.0, rel=0.3)  # 50 arms: 1 / sqrt(100) = 10%


def test_bad_data_and_bad_bounds_are_refused():
    with pytest.raises(sb.ArgumentError, match="one output per point"):
        fit(sb.Matern(0.5), X, Y[:3])
    with pytest.raises(sb.ArgumentError, match="finite"):
        fit(sb.Matern(0.5), X, np.full(50, np.nan))
    with pytest.raises(sb.ArgumentError, match="lower < upper"):
        fit(sb.Matern(0.5), X, Y, noise=(1.0, 0.1))
    with pytest.raises(sb.KernelError, match="one for each of 2 dimensions"):
        fit(sb.Matern([1.0, 1.0, 1.0]), X, Y)
