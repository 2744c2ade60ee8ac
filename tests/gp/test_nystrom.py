"""The budgeted posterior: exact while the dictionary has room, and equal to the dense Nystrom formulas always."""

import numpy as np
import pytest

import softbandit as sb
from softbandit.gp.exact import Exact
from softbandit.gp.nystrom import TOLERANCE, Budgeted

rng = np.random.default_rng(0)
X, Y, Q = rng.random((160, 2)), rng.standard_normal((160, 2)), rng.random((30, 2))
KERNELS = [sb.SquaredExponential(0.3), sb.Matern([0.3, 0.5]), 0.4 * sb.Linear() + 0.2 * sb.Matern(0.4, nu=0.5)]


def conditioned(posterior, X=X, Y=Y):
    for x, y in zip(X, Y, strict=True):
        posterior = posterior.condition(x, y)
    return posterior


def moments(posterior, Q=Q):
    K = posterior.kernel(Q, posterior.anchors)
    return K @ posterior.coefficients, posterior.kernel.diag(Q) - posterior.explained(K)[0]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_posterior_is_exact_while_the_dictionary_has_room(kernel):
    ours, exact = conditioned(Budgeted(kernel, 0.5, 2, 2, 200)), conditioned(Exact(kernel, 0.5, 2, 2))
    (mean, var), (mean_e, var_e) = moments(ours), moments(exact)
    # Each of 160 points may have a residual of 1e-8 of its variance, so an error of sqrt(1e-8) = 1e-4 of its size.
    np.testing.assert_allclose(var, var_e, atol=160 * TOLERANCE)
    np.testing.assert_allclose(mean, mean_e, atol=160 * np.sqrt(TOLERANCE) / 0.5 * 1e-2)
    assert ours.gain == pytest.approx(exact.gain, rel=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("budget", [5, 20, 40])
def test_mean_and_variance_equal_the_dense_formulas_on_the_dictionary(kernel, budget):
    """mu = k_S(x)^T (K_SX K_XS + lambda K_SS)^-1 K_SX y;  var = k - k_S^T K_SS^-1 k_S + lambda k_S^T (...)^-1 k_S."""
    lam = 0.5
    ours = conditioned(Budgeted(kernel, lam, 2, 2, budget))
    S = ours.anchors
    assert len(S) <= budget
    K_SS, K_SX, k = kernel(S, S), kernel(S, X), kernel(Q, S)
    A = np.linalg.inv(K_SX @ K_SX.T + lam * K_SS)
    mean, var = moments(ours)
    np.testing.assert_allclose(mean, k @ A @ K_SX @ Y, atol=1e-6)
    dense = kernel.diag(Q) - np.einsum("nr,nr->n", k, np.linalg.solve(K_SS, k.T).T)
    dense = dense + lam * np.einsum("nr,rs,ns->n", k, A, k)
    np.testing.assert_allclose(var, dense, atol=1e-6)
    explained, half = ours.explained(k)
    np.testing.assert_allclose(kernel.diag(Q) - explained, var, atol=1e-12)
    # Half of the derivative by k: (K_SS^-1 - lambda A) k.
    np.testing.assert_allclose(half(), (np.linalg.inv(K_SS) - lam * A @ np.eye(len(S))).dot(k.T).T, atol=1e-4)


def test_the_dictionary_is_replaced_when_the_number_of_rounds_has_doubled():
    kernel = sb.Matern(0.1)
    ours = Budgeted(kernel, 0.5, 2, 2, 20)
    ranks = []
    for x, y in zip(X, Y, strict=True):
        ours = ours.condition(x, y)
        ranks.append(ours.rank)
    # Full after 20 rounds; replaced by half at round 40; full again at round 50, so replaced at round 100.
    assert ranks[18:20] == [19, 20]
    assert ranks[40] == 11
    assert min(ranks[41:]) == 11
    assert max(ranks) == 20


def test_samples_have_the_posteriors_variance():
    kernel = sb.SquaredExponential(0.3)
    ours = conditioned(Budgeted(kernel, 0.5, 2, 2, 15))
    half = np.linalg.cholesky(kernel(np.r_[Q, ours.anchors], np.r_[Q, ours.anchors]) + 1e-9 * np.eye(30 + ours.rank))
    draws = np.random.default_rng(1)
    samples = []
    for _ in range(4000):
        path = half @ draws.standard_normal(len(half))
        samples.append(path[:30] + kernel(Q, ours.anchors) @ ours.deviation(path[30:], draws))
    _, var = moments(ours)
    # A variance from 4,000 samples has a relative standard error of sqrt(2 / 4000) = 0.022; 30 have at most 3.5.
    np.testing.assert_allclose(np.var(samples, axis=0), var, rtol=3.5 * 0.022)


def test_conditioning_one_posterior_several_times_gives_independent_posteriors():
    for budget in (10, 60):
        past = conditioned(Budgeted(sb.Matern(0.3), 0.5, 2, 2, budget), X[:30], Y[:30])
        whole = [conditioned(Budgeted(sb.Matern(0.3), 0.5, 2, 2, budget), X[:30], Y[:30]) for _ in range(2)]
        futures = [past.condition(x, y) for x, y in zip(X[30:32], Y[30:32], strict=True)]
        for i in range(2):
            expected = whole[i].condition(X[30 + i], Y[30 + i])
            np.testing.assert_array_equal(futures[i].coefficients, expected.coefficients)


@pytest.mark.parametrize("rounds", [0, 7, 45, 130])
def test_a_posterior_refilled_from_its_arrays_continues_to_the_bit(rounds):
    blank = Budgeted(sb.Matern(0.2), 0.5, 2, 2, 20)
    ours = conditioned(blank, X[:rounds], Y[:rounds])
    again = blank.refilled(ours.arrays())
    for x, y in zip(X[rounds:], Y[rounds:], strict=True):
        ours, again = ours.condition(x, y), again.condition(x, y)
    np.testing.assert_array_equal(ours.coefficients, again.coefficients)
    assert ours.gain == again.gain


def test_ten_thousand_observations_of_one_point_equal_the_scalar_formula():
    lam, x = 1e-4, np.array([0.3])
    ours = Budgeted(sb.SquaredExponential(0.2), lam, 1, 1, 50)
    for _ in range(10_000):
        ours = ours.condition(x, np.array([2.0]))
    mean, var = moments(ours, x[None])
    # n observations of y: mean = n y / (n + lambda), variance = lambda / (n + lambda)
    assert mean[0, 0] == pytest.approx(2.0, rel=1e-7)
    assert var[0] == pytest.approx(lam / (10_000 + lam), abs=1e-12)
    assert ours.rank == 1


@pytest.mark.parametrize("lengthscale", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_extreme_kernels_and_outputs_keep_means_finite_and_variances_within_the_prior(lengthscale, scale):
    kernel = scale * sb.SquaredExponential(lengthscale)
    points = np.repeat(rng.random((60, 2)), 2, axis=0)
    points[1::2] += 1e-12
    for size in (0.0, 1.0, 1e12):
        ours = conditioned(Budgeted(kernel, 1e-8 * scale, 1, 2, 30), points, np.full((120, 1), size))
        mean, var = moments(ours)
        assert np.isfinite(mean).all()
        assert (var >= -1e-7 * scale).all()
        assert (var <= scale * (1 + 1e-12)).all()
