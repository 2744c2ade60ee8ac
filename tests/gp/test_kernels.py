import math

import numpy as np
import pytest

import softbandit as sb

X = np.array([[0.0, 0.0], [0.3, -0.4], [1.0, 2.0]])


def test_squared_exponential_equals_hand_calculation():
    # r = 0.5 between the first two points.
    assert sb.SquaredExponential(1.0)(X[:1], X[1:2])[0, 0] == pytest.approx(math.exp(-0.125), rel=1e-15)
    assert sb.SquaredExponential([0.1, 0.2])(X[:1], X[1:2])[0, 0] == pytest.approx(math.exp(-0.5 * (9 + 4)), rel=1e-14)


@pytest.mark.parametrize(
    ("nu", "by_hand"),
    [
        (0.5, lambda r: math.exp(-r)),
        (1.5, lambda r: (1 + math.sqrt(3) * r) * math.exp(-math.sqrt(3) * r)),
        (2.5, lambda r: (1 + math.sqrt(5) * r + 5 * r * r / 3) * math.exp(-math.sqrt(5) * r)),
    ],
)
def test_matern_equals_hand_calculation(nu, by_hand):
    assert sb.Matern(0.25, nu=nu)(X[:1], X[1:2])[0, 0] == pytest.approx(by_hand(2.0), rel=1e-14)


def test_linear_is_the_inner_product():
    np.testing.assert_allclose(sb.Linear()(X, X), [[0, 0, 0], [0, 0.25, -0.5], [0, -0.5, 5]], atol=1e-15)


def test_sums_products_and_scalings_combine_the_matrices():
    a, b = sb.SquaredExponential(0.5), sb.Matern(0.7)
    np.testing.assert_array_equal((a + b)(X, X), a(X, X) + b(X, X))
    np.testing.assert_array_equal((a * b)(X, X), a(X, X) * b(X, X))
    np.testing.assert_array_equal((0.3 * a)(X, X), 0.3 * a(X, X))
    np.testing.assert_array_equal((a * 0.3)(X, X), 0.3 * a(X, X))
    with pytest.raises(TypeError):
        a + 1.0


def test_tabular_returns_entries_of_the_matrix():
    matrix = np.array([[1.0, 0.2, 0.1], [0.2, 0.5, 0.0], [0.1, 0.0, 0.8]])
    kernel = sb.Tabular(matrix)
    np.testing.assert_array_equal(kernel(np.array([[2.0], [0.0]]), np.array([[1.0], [0.0]])), [[0.0, 0.1], [0.2, 1.0]])
    np.testing.assert_array_equal(kernel.diag(np.array([[1.0], [2.0]])), [0.5, 0.8])


def test_rescaling_makes_the_largest_variance_one():
    kernel = (4.0 * sb.Linear()).rescaled(X)
    assert kernel.diag(X).max() == pytest.approx(1.0, rel=1e-15)
    np.testing.assert_allclose(kernel(X, X), X @ X.T / 5.0, atol=1e-15)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "0.2", None, True, [0.2, -0.1]])
def test_a_bad_length_scale_is_refused(value):
    for kind in (sb.SquaredExponential, sb.Matern):
        with pytest.raises(sb.ArgumentError, match="lengthscale.*expected.*got"):
            kind(value)


def test_a_bad_nu_scale_or_number_of_length_scales_is_refused():
    with pytest.raises(sb.KernelError, match="0.5, 1.5 or 2.5"):
        sb.Matern(0.2, nu=2.0)
    with pytest.raises(sb.ArgumentError, match="scale"):
        -1.0 * sb.Linear()
    with pytest.raises(sb.KernelError, match="one for each of 2 dimensions"):
        sb.SquaredExponential([0.1, 0.2, 0.3])(X, X)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0, 0.5], [0.4, 1.0]], "symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "semi-definite.*-1"),
        ([[1.0, 0.0]], "square"),
        ([[math.nan]], "finite"),
        ([1.0], "n x d matrix"),
        ("text", "matrix of real numbers"),
    ],
)
def test_a_bad_tabular_matrix_is_refused(matrix, message):
    with pytest.raises(sb.ArgumentError, match=message):
        sb.Tabular(matrix)


def test_a_singular_tabular_matrix_with_rounding_errors_is_accepted():
    half = np.random.default_rng(0).standard_normal((40, 3))
    sb.Tabular(half @ half.T)


@pytest.mark.parametrize("arms", [[[0.5]], [[2.0]], [[-1.0]], [[0.0, 1.0]]])
def test_arms_that_are_not_indices_of_a_tabular_kernel_are_refused(arms):
    with pytest.raises(sb.KernelError, match="whole numbers from 0 to 1"):
        sb.Tabular(np.eye(2)).diag(np.array(arms))
