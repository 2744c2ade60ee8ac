"""What every kernel must do."""

import numpy as np
import pytest
from softbandit_tests import examples_of

from softbandit.errors import KernelError
from softbandit.gp import kernels

every_kernel = pytest.mark.parametrize(("kernel", "X"), examples_of.KERNELS.values(), ids=examples_of.KERNELS)


def test_none_is_missing():
    tested = {type(kernel).__name__ for kernel, _ in examples_of.KERNELS.values()}
    assert tested == examples_of.classes(kernels, kernels.Kernel)


@every_kernel
def test_symmetric_to_the_bit(kernel, X):
    K = kernel(X, X)
    np.testing.assert_array_equal(K, K.T)


@every_kernel
def test_positive_semi_definite(kernel, X):
    eigenvalues = np.linalg.eigvalsh(kernel(X, X))
    assert eigenvalues[0] >= -1e-14 * len(X) * eigenvalues[-1]


@every_kernel
def test_diag_is_the_diagonal(kernel, X):
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel(X, X)), rtol=1e-15)


@every_kernel
def test_gradients_are_those_of_difference_quotients(kernel, X):
    if isinstance(kernel, kernels.Tabular):
        with pytest.raises(KernelError, match="gradient"):
            kernel.gradient(X, X, np.ones((12, 12)))
        return
    W, Y, step = np.random.default_rng(0).standard_normal((12, 12)), X[::-1] + 0.01, 1e-6
    for j in range(X.shape[1]):
        e = step * np.eye(X.shape[1])[j]
        # Errors of step^2 times third derivatives, up to 1e4, and of 1e-16 / step.
        by_difference = (W * (kernel(X + e, Y) - kernel(X - e, Y))).sum(axis=1) / (2 * step)
        np.testing.assert_allclose(kernel.gradient(X, Y, W)[:, j], by_difference, atol=1e-7)
        by_difference = (kernel.diag(X + e) - kernel.diag(X - e)) / (2 * step)
        np.testing.assert_allclose(kernel.diag_gradient(X)[:, j], by_difference, atol=1e-8)


@every_kernel
def test_the_gradient_at_a_points_own_place_is_zero_for_a_kernel_of_differences(kernel, X):
    if isinstance(kernel, (kernels.SquaredExponential, kernels.Matern)):
        np.testing.assert_array_equal(kernel.gradient(X[:1], X[:1], np.ones((1, 1))), [[0.0, 0.0]])


@every_kernel
def test_blocks_are_parts_of_the_whole(kernel, X):
    # Linear goes through BLAS, whose rounding depends on the shape.
    np.testing.assert_allclose(kernel(X[2:5], X[7:]), kernel(X, X)[2:5, 7:], rtol=1e-14, atol=1e-16)
