"""A kernel over points and time, against its formula."""

import numpy as np
import pytest

import softbandit as sb
from softbandit.gp import Drifting, Matern, PointPosterior, Repeats
from softbandit.gp.kernel import Kernel
from softbandit.gp.point_effects import PointEffects

rng = np.random.default_rng(0)
POINTS = rng.random((5, 2))
PLACES, TIMES = rng.integers(5, size=12), np.arange(12.0)
X = np.c_[POINTS[PLACES], TIMES]
KERNEL = Drifting(Matern([0.3, 0.6]), half_life=7.0, rough=0.2)


def test_covariance_falls_by_half_per_half_life():
    K = KERNEL(X, X)
    for i in range(12):
        for j in range(12):
            smooth = float(KERNEL.kernel(X[i : i + 1, :2], X[j : j + 1, :2])[0, 0])
            expected = (smooth + 0.2 * (PLACES[i] == PLACES[j])) * 0.5 ** (abs(i - j) / 7.0)
            assert K[i, j] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(KERNEL.diag(X), np.diag(K), rtol=1e-12)


def test_parameters_go_in_and_come_out():
    other = KERNEL.with_parameters([0.1, 0.9, 5.0])
    assert other.parameters() == (0.1, 0.9, 5.0)
    assert other.half_life == KERNEL.half_life
    assert KERNEL.with_parameters(KERNEL.parameters()) == KERNEL


def test_gradients_with_respect_to_parameters_equal_differences():
    W = rng.standard_normal((12, 12))
    by_difference = Kernel.parameter_gradients(KERNEL, X, W)
    np.testing.assert_allclose(KERNEL.parameter_gradients(X, W), by_difference, rtol=1e-6, atol=1e-8)


def test_an_old_observation_is_forgotten_however_small_its_noise():
    """After four half-lives the weight of an exact observation is 1 / 16, and the variance is almost the prior's."""
    model = PointEffects(Drifting(sb.Matern([0.3]), 10.0, rough=0.0), offset=0.0, signal=1.0, own=0.0, noise=1e-6)
    posterior = PointPosterior.of(model, Repeats.of(np.array([[0.5, 0.0]]), np.array([2.0])))
    mean, variance = posterior.at(np.array([[0.5, 0.0], [0.5, 10.0], [0.5, 40.0]]))
    np.testing.assert_allclose(mean, [2.0, 1.0, 0.125], rtol=1e-5)
    np.testing.assert_allclose(variance, [0.0, 0.75, 1 - 1 / 256], atol=1e-5)
