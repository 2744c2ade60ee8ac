"""Statistical tests have fixed seeds, and tolerances of five standard errors."""

import numpy as np
import pytest

import softbandit as sb
from softbandit.backend.random import POLICY, DrawCount, draw
from softbandit.gp import weight_space
from softbandit.gp.pivoted_cholesky import features
from softbandit.model.beliefs import ArmBelief

TRIALS = 40_000
BETA = np.array([1.5, -0.7])  # up for the reward, down for the cost
DISTRIBUTIONS = [sb.Gaussian(), sb.UniformDiscrete(5), sb.TruncatedGaussian(-1, 2, 7)]


@pytest.fixture(
    scope="module", params=[weight_space.prior, weight_space.weight_prior], ids=["over the arms", "of the weights"]
)
def belief_and_covariance(request):
    """The belief of two outputs after three rounds, the same in every trial, and k_t."""
    phi = features(sb.SquaredExponential(0.3), np.linspace(0, 1, 8)[:, None])
    posterior = request.param(phi, outputs=2, trials=1)
    for arm, y in ((1, [0.5, -1.0]), (6, [2.0, 0.3]), (1, [0.7, -0.4])):
        posterior = weight_space.condition(phi, 0.5, posterior, np.array([arm]), np.array([y]))
    return ArmBelief(phi, posterior, slice(None)), weight_space.covariance(phi, posterior)[0]


def sample(exploration, belief, seed=0):
    """Return TRIALS independent estimates: (TRIALS, 2, n)."""
    need = exploration.draws(belief.features.rank)
    both = DrawCount(2 * need.normal, 2 * need.uniform)
    draws = draw(both, seed, range(TRIALS), 0, 1, POLICY)
    shaped = sb.Draws(
        draws.normal[0].reshape(TRIALS, 2, need.normal), draws.uniform[0].reshape(TRIALS, 2, need.uniform)
    )
    return np.broadcast_to(exploration.estimate(belief, BETA[None, :, None], shaped), (TRIALS, 2, 8))


def test_ucb_adds_the_width_for_the_reward_and_subtracts_it_for_the_cost(belief_and_covariance):
    belief, k = belief_and_covariance
    sigma = np.sqrt(np.diagonal(k))
    h = sb.UCB().estimate(belief, BETA[None, :, None], sb.Draws(None, None))
    np.testing.assert_allclose(h[0, 0], belief.mean[0, 0] + 1.5 * sigma, rtol=1e-12)
    np.testing.assert_allclose(h[0, 1], belief.mean[0, 1] - 0.7 * sigma, rtol=1e-12)


def test_greedy_is_the_mean(belief_and_covariance):
    belief, _ = belief_and_covariance
    np.testing.assert_array_equal(sb.Greedy().estimate(belief, BETA[None, :, None], None), belief.mean)


def test_thompson_has_mean_mu_and_covariance_beta_squared_k(belief_and_covariance):
    belief, k = belief_and_covariance
    h = sample(sb.Thompson(), belief)
    for i, beta in enumerate(BETA):
        cov = beta**2 * k
        sigma = np.sqrt(np.diagonal(cov))
        # The sample mean has standard error sigma / sqrt(N); an entry of the sample covariance
        # of a Gaussian has variance (c_ii c_jj + c_ij^2) / N.
        assert (np.abs(h[:, i].mean(axis=0) - belief.mean[0, i]) <= 5 * sigma / np.sqrt(TRIALS)).all()
        error = np.sqrt((np.outer(sigma**2, sigma**2) + cov**2) / TRIALS)
        assert (np.abs(np.cov(h[:, i].T) - cov) <= 5 * error).all()
    # Independent between outputs: a sample correlation has standard error 1 / sqrt(N).
    correlation = np.corrcoef(h[:, 0].T, h[:, 1].T)[:8, 8:]
    assert np.abs(correlation).max() <= 5 / np.sqrt(TRIALS)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=str)
def test_rand_ucb_is_mu_plus_z_sigma_with_one_z_for_all_arms(belief_and_covariance, distribution):
    belief, k = belief_and_covariance
    h = sample(sb.RandUCB(distribution), belief)
    z = (h - belief.mean) / np.sqrt(np.diagonal(k)) / BETA[:, None]
    np.testing.assert_allclose(z, z[:, :, :1] * np.ones(8), atol=1e-9)
    correlation = np.corrcoef(z[:, 0, 0], z[:, 1, 0])[0, 1]
    assert abs(correlation) <= 5 / np.sqrt(TRIALS)


def test_the_gaussian_z_is_standard_normal():
    draws = draw(DrawCount(normal=1), 3, range(TRIALS), 0, 1, POLICY)
    z = sb.Gaussian().sample(sb.Draws(draws.normal[0], None))[:, 0]
    # Moments 0, 1, 0, 3 with variances 1, 2, 15, 96 over N.
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((z**power).mean() - moment) <= 5 * np.sqrt(variance / TRIALS)


@pytest.mark.parametrize(
    ("distribution", "points", "weights"),
    [
        (sb.UniformDiscrete(5), [0, 0.5, 1, 1.5, 2], [1, 1, 1, 1, 1]),
        (sb.TruncatedGaussian(-1, 2, 4), [-1, 0, 1, 2], np.exp([-0.5, 0, -0.5, -2])),
        (sb.TruncatedGaussian(60, 62, 3), [60, 61, 62], np.exp([0, -60.5, -122])),
    ],
    ids=["uniform", "truncated Gaussian", "truncated Gaussian far from 0"],
)
def test_a_discrete_z_takes_its_points_with_their_probabilities(distribution, points, weights):
    u = draw(DrawCount(uniform=1), 4, range(TRIALS), 0, 1, POLICY).uniform[0]
    z = distribution.sample(sb.Draws(None, u))[:, 0]
    p = np.array(weights) / np.sum(weights)
    values, counts = np.unique(z, return_counts=True)
    assert set(np.round(values, 12)) <= set(points)
    frequency = np.array([counts[np.isclose(values, a)].sum() for a in points]) / TRIALS
    # A frequency has standard error sqrt(p (1 - p) / N).
    assert (np.abs(frequency - p) <= 5 * np.sqrt(p * (1 - p) / TRIALS) + 1e-15).all()


@pytest.mark.parametrize(
    "build",
    [
        lambda: sb.UniformDiscrete(1),
        lambda: sb.UniformDiscrete(2.5),
        lambda: sb.TruncatedGaussian(2, 1),
        lambda: sb.TruncatedGaussian(0, float("nan")),
        lambda: sb.TruncatedGaussian(points=1),
        lambda: sb.RandUCB("gaussian"),
    ],
    ids=["one point", "half a point", "lower above upper", "NaN", "one point of a Gaussian", "not a distribution"],
)
def test_an_exploration_with_bad_settings_is_refused(build):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        build()
