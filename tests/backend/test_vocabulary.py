import numpy as np
import pytest

from softbandit.backend.vocabulary import at_arm, drop_single, namespace, restrict, weighted_sum


def test_the_namespace_of_a_numpy_array_is_numpy():
    assert namespace(np.zeros(2)) is np


@pytest.mark.extra
def test_the_namespace_of_a_jax_array_is_jax_numpy():
    jnp = pytest.importorskip("jax.numpy")
    assert namespace(jnp.zeros(2)) is jnp


def test_drop_single_drops_a_last_axis_of_one_entry_only():
    assert drop_single(np.zeros((3, 1))).shape == (3,)
    assert drop_single(np.array([2.5])) == 2.5
    assert drop_single(np.zeros((3, 2))).shape == (3, 2)
    assert drop_single(np.zeros((3, 0))).shape == (3, 0)


def test_at_arm_reads_the_entry_of_each_trials_arm():
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(at_arm(x, np.array([3, 1])), [x[0, :, 3], x[1, :, 1]])
    np.testing.assert_array_equal(at_arm(x[:, 0], np.array([3, 1])), [x[0, 0, 3], x[1, 0, 1]])


@pytest.mark.parametrize("constraints", [0, 1, 3])
def test_weighted_sum_adds_up_price_times_cost(constraints):
    rng = np.random.default_rng(0)
    phi, g = rng.random((2, constraints)), rng.random((2, constraints, 5))
    expected = [[sum(phi[b, i] * g[b, i, a] for i in range(constraints)) for a in range(5)] for b in range(2)]
    np.testing.assert_allclose(weighted_sum(phi, g), expected, rtol=1e-14)


def test_restrict_gives_arms_that_are_not_allowed_minus_infinity():
    z = np.array([[1.0, 2.0, 3.0]])
    assert restrict(z, None) is z
    np.testing.assert_array_equal(restrict(z, np.array([[True, False, True]])), [[1.0, -np.inf, 3.0]])
