"""The posterior in features of the observed arms, against the direct formulas and the posterior in all features."""

import numpy as np
import pytest
from softbandit_tests import examples_of
from softbandit_tests import paper_formulas as literal

import softbandit as sb
from softbandit.gp import Kernel, data_space, weight_space
from softbandit.gp.data_space import ArmKernel, ObservedArms, has_high_rank
from softbandit.gp.pivoted_cholesky import features, tolerance_for

ARMS = np.random.default_rng(0).random((150, 3))
MATERN = sb.Matern(0.5)


def on_arms(kernel=MATERN, arms=ARMS, lam=1.0):
    return ArmKernel(kernel, arms, tolerance_for(lam))


def run(posterior, lam, arms, y):
    """Condition on a history: arms (rounds, trials), y (rounds, trials, outputs)."""
    for arm, row in zip(arms, y, strict=True):
        posterior = posterior.condition(lam, arm, row)
    return posterior


def history(rounds, trials=1, outputs=1, most=40, seed=1):
    rng = np.random.default_rng(seed)
    return rng.integers(most, size=(rounds, trials)), rng.standard_normal((rounds, trials, outputs))


@pytest.mark.parametrize(
    ("kernel", "X"), [*examples_of.KERNELS.values(), (MATERN, ARMS)], ids=[*examples_of.KERNELS, "150 arms"]
)
@pytest.mark.parametrize("lam", [1.02, 0.01])
def test_mean_covariance_and_gain_equal_the_direct_formulas_in_every_trial(kernel, X, lam):
    arms, y = history(60, trials=3, outputs=2, most=min(40, len(X)))
    last, K = run(on_arms(kernel, X, lam).prior(2, 3), lam, arms, y), kernel(X, X)
    for trial in range(3):
        for output in range(2):
            mu, k = literal.posterior(K, arms[:, trial], y[:, trial, output], lam)
            np.testing.assert_allclose(last.mu[trial, output], mu, rtol=0, atol=1e-9 * np.abs(mu).max())
        np.testing.assert_allclose(last.covariance(slice(2, 9))[trial], k[:, 2:9], rtol=0, atol=1e-10 * K.max())
        np.testing.assert_allclose(last.var[trial], np.diagonal(k), rtol=1e-9, atol=1e-13 * K.max())
        np.testing.assert_allclose(last.trials[trial].variance(), last.var[trial], rtol=1e-9, atol=1e-13 * K.max())
        assert last.gain[trial] == pytest.approx(literal.information_gain(K, arms[:, trial], lam), rel=1e-9)


@pytest.mark.parametrize("lam", [1e-4, 1e-8])
def test_the_posterior_is_accurate_with_little_noise(lam):
    """Repeated observations of an arm equal one of their mean: a system of 40 equations, with a condition below 1e4."""
    arms, y = history(200)
    last = run(on_arms(lam=lam).prior(1, 1), lam, arms, y)
    counts = np.bincount(arms[:, 0])
    K, means = MATERN(ARMS, ARMS), np.bincount(arms[:, 0], weights=y[:, 0, 0]) / counts
    A, k = K[:40, :40] + np.diag(lam / counts), K[:40]
    np.testing.assert_allclose(last.mu[0, 0], k.T @ np.linalg.solve(A, means), rtol=0, atol=1e-11)
    np.testing.assert_allclose(last.var[0], np.diagonal(K - k.T @ np.linalg.solve(A, k)), rtol=0, atol=1e-13)


def test_an_arm_gets_one_feature_however_often_it_is_observed():
    arms, y = history(300, most=20)
    assert run(on_arms().prior(1, 1), 0.1, arms, y).trials[0].rank == 20


def test_an_arm_equal_to_an_observed_one_gets_no_feature():
    twice = np.concatenate([ARMS[:5], ARMS[:5]])
    arms, y = np.array([[0], [5], [1], [6], [0]]), np.ones((5, 1, 1))
    assert run(on_arms(arms=twice).prior(1, 1), 0.1, arms, y).trials[0].pivots.tolist() == [0, 1]


def test_two_continuations_of_one_posterior_do_not_disturb_each_other():
    arms, y = history(40)
    start = run(on_arms().prior(1, 1), 0.1, arms[:17], y[:17])
    alone = run(start, 0.1, arms[17:], y[17:])
    other = run(start, 0.1, arms[17:] + 60, y[17:])
    both = run(start, 0.1, arms[17:], y[17:])
    assert other.trials[0].pivots.tolist() != alone.trials[0].pivots.tolist()
    np.testing.assert_array_equal(alone.mu, both.mu)
    np.testing.assert_array_equal(alone.trials[0].basis, both.trials[0].basis)


def test_variances_are_accurate_after_thousands_of_rounds_with_little_noise():
    """Rounding leaves 1e-16 of k(x, x) in var, which is 1e-6 of what remains of it after 3,000 rounds."""
    lam, (arms, y) = 1e-7, history(3 * weight_space.REFRESH, most=3)
    state = on_arms(lam=lam).prior(1, 1)
    for t, (arm, row) in enumerate(zip(arms, y, strict=True), 1):
        state = state.condition(lam, arm, row).refreshed(t)
    counts = np.bincount(arms[:, 0])
    K = MATERN(ARMS[:3], ARMS[:3])
    exact = np.linalg.inv(np.linalg.inv(K) + np.diag(counts) / lam)  # k_t over the three arms
    np.testing.assert_allclose(state.var[0, :3], np.diagonal(exact), rtol=1e-9)


def test_the_kernel_has_high_rank_if_more_features_than_128_are_needed():
    many = np.random.default_rng(1).random((1000, 3))
    assert has_high_rank(MATERN, many, 1e-13)
    assert has_high_rank(MATERN, ARMS, 1e-13)
    assert not has_high_rank(MATERN, ARMS[:128], 1e-13)
    assert not has_high_rank(sb.SquaredExponential(0.5), np.linspace(0, 1, 1000)[:, None], 1e-13)
    assert not has_high_rank(sb.Linear(), many, 1e-13)


def test_a_stored_value_is_restored_to_the_bit():
    arms, y = history(70)
    last = run(on_arms().prior(1, 1), 0.1, arms, y).trials[0]
    restored = ObservedArms.none(on_arms()).refilled(iter(list(last.arrays())))
    for name in ("pivots", "root", "residual", "basis"):
        np.testing.assert_array_equal(getattr(restored, name), getattr(last, name), err_msg=name)


@pytest.mark.parametrize(
    ("pivots", "root"),
    [
        ([0, 0], np.eye(2)),
        ([0, 150], np.eye(2)),
        ([-1], np.eye(1)),
        ([0, 1], np.eye(3)),
        ([[0]], np.eye(1)),
        ([0], np.array([[np.nan]])),
    ],
    ids=["an arm twice", "no such arm", "a negative one", "another size", "another shape", "NaN"],
)
def test_a_damaged_value_is_refused(pivots, root):
    with pytest.raises(ValueError, match="pivot"):
        ObservedArms.none(on_arms()).refilled(iter([np.array(pivots), root]))


def test_a_function_that_is_no_kernel_is_refused_when_it_shows():
    class Broken(Kernel):
        def __call__(self, X, Y):
            return 2.0 * MATERN(X, Y)  # more than 1 beside a diagonal of 1

        def diag(self, X):
            return np.ones(len(X))

    with pytest.raises(sb.KernelError, match="positive semi-definite"):
        run(on_arms(Broken()).prior(1, 1), 0.1, *history(3))


def test_blocks_of_arms_change_values_by_rounding_alone(monkeypatch):
    arms, y = history(60)
    whole = run(on_arms().prior(1, 1), 0.1, arms, y)
    monkeypatch.setattr(data_space, "BLOCK", 64)
    blocked = run(on_arms().prior(1, 1), 0.1, arms, y)
    np.testing.assert_allclose(blocked.mu, whole.mu, atol=1e-12)
    np.testing.assert_allclose(blocked.trials[0].variance(), whole.var[0], atol=1e-12)
