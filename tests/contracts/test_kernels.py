"""Requirements on every kernel."""

import inspect

import numpy as np
import pytest
from softbandit_tests import examples_of

from softbandit.errors import KernelError
from softbandit.gp import kernel as kernel_module
from softbandit.gp import kernels
from softbandit.gp.kernel import STEP, Kernel

every_kernel = pytest.mark.parametrize(("kernel", "X"), examples_of.KERNELS.values(), ids=examples_of.KERNELS)


def test_every_concrete_kernel_has_an_example():
    tested = {type(kernel).__name__ for kernel, _ in examples_of.KERNELS.values()}
    modules = (kernel_module, kernels)
    classes = {name: vars(module)[name] for module in modules for name in examples_of.classes(module, Kernel)}
    assert tested == {name for name, kind in classes.items() if not inspect.isabstract(kind)}


@every_kernel
def test_a_kernel_matrix_is_symmetric_to_the_bit(kernel, X):
    K = kernel(X, X)
    np.testing.assert_array_equal(K, K.T)


@every_kernel
def test_a_kernel_matrix_is_positive_semi_definite(kernel, X):
    eigenvalues = np.linalg.eigvalsh(kernel(X, X))
    assert eigenvalues[0] >= -1e-14 * len(X) * eigenvalues[-1]


@every_kernel
def test_diag_is_the_diagonal_of_the_matrix(kernel, X):
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel(X, X)), rtol=1e-15)


@every_kernel
def test_gradients_equal_difference_quotients(kernel, X):
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
def test_a_radial_kernel_has_gradient_zero_between_equal_points(kernel, X):
    if isinstance(kernel, kernels.Radial):
        np.testing.assert_array_equal(kernel.gradient(X[:1], X[:1], np.ones((1, 1))), [[0.0, 0.0]])


@every_kernel
def test_a_block_of_the_matrix_equals_the_matrix_of_a_block(kernel, X):
    # Linear uses BLAS, whose rounding depends on the shape.
    np.testing.assert_allclose(kernel(X[2:5], X[7:]), kernel(X, X)[2:5, 7:], rtol=1e-14, atol=1e-16)


@every_kernel
def test_with_parameters_replaces_the_parameters_and_nothing_else(kernel, X):
    values = kernel.parameters()
    assert len(kernel.parameter_units(np.ones(X.shape[1]))) == len(values)
    assert kernel.with_parameters(values) == kernel
    doubled = kernel.with_parameters([2 * value for value in values])
    assert doubled.parameters() == tuple(2 * value for value in values)
    assert doubled.with_parameters(values) == kernel


@every_kernel
def test_parameter_gradients_equal_difference_quotients(kernel, X):
    W = np.random.default_rng(0).standard_normal((12, 12))
    by_difference = Kernel.parameter_gradients(kernel, X, W)
    # Per entry: errors of STEP^2 times a third derivative, below 10, and of rounding, 1e-16 / STEP.
    atol = (10 * STEP**2 + 1e-16 / STEP) * np.abs(W).sum()
    np.testing.assert_allclose(kernel.parameter_gradients(X, W), by_difference, atol=atol, rtol=0)
