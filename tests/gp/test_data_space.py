"""The posterior in data space, against the direct formulas."""

import numpy as np
import pytest
from softbandit_tests import examples_of
from softbandit_tests import paper_formulas as literal

import softbandit as sb
from softbandit.gp import Kernel
from softbandit.gp.data_space import FEW_ROWS, ArmKernel, ObservedArms, has_high_rank

ARMS = np.random.default_rng(0).random((150, 3))
MATERN = sb.Matern(0.5)


def prior(lam, kernel=MATERN, arms=ARMS, outputs=1, trials=1):
    return ArmKernel(kernel, arms, 1e-13).prior(lam, outputs, trials)


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
@pytest.mark.parametrize("rounds", [20, 100])
def test_mean_covariance_and_gain_equal_the_direct_formulas_in_every_trial(kernel, X, lam, rounds):
    arms, y = history(rounds, trials=3, outputs=2, most=min(40, len(X)))
    last, K = run(prior(lam, kernel, X, outputs=2, trials=3), lam, arms, y), kernel(X, X)
    for trial in range(3):
        for output in range(2):
            mu, k = literal.posterior(K, arms[:, trial], y[:, trial, output], lam)
            np.testing.assert_allclose(last.mu[trial, output], mu, rtol=0, atol=1e-9 * np.abs(mu).max())
        np.testing.assert_allclose(last.covariance(slice(2, 9))[trial], k[:, 2:9], rtol=0, atol=1e-12 * K.max())
        np.testing.assert_allclose(last.var[trial], np.diagonal(k), rtol=0, atol=1e-12 * K.max())
        assert last.gain[trial] == pytest.approx(literal.information_gain(K, arms[:, trial], lam), rel=1e-9)


def test_neighbours_of_a_smooth_kernel_observed_one_after_another_do_not_magnify_rounding():
    """Without noise each would be extrapolated from those before."""
    grid, smooth, lam = np.linspace(0, 1, 200)[:, None], sb.SquaredExponential(0.2), 0.01
    arms, y = np.arange(200)[:, None], np.random.default_rng(0).standard_normal((200, 1, 1))
    last = run(prior(lam, smooth, grid), lam, arms, y)
    mu, k = literal.posterior(smooth(grid, grid), arms[:, 0], y[:, 0, 0], lam)
    np.testing.assert_allclose(last.mu[0, 0], mu, rtol=0, atol=1e-11)
    np.testing.assert_allclose(last.var[0], np.diagonal(k), rtol=0, atol=1e-13)


def test_rows_stay_below_twice_the_number_of_observed_arms():
    arms, y = history(300, most=20)
    state = prior(0.1)
    for t, (arm, row) in enumerate(zip(arms, y, strict=True), 1):
        state = state.condition(0.1, arm, row)
        (trial,) = state.trials
        assert len(trial.W) < max(2 * len(np.unique(arms[:t])), FEW_ROWS)
        assert trial.counts.sum() + len(trial.arms) - len(trial.counts) == t


def test_variances_are_accurate_after_thousands_of_rounds():
    lam, (arms, y) = 1e-3, history(3000, most=3)
    last, counts = run(prior(lam), lam, arms, y), np.bincount(arms[:, 0])
    K = MATERN(ARMS[:3], ARMS[:3])
    exact = np.linalg.inv(np.linalg.inv(K) + np.diag(counts) / lam)  # k_t over the three arms, about 1e-6
    np.testing.assert_allclose(last.var[0, :3], np.diagonal(exact), rtol=0, atol=1e-14)
    assert last.gain[0] == pytest.approx(np.linalg.slogdet(np.eye(3) + K * counts / lam)[1] / 2, rel=1e-10)


def test_two_continuations_of_one_posterior_do_not_disturb_each_other():
    arms, y = history(40)
    start = run(prior(0.1), 0.1, arms[:17], y[:17])
    alone = run(start, 0.1, arms[17:], y[17:])
    other = run(start, 0.1, arms[17:] + 60, y[17:])
    again = run(start, 0.1, arms[17:], y[17:])
    assert (other.mu != alone.mu).any()
    np.testing.assert_array_equal(alone.mu, again.mu)
    np.testing.assert_array_equal(alone.trials[0].W, again.trials[0].W)


def test_a_kernel_has_high_rank_if_it_has_about_as_many_features_as_rounds_or_arms():
    many, line = np.random.default_rng(1).random((1000, 3)), np.linspace(0, 1, 1000)[:, None]
    assert has_high_rank(MATERN, many, 1e-13, rounds=10**6)
    assert has_high_rank(MATERN, many[:257], 1e-13, rounds=10**6)
    assert not has_high_rank(MATERN, many[:256], 1e-13, rounds=10**6)
    assert not has_high_rank(sb.SquaredExponential(0.5), line, 1e-13, rounds=1)
    assert not has_high_rank(sb.Linear(), many, 1e-13, rounds=1)
    # It has 241 features on 256 of these arms, and 322 on 512.
    assert has_high_rank(sb.SquaredExponential(0.7), many, 1e-13, rounds=100)
    assert not has_high_rank(sb.SquaredExponential(0.7), many, 1e-13, rounds=512)


def test_a_function_that_is_no_kernel_is_refused_when_rows_are_replaced():
    class Broken(Kernel):
        """Less than a kernel by 0.1 on the diagonal: more than its least eigenvalue, and less than lambda."""

        def __call__(self, X, Y):
            return MATERN(X, Y) - 0.1 * (X[:, None] == Y).all(axis=2)

        def diag(self, X):
            return np.full(len(X), 0.9)

    with pytest.raises(sb.KernelError, match="positive semi-definite"):
        run(prior(0.11, Broken()), 0.11, *history(100, most=30))


@pytest.mark.parametrize("rounds", [0, 20, 70, 300])
def test_a_stored_value_is_restored_to_the_bit(rounds):
    arms, y = history(rounds)
    last = run(prior(0.1), 0.1, arms, y).trials[0]
    restored = ObservedArms.none(last.prior, 0.1).refilled(iter(list(last.arrays())))
    for name in ("arms", "counts", "W"):
        np.testing.assert_array_equal(getattr(restored, name), getattr(last, name), err_msg=name)


@pytest.mark.parametrize(
    ("arms", "counts"),
    [([0, 150], []), ([-1], []), ([0], [1, 1]), ([0, 1], [0]), ([[0]], []), ([0], [[1]])],
    ids=["no such arm", "a negative one", "more counts than arms", "no observation", "a matrix", "a matrix of counts"],
)
def test_a_damaged_value_is_refused(arms, counts):
    value = ObservedArms.none(ArmKernel(MATERN, ARMS, 1e-13), 0.1)
    with pytest.raises(ValueError, match="rows of arms that there are not"):
        value.refilled(iter([np.array(arms), np.array(counts, dtype=np.int64)]))
