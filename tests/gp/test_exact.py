"""The exact posterior against the dense formulas, where those are accurate, and on ill-conditioned inputs."""

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.gp.exact import JITTER, Exact
from softbandit.gp.growing_cholesky import ROWS, GrowingCholesky

rng = np.random.default_rng(0)
KERNELS = {name: pair for name, pair in examples_of.KERNELS.items() if "Tabular" not in name}


def conditioned(kernel, X, Y, lam):
    posterior = Exact(kernel, lam, Y.shape[1], X.shape[1])
    for x, y in zip(X, Y, strict=True):
        posterior = posterior.condition(x, y)
    return posterior


def moments(posterior, Q):
    K = posterior.kernel(Q, posterior.anchors)
    return K @ posterior.coefficients, posterior.kernel.diag(Q) - posterior.explained(K)[0]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("lam", [1.2, 1e-2])
def test_mean_variance_and_gain_equal_the_dense_formulas(name, lam):
    kernel, _ = KERNELS[name]
    X, Y, Q = rng.random((ROWS + 40, 2)) / 2, rng.standard_normal((ROWS + 40, 3)), rng.random((9, 2)) / 2
    posterior = conditioned(kernel, X, Y, lam)
    K, k = kernel(X, X), kernel(Q, X)
    A = np.linalg.inv(K + lam * np.eye(len(X)))
    mean, var = moments(posterior, Q)
    # The condition number is at most (168 + lambda) / lambda < 2e4, of rounding errors of 1e-16 x 168.
    np.testing.assert_allclose(mean, k @ A @ Y, atol=1e-8)
    np.testing.assert_allclose(var, kernel.diag(Q) - np.einsum("nt,tu,nu->n", k, A, k), atol=1e-9)
    np.testing.assert_allclose(posterior.fitted, K @ A @ Y, atol=1e-8)
    gain = 0.5 * np.linalg.slogdet(np.eye(len(X)) + K / lam)[1]
    assert posterior.gain == pytest.approx(gain, rel=1e-9)


@pytest.mark.extra
def test_mean_and_std_equal_scikit_learns():
    gp = pytest.importorskip("sklearn.gaussian_process")
    from sklearn.gaussian_process.kernels import Matern

    X, Y, Q = rng.random((60, 3)), rng.standard_normal((60, 1)), rng.random((20, 3))
    theirs = gp.GaussianProcessRegressor(Matern([0.3, 0.5, 0.9], nu=2.5), alpha=0.1, optimizer=None).fit(X, Y[:, 0])
    mean, std = theirs.predict(Q, return_std=True)
    ours, var = moments(conditioned(sb.Matern([0.3, 0.5, 0.9]), X, Y, 0.1), Q)
    np.testing.assert_allclose(ours[:, 0], mean, atol=1e-10)
    np.testing.assert_allclose(np.sqrt(var), std, atol=1e-10)


def test_explained_returns_half_of_its_derivative():
    X, Y = rng.random((30, 2)), rng.standard_normal((30, 1))
    posterior = conditioned(sb.SquaredExponential(0.3), X, Y, 0.5)
    K = rng.random((4, 30))
    explained, half = posterior.explained(K)
    A = np.linalg.inv(posterior.kernel(X, X) + 0.5 * np.eye(30))
    np.testing.assert_allclose(explained, np.einsum("nt,tu,nu->n", K, A, K), rtol=1e-12)
    np.testing.assert_allclose(half(), K @ A, atol=1e-12)


def test_conditioning_one_posterior_several_times_gives_independent_posteriors():
    kernel, X = sb.Matern(0.3), rng.random((20, 1))
    past = conditioned(kernel, X, np.sin(X), 0.5)
    futures = [past.condition(np.array([0.5]), np.array([y])) for y in (1.0, -1.0, 3.0)]
    whole = [conditioned(kernel, np.r_[X, [[0.5]]], np.r_[np.sin(X), [[y]]], 0.5) for y in (1.0, -1.0, 3.0)]
    for shared, separate in zip(futures, whole, strict=True):
        np.testing.assert_array_equal(shared.coefficients, separate.coefficients)
    np.testing.assert_array_equal(past.coefficients, conditioned(kernel, X, np.sin(X), 0.5).coefficients)


def test_conditioning_on_all_data_at_once_equals_one_after_another():
    rng = np.random.default_rng(0)
    X, Y = rng.random((150, 2)), rng.standard_normal((150, 2))
    whole, step = Exact.of(sb.Matern(0.3), 0.01, X, Y), conditioned(sb.Matern(0.3), X, Y, 0.01)
    np.testing.assert_allclose(whole.coefficients, step.coefficients, rtol=1e-9, atol=1e-9)
    assert whole.gain == pytest.approx(step.gain, rel=1e-12)
    whole, step = (posterior.condition(np.array([0.5, 0.5]), np.ones(2)) for posterior in (whole, step))
    np.testing.assert_allclose(whole.coefficients, step.coefficients, rtol=1e-9, atol=1e-9)


def test_a_posterior_refilled_from_its_arrays_continues_to_the_bit():
    X, Y = rng.random((ROWS + 3, 2)), rng.standard_normal((ROWS + 3, 2))
    posterior = conditioned(sb.Matern(0.3), X, Y, 0.5)
    again = Exact(sb.Matern(0.3), 0.5, 2, 2).refilled(posterior.arrays())
    for _ in range(3):
        np.testing.assert_array_equal(again.coefficients, posterior.coefficients)
        assert again.gain == posterior.gain
        again, posterior = (p.condition(np.array([0.1, 0.2]), np.ones(2)) for p in (again, posterior))


@pytest.mark.parametrize("rows", [1, ROWS - 1, ROWS, ROWS + 1, 3 * ROWS + 5])
def test_growing_cholesky_solves_with_the_matrix_and_its_transpose(rows):
    L = np.tril(rng.standard_normal((rows, rows))) / rows + np.eye(rows)
    grown = GrowingCholesky()
    for i in range(rows):
        grown.append(L[i, :i], L[i, i])
    B = rng.standard_normal((rows, 3))
    for factor in (grown, GrowingCholesky.from_matrix(L)):
        np.testing.assert_allclose(L @ factor.solve(B, rows), B, atol=1e-12)
        np.testing.assert_allclose(L.T @ factor.solve_transposed(B, rows), B, atol=1e-12)


def assert_sane(posterior, Q):
    """Check that means are finite and variances within [0, prior]."""
    mean, var = moments(posterior, Q)
    prior = posterior.kernel.diag(Q)
    assert np.isfinite(mean).all()
    assert np.isfinite(posterior.gain)
    # The factor's rounding, 1e-16 x t, is below JITTER.
    assert (var >= -JITTER * prior).all()
    assert (var <= prior * (1 + 1e-15)).all()


@pytest.mark.parametrize("lengthscale", [0.01, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("nu", [None, 0.5, 2.5])
def test_extreme_kernels_keep_means_finite_and_variances_within_the_prior(lengthscale, scale, nu):
    base = sb.SquaredExponential(lengthscale) if nu is None else sb.Matern(lengthscale, nu=nu)
    X = rng.random((300, 2))
    for lam in (1e-14, 1.0):
        assert_sane(conditioned(scale * base, X, rng.standard_normal((300, 1)), lam), rng.random((50, 2)))


def test_two_thousand_observations_of_one_point_equal_the_scalar_formula():
    kernel, lam = sb.SquaredExponential(0.2), 1e-6
    posterior = Exact(kernel, lam, 1, 1)
    x = np.array([0.3])
    for _ in range(2000):
        posterior = posterior.condition(x, np.array([2.0]))
    mean, var = moments(posterior, x[None])
    # n observations of y: mean = n y / (n + lambda), variance = lambda / (n + lambda)
    assert mean[0, 0] == pytest.approx(2.0 * 2000 / (2000 + lam), rel=1e-8)
    assert var[0] == pytest.approx(lam / (2000 + lam), abs=1e-12)


@pytest.mark.parametrize("size", [0.0, 1.0, 1e12])
def test_nearly_coincident_points_interpolate_constants_of_any_size(size):
    X = np.repeat(rng.random((100, 1)), 2, axis=0)
    X[1::2] += 1e-12
    Y = size * np.ones((200, 1))
    for kernel in (sb.SquaredExponential(0.3), sb.Matern(0.3, nu=0.5)):
        posterior = conditioned(kernel, X, Y, 1e-12)
        assert_sane(posterior, rng.random((50, 1)))
        # A constant is interpolated between points 0.01 apart, as well as a rough kernel can.
        mean, _ = moments(posterior, X[:5])
        np.testing.assert_allclose(mean[:, 0], size, rtol=1e-3, atol=0)
