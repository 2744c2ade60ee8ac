import numpy as np

from softbandit.backend.vocabulary import drop_single, namespace


def test_the_namespace_of_a_numpy_array_is_numpy():
    assert namespace(np.zeros(2)) is np


def test_the_namespace_of_a_jax_array_is_jax_numpy():
    import jax.numpy as jnp

    assert namespace(jnp.zeros(2)) is jnp


def test_drop_single_drops_a_last_axis_of_one_entry_only():
    assert drop_single(np.zeros((3, 1))).shape == (3,)
    assert drop_single(np.array([2.5])) == 2.5
    assert drop_single(np.zeros((3, 2))).shape == (3, 2)
    assert drop_single(np.zeros((3, 0))).shape == (3, 0)
