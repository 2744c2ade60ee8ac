import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from softbandit_tests import examples_of
from softbandit_tests import paper_formulas as literal

import softbandit as sb
from softbandit.theory import features, gain_rate, greedy_gain, realised_gain, spectral_gain
from softbandit.theory.information_gain import water_filling

every_kernel = pytest.mark.parametrize(("kernel", "X"), examples_of.KERNELS.values(), ids=examples_of.KERNELS)


@every_kernel
def test_the_realised_gain_is_the_log_determinant(kernel, X):
    runs = np.random.default_rng(0).integers(len(X), size=(2, 20))
    gains = realised_gain(features(kernel, X), runs, 0.7)
    K = kernel(X, X)
    for run, gain in zip(runs, gains, strict=True):
        expected = [literal.information_gain(K, run[: t + 1], 0.7) for t in range(20)]
        np.testing.assert_allclose(gain, expected, rtol=1e-9)
    np.testing.assert_array_equal(realised_gain(features(kernel, X), runs[0], 0.7), gains[0])


def exhaustive(K, t, lam):
    """The largest gain over all multisets of t arms."""
    return max(
        literal.information_gain(K, list(chosen), lam)
        for chosen in itertools.combinations_with_replacement(range(len(K)), t)
    )


@every_kernel
@pytest.mark.parametrize("lam", [1.0, 0.1])
def test_the_bounds_enclose_the_maximum_over_all_multisets(kernel, X, lam):
    X = X[:6]
    K, phi = kernel(X, X), features(kernel, X)
    greedy = greedy_gain(phi, 5, lam)
    spectral = spectral_gain(phi, np.arange(1, 6), lam)
    for t in range(1, 6):
        best = exhaustive(K, t, lam)
        slip = 1e-9 * best
        assert greedy.lower[t - 1] <= best + slip
        assert greedy.lower[t - 1] >= (1 - 1 / np.e) * best - slip
        assert best <= greedy.upper[t - 1] + slip
        assert best <= spectral[t - 1] + slip
        coarse = greedy_gain(phi, t, lam, steps=2)
        assert coarse.lower[-1] <= best + slip
        assert best <= coarse.upper[-1] + slip


@every_kernel
@pytest.mark.parametrize("T", [1, 10, 300])
def test_greedy_never_exceeds_the_spectral_bound(kernel, X, T):
    phi = features(kernel, X)
    greedy = greedy_gain(phi, T, 0.5)
    assert (greedy.lower <= spectral_gain(phi, greedy.rounds, 0.5) * (1 + 1e-9)).all()
    assert (greedy.lower <= greedy.upper).all()
    missed = phi.residual * greedy.rounds / (2 * 0.5)
    assert (greedy.upper <= greedy.lower / (1 - np.exp(-1)) + missed + 1e-12).all()


@given(st.integers(0, 1000), st.floats(0.5, 50))
def test_no_design_of_the_same_trace_beats_the_spectral_bound(seed, total):
    """The bound's argument, on random positive semi-definite designs M with tr M = T."""
    rng = np.random.default_rng(seed)
    kernel, X = examples_of.KERNELS["SquaredExponential"]
    K = kernel(X, X)
    half = rng.standard_normal((12, rng.integers(1, 13)))
    M = half @ half.T
    M *= total / np.trace(M)
    value = 0.5 * np.linalg.slogdet(np.eye(12) + K @ M / 0.5)[1]
    # The rank bound is for diagonal designs only: compare with water-filling alone.
    kappa = np.linalg.eigvalsh(K)[::-1]
    assert value <= water_filling(0.5 / kappa, total) * (1 + 1e-9)


def test_water_filling_by_hand():
    # Ground 1 and 3, total 4: the level is (4 + 1 + 3) / 2 = 4, so m = 3 and 1.
    assert water_filling(np.array([1.0, 3.0]), 4.0) == pytest.approx(0.5 * (np.log(4) + np.log(4 / 3)))
    # Total 1: the level is 2, so m = 1 and 0.
    assert water_filling(np.array([1.0, 3.0]), 1.0) == pytest.approx(0.5 * np.log(2))


def test_the_design_bound_is_far_tighter_than_submodularity():
    phi = features(sb.SquaredExponential(0.2), np.linspace(0, 1, 100)[:, None])
    greedy = greedy_gain(phi, 1000, 1.002)
    assert greedy.upper[-1] <= 1.01 * greedy.lower[-1]


def test_gains_of_long_horizons_need_no_large_matrices():
    phi = features(sb.SquaredExponential(0.3), np.random.default_rng(0).random((2000, 2)))
    tracemalloc.start()
    greedy_gain(phi, 10_000, 1.0, steps=200)
    realised_gain(phi, np.zeros(3000, dtype=int), 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6  # 10,000 x 10,000 numbers would be 800 MB


def test_gain_rates_are_the_papers():
    assert str(gain_rate(sb.SquaredExponential(0.2), 3)) == "O((ln t)^4)"
    assert str(gain_rate(sb.Linear(), 5)) == "O(5 ln t)"
    assert gain_rate(0.5 * sb.Matern(0.2, nu=2.5), 1).degree == pytest.approx(2 / 7)
    with pytest.raises(sb.ArgumentError, match="Use greedy_gain or spectral_gain"):
        gain_rate(sb.Tabular(np.eye(2)), 1)


def test_other_bad_input_is_refused():
    phi = features(sb.Linear(), np.eye(2))
    for call in (
        lambda: spectral_gain(phi, -5, 1.0),
        lambda: spectral_gain(phi, 5, 0.0),
        lambda: realised_gain(phi, np.array([0]), -1.0),
        lambda: gain_rate(sb.Linear(), 0),
    ):
        with pytest.raises(sb.ArgumentError, match="expected.*got"):
            call()


@pytest.mark.parametrize("bad", [{"rounds": 0}, {"regularisation": 0.0}, {"steps": 0}])
def test_bad_input_is_refused(bad):
    phi = features(sb.Linear(), np.eye(2))
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        greedy_gain(**{"features": phi, "rounds": 3, "regularisation": 1.0, **bad})
