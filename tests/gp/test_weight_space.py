from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from softbandit_tests import examples_of
from softbandit_tests import paper_formulas as literal

import softbandit as sb
from softbandit.gp import weight_space
from softbandit.gp.pivoted_cholesky import features, tolerance_for

FORMS = {
    "over the arms": weight_space.prior,
    "of the weights": weight_space.weight_prior,
    "over the arms, in terms": partial(weight_space.prior, in_terms=True),
    "of the weights, in terms": partial(weight_space.weight_prior, in_terms=True),
}
every_form = pytest.mark.parametrize("prior", FORMS.values(), ids=FORMS)
every_kernel = pytest.mark.parametrize(("kernel", "X"), examples_of.KERNELS.values(), ids=examples_of.KERNELS)

ERROR = {prior: 1e-15 if "arms" in name else 1e-13 for name, prior in FORMS.items()}
"""The error of a variance, relative to the largest k(x, x): features have k(x, x) up to their tolerance."""


def run(phi, lam, arms, y, prior=weight_space.prior):
    """Condition one trial on a history, with y (rounds, outputs). Return the posterior before and after each round."""
    state = prior(phi, y.shape[1], trials=1)
    states = [state]
    for arm, row in zip(arms, y, strict=True):
        state = weight_space.condition(phi, lam, state, np.array([arm]), row[None, :])
        states.append(state)
    return states


def assert_close(ours, direct, relative):
    """Check the largest difference, relative to the largest entry."""
    assert np.abs(ours - direct).max() <= relative * np.abs(direct).max()


@every_form
@every_kernel
@pytest.mark.parametrize("lam", [1.02, 0.01])
def test_mean_covariance_and_gain_equal_the_direct_formulas(kernel, X, lam, prior):
    rng = np.random.default_rng(1)
    arms = rng.integers(len(X), size=60)  # each of 12 arms about five times
    y = rng.standard_normal((60, 2))
    phi, K = features(kernel, X), kernel(X, X)
    last = run(phi, lam, arms, y, prior)[-1]
    for output in range(2):
        mu, k = literal.posterior(K, arms, y[:, output], lam)
        assert_close(weight_space.mean(phi, last)[0, output], mu, 1e-9)
    assert_close(weight_space.covariance(phi, last)[0], k, 1e-9)
    np.testing.assert_allclose(
        weight_space.variance(phi, last)[0], np.diagonal(k), rtol=1e-9, atol=ERROR[prior] * K.max()
    )
    assert last.gain[0] == pytest.approx(literal.information_gain(K, arms, lam), rel=1e-9)


@every_form
@every_kernel
@pytest.mark.extra
def test_mean_and_covariance_equal_fifty_digit_arithmetic(kernel, X, prior):
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(2)
    arms, lam = rng.integers(5, size=12), 0.05
    y = rng.standard_normal((12, 1))
    K = kernel(X, X)
    phi = features(kernel, X)
    last = run(phi, lam, arms, y, prior)[-1]
    with mpmath.workdps(50):
        k = mpmath.matrix(K[arms].tolist())  # rounds x arms
        A = mpmath.matrix(K[np.ix_(arms, arms)].tolist()) + mpmath.mpf(lam) * mpmath.eye(12)
        weights = mpmath.inverse(A)
        mu = k.T * weights * mpmath.matrix(y.tolist())
        cov = mpmath.matrix(K.tolist()) - k.T * weights * k
        mu, cov = np.array(mu.tolist(), dtype=float)[:, 0], np.array(cov.tolist(), dtype=float)
    assert_close(weight_space.mean(phi, last)[0, 0], mu, 1e-9)
    np.testing.assert_allclose(
        weight_space.variance(phi, last)[0], np.diagonal(cov), rtol=1e-9, atol=ERROR[prior] * K.max()
    )
    assert_close(weight_space.covariance(phi, last)[0], cov, 1e-9)


@pytest.mark.slow
@every_form
@pytest.mark.parametrize("lam", [1.0001, 1e-3])
@every_kernel
def test_the_posterior_does_not_drift_in_four_thousand_rounds(kernel, X, lam, prior):
    """Means by less than 5e-13 per round, and variances by 5e-17."""
    rng = np.random.default_rng(3)
    arms = rng.choice(len(X), size=4000, p=rng.dirichlet(np.ones(len(X))))
    y = rng.standard_normal((4000, 1))
    phi, K = features(kernel, X), kernel(X, X)
    last = run(phi, lam, arms, y, prior)[-1]
    mu, k = literal.posterior_by_counts(K, arms, y[:, 0], lam)
    assert_close(weight_space.mean(phi, last)[0, 0], mu, 2e-9)
    # Relative to the prior: posterior variances are as small as 1e-7.
    np.testing.assert_allclose(weight_space.variance(phi, last)[0], np.diagonal(k), rtol=0, atol=2e-13 * K.max())
    assert_close(weight_space.covariance(phi, last)[0], k, 2e-9)


LONG_RUN = sb.Matern(0.4, nu=1.5), np.linspace(0, 1, 6)[:, None]  # all six arms are played often


def long_run(rounds, lam):
    """Return features, a history, and its exact mean and standard deviation."""
    kernel, X = LONG_RUN
    rng = np.random.default_rng(4)
    arms = rng.choice(len(X), size=rounds, p=rng.dirichlet(np.ones(len(X))))
    y = np.sin(3 * X[arms, 0]) + 0.1 * rng.standard_normal(rounds)
    moments = literal.moments_of_played_arms(kernel(X, X), arms, y, lam)
    return features(kernel, X, tolerance_for(lam)), arms, y, moments


def test_sigma_keeps_nine_digits_in_five_thousand_rounds_with_little_noise():
    """Tracked alone, it would lose five: the rounding error of k(x, x) is 1e-16, and var falls to 1e-8 / 1000."""
    phi, arms, y, (mu, sigma) = long_run(5 * weight_space.REFRESH, lam=1e-8)
    state = weight_space.prior(phi, outputs=1, trials=1)
    for t, (arm, value) in enumerate(zip(arms, y, strict=True), start=1):
        state = weight_space.condition(phi, 1e-8, state, np.array([arm]), np.array([[value]]))
        state = weight_space.refreshed(phi, state, t)
    np.testing.assert_allclose(weight_space.deviation(phi, state)[0], sigma, rtol=1e-9)
    np.testing.assert_allclose(state.mu[0, 0], mu, atol=1e-12)


@pytest.mark.extra
@pytest.mark.parametrize("lam", [1.0, 1e-4, 1e-8])
def test_a_million_compiled_rounds_equal_the_posterior_by_counts(lam):
    jax = pytest.importorskip("jax")
    phi, arms, y, (mu, sigma) = long_run(10**6, lam)

    def observe(state, observation):
        t, arm, value = observation
        return weight_space.refreshed(phi, weight_space.condition(phi, lam, state, arm, value), t), None

    with jax.enable_x64(True):
        phi = replace(phi, basis=jax.numpy.asarray(phi.basis))
        history = np.arange(1, 10**6 + 1), arms[:, None], y[:, None, None]
        start = jax.tree.map(jax.numpy.asarray, weight_space.prior(phi, outputs=1, trials=1))
        last = jax.jit(lambda state: jax.lax.scan(observe, state, history)[0])(start)
    # The root loses about 1e-16 / sigma per round, and the history ends 576 rounds after var was computed from it.
    np.testing.assert_allclose(np.sqrt(last.var[0]), sigma, rtol=1e-8)
    np.testing.assert_allclose(last.mu[0, 0], mu, atol=1e-12)


@given(
    st.lists(st.integers(0, 11), min_size=1, max_size=40),
    st.floats(1e-6, 10),
    st.sampled_from(list(examples_of.KERNELS)),
)
def test_variances_are_never_negative_and_never_increase(arms, lam, name):
    kernel, X = examples_of.KERNELS[name]
    states = run(features(kernel, X), lam, arms, np.zeros((len(arms), 1)))
    variances = np.array([state.var[0] for state in states])
    assert (variances >= 0).all()
    assert (np.diff(variances, axis=0) <= 0).all()


@every_form
def test_observing_an_arm_of_zero_variance_changes_nothing(prior):
    kernel, X = examples_of.KERNELS["Linear"]
    X = np.vstack([X, np.zeros(2)])
    phi = features(kernel, X)
    before, after = run(phi, 0.5, [12], np.array([[3.0]]), prior)
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)


@every_form
def test_ten_thousand_observations_of_one_arm_equal_the_scalar_formula(prior):
    kernel, X = examples_of.KERNELS["Matern"]
    y = np.full((10_000, 1), 2.0)
    phi = features(kernel, X)
    last = run(phi, 1.0, [4] * 10_000, y, prior)[-1]
    # A single arm: mu = t y / (t + lambda), var = lambda / (t + lambda).
    assert weight_space.mean(phi, last)[0, 0, 4] == pytest.approx(2.0 * 10_000 / 10_001, rel=1e-12)
    assert weight_space.variance(phi, last)[0, 4] == pytest.approx(1 / 10_001, rel=1e-9)
    assert last.gain[0] == pytest.approx(0.5 * np.log(10_001), rel=1e-9)


@every_form
def test_batched_trials_equal_single_trials(prior):
    kernel, X = examples_of.KERNELS["SquaredExponential"]
    phi = features(kernel, X)
    state = prior(phi, outputs=2, trials=3)
    rng = np.random.default_rng(0)
    history = [(rng.integers(12, size=3), rng.standard_normal((3, 2))) for _ in range(10)]
    for arm, y in history:
        state = weight_space.condition(phi, 1.0, state, arm, y)
    for i in range(3):
        alone = run(phi, 1.0, [arm[i] for arm, _ in history], np.array([y[i] for _, y in history]), prior)[-1]
        for batched, single in zip(state, alone, strict=True):
            np.testing.assert_array_equal(batched[i], single[0])
