"""A root in terms, against the matrix that it stands for."""

import numpy as np
import pytest

from softbandit.gp.low_rank_root import LowRankRoot

TRIALS, RANK = 3, 10


def vectors(count, seed=0):
    """Pairs a and q, (trials, rank) each."""
    return np.random.default_rng(seed).standard_normal((count, 2, TRIALS, RANK))


def root_of(terms):
    root = LowRankRoot.identity(TRIALS, RANK)
    for a, q in terms:
        root = root.plus_outer(a, q)
    return root


def matrix_of(terms):
    return np.eye(RANK) + np.einsum("tbi,tbj->bij", terms[:, 0], terms[:, 1])


@pytest.mark.parametrize("count", range(5))
def test_products_are_those_of_the_matrix(count):
    terms = vectors(count)
    U, root = matrix_of(terms), root_of(terms)
    x = np.random.default_rng(1).standard_normal((TRIALS, 2, RANK))
    assert isinstance(root, LowRankRoot)
    np.testing.assert_allclose(np.asarray(root), U, atol=1e-14)
    np.testing.assert_allclose(root.times(x), np.einsum("bij,bkj->bki", U, x), atol=1e-13)
    np.testing.assert_allclose(x @ root, np.einsum("bij,bki->bkj", U, x), atol=1e-13)


def test_a_root_becomes_a_matrix_when_its_terms_would_take_as_much_memory():
    terms = vectors(5)
    matrix = root_of(terms)
    assert isinstance(matrix, np.ndarray)
    np.testing.assert_allclose(matrix, matrix_of(terms), atol=1e-14)


def test_two_continuations_of_one_root_do_not_disturb_each_other():
    terms, other = vectors(4), vectors(4, seed=1)
    start = root_of(terms[:2])
    first, second = start.plus_outer(*terms[2]), start.plus_outer(*other[2])
    first = first.plus_outer(*terms[3])
    np.testing.assert_array_equal(first.terms, terms)
    np.testing.assert_array_equal(second.terms[2], other[2])
    np.testing.assert_array_equal(start.terms, terms[:2])


@pytest.mark.parametrize("count", [0, 3])
def test_a_stored_root_is_restored_to_the_bit(count):
    root = root_of(vectors(count))
    restored = LowRankRoot.identity(TRIALS, RANK).refilled(root.arrays())
    np.testing.assert_array_equal(restored.terms, root.terms)
    np.testing.assert_array_equal(
        restored.plus_outer(*vectors(1, seed=2)[0]).terms, root.plus_outer(*vectors(1, seed=2)[0]).terms
    )


def test_a_stored_matrix_is_restored_as_a_matrix():
    matrix = root_of(vectors(5))
    assert LowRankRoot.identity(TRIALS, RANK).refilled(iter([matrix])) is matrix


@pytest.mark.parametrize("shape", [(), (3,), (2, 2, 3, 9), (2, 1, 3, 10), (5, 2, 3, 10), (2, 10, 10)])
def test_an_array_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match="not a root of 10 features"):
        LowRankRoot.identity(TRIALS, RANK).refilled(iter([np.zeros(shape)]))
