import tracemalloc

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.gp import pivoted_cholesky as module
from softbandit.gp.pivoted_cholesky import TOLERANCE, features


@pytest.mark.parametrize(("kernel", "X"), examples_of.KERNELS.values(), ids=examples_of.KERNELS)
def test_the_kernel_matrix_is_reproduced_within_the_tolerance(kernel, X):
    K, factor = kernel(X, X), features(kernel, X)
    # The tolerance bounds the residual; forming Phi Phi^T rounds once more.
    np.testing.assert_allclose(factor.phi @ factor.phi.T, K, atol=(TOLERANCE + 1e-15) * K.max(), rtol=0)
    np.testing.assert_array_equal(factor.diag, kernel.diag(X))


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-10])
def test_the_rank_is_the_smallest_that_meets_the_tolerance(tolerance):
    arms = np.linspace(0, 1, 300)[:, None]
    kernel = sb.SquaredExponential(0.05)
    phi = features(kernel, arms, tolerance).phi
    K = kernel(arms, arms)
    assert np.abs(phi @ phi.T - K).max() <= tolerance * 1.001
    assert np.abs(phi[:, :-1] @ phi[:, :-1].T - K).max() > tolerance


def test_repeated_arms_add_no_rank():
    arms = np.repeat(np.linspace(0, 1, 5), 4)[:, None]
    assert features(sb.Matern(0.3, nu=0.5), arms).rank == 5


def test_a_full_rank_kernel_gets_full_rank():
    arms = np.linspace(0, 1, 40)[:, None]
    assert features(sb.Matern(0.01, nu=0.5), arms).rank == 40


def test_a_zero_kernel_has_no_features():
    assert features(sb.Linear(), np.zeros((3, 2))).phi.shape == (3, 0)


def test_factorising_20_000_arms_never_forms_the_full_matrix():
    arms = np.random.default_rng(0).random((20_000, 2))
    tracemalloc.start()
    factor = features(sb.SquaredExponential(0.3), arms)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Phi grows by doubling and is copied once; the full matrix would be 3.2 GB.
    assert peak < 8 * factor.phi.nbytes < 0.08 * 8 * 20_000**2


def test_a_rank_that_does_not_fit_in_memory_is_refused(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_PHI", 8 * 500 * 100)
    with pytest.raises(sb.KernelError, match="500 arms.*Use fewer arms"):
        features(sb.Matern(0.01, nu=0.5), np.linspace(0, 1, 500)[:, None])


def test_a_rank_that_just_fits_in_memory_is_not_refused(monkeypatch):
    """Ten arms of a rough kernel have rank 10: ten rows are allowed, nine are not."""
    arms = np.linspace(0, 1, 10)[:, None]
    monkeypatch.setattr(module, "LARGEST_PHI", 8 * 10 * 10)
    assert features(sb.Matern(0.01, nu=0.5), arms).rank == 10
    monkeypatch.setattr(module, "LARGEST_PHI", 8 * 10 * 9)
    with pytest.raises(sb.KernelError, match="a rank below 9 on 10 arms"):
        features(sb.Matern(0.01, nu=0.5), arms)


def test_a_kernel_with_an_infinite_diagonal_is_refused():
    with pytest.raises(sb.KernelError, match=r"finite k.*inf at arm 1"):
        features(sb.Linear() * sb.Linear() * sb.Linear() * sb.Linear(), np.array([[1.0], [1e50]]))


class NotAKernel(sb.Kernel):
    def __init__(self, value):
        self.value = value

    def __call__(self, X, Y):
        return np.where(X == Y.T, 1.0, self.value)

    def diag(self, X):
        return np.ones(len(X))


@pytest.mark.parametrize("value", [2.0, np.nan])
def test_a_function_that_is_not_positive_semi_definite_is_refused(value):
    with pytest.raises(sb.KernelError, match="positive semi-definite function.*at arm 1"):
        features(NotAKernel(value), np.arange(3.0)[:, None])


def test_passing_the_pivots_reproduces_the_basis():
    arms = np.linspace(0, 1, 50)[:, None]
    first = features(sb.SquaredExponential(0.2), arms)
    again = features(sb.SquaredExponential(0.2), arms, pivots=first.pivots)
    np.testing.assert_array_equal(first.phi, again.phi)
    other = features(sb.SquaredExponential(0.2), arms, pivots=first.pivots[::-1])
    assert (other.phi != first.phi).any()
    np.testing.assert_allclose(other.phi @ other.phi.T, first.phi @ first.phi.T, atol=1e-12)


def test_a_limited_rank_keeps_the_first_pivots_and_reports_what_is_left():
    kernel, X = sb.Matern(0.4), examples_of.ARMS
    whole, part = features(kernel, X), features(kernel, X, largest_rank=3)
    np.testing.assert_array_equal(part.basis, whole.basis[:3])
    left = np.diag(kernel(X, X) - part.phi @ part.phi.T)
    assert part.residual == pytest.approx(left.max())
    assert features(kernel, X, largest_rank=100).rank == whole.rank
