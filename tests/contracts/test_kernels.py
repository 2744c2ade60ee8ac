"""What every kernel must do."""

import examples_of
import numpy as np
import pytest

from softbandit import kernels

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
def test_blocks_are_parts_of_the_whole(kernel, X):
    # Linear goes through BLAS, whose rounding depends on the shape.
    np.testing.assert_allclose(kernel(X[2:5], X[7:]), kernel(X, X)[2:5, 7:], rtol=1e-14, atol=1e-16)
