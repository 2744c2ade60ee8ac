"""The posterior in data space with a row for each round, against the direct formulas."""

import numpy as np
import pytest
from softbandit_tests import examples_of
from softbandit_tests import paper_formulas as literal

from softbandit.gp.data_arrays import KernelMatrix

every_kernel = pytest.mark.parametrize(("kernel", "X"), examples_of.KERNELS.values(), ids=examples_of.KERNELS)


@every_kernel
@pytest.mark.parametrize("lam", [1.02, 0.01])
@pytest.mark.parametrize("rounds", [20, 30])
def test_mean_covariance_and_gain_equal_the_direct_formulas_in_every_trial(kernel, X, lam, rounds):
    """After 20 rounds, with room for more or without."""
    rng = np.random.default_rng(1)
    arms, y, K = rng.integers(len(X), size=(20, 3)), rng.standard_normal((20, 3, 2)), kernel(X, X)
    last = KernelMatrix(K, rounds).prior(outputs=2, trials=3)
    for arm, row in zip(arms, y, strict=True):
        last = last.condition(K, lam, arm, row)
    assert last.t == 20
    for trial in range(3):
        for output in range(2):
            mu, k = literal.posterior(K, arms[:, trial], y[:, trial, output], lam)
            np.testing.assert_allclose(last.mu[trial, output], mu, rtol=0, atol=1e-9 * np.abs(mu).max())
        np.testing.assert_allclose(last.covariance(K, slice(2, 9))[trial], k[:, 2:9], rtol=0, atol=1e-12 * K.max())
        np.testing.assert_allclose(last.var[trial], np.diagonal(k), rtol=0, atol=1e-12 * K.max())
        assert last.gain[trial] == pytest.approx(literal.information_gain(K, arms[:, trial], lam), rel=1e-9)


def test_conditioning_leaves_the_posterior_before_as_it_was():
    kernel, X = examples_of.KERNELS["Matern"]
    K = kernel(X, X)
    before = KernelMatrix(K, 2).prior(outputs=1, trials=1)
    before.condition(K, 0.5, np.array([3]), np.array([[1.0]]))
    assert not before.W.any()
    assert not before.mu.any()
