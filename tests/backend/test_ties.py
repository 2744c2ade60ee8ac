import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softbandit.backend.ties import best_arm, pick


@given(st.integers(1, 40), st.integers(0, 2**32), st.floats(0, 1, exclude_max=True))
def test_a_tie_goes_to_the_one_of_that_number(n, seed, u):
    """Of k true entries, number floor(u k) from 0, counted out by hand."""
    eligible = np.random.default_rng(seed).random((3, n)) < 0.3
    eligible[:, seed % n] = True
    expected = [np.flatnonzero(row)[int(u * row.sum())] for row in eligible]
    assert pick(eligible, np.full(3, u)).tolist() == expected


@pytest.mark.parametrize("ties", [1, 2, 3, 7])
def test_ties_are_broken_uniformly(ties):
    where = np.random.default_rng(ties).permutation(10)[:ties]
    tied = np.zeros((10_000, 10), dtype=bool)
    tied[:, where] = True
    u = (np.arange(10_000) + 0.5) / 10_000  # an even spread: the counts are exact up to one at each border
    picked = np.bincount(pick(tied, u), minlength=10)
    assert (np.abs(picked[where] - 10_000 / ties) <= 2).all()
    assert picked.sum() == picked[where].sum()


def test_without_a_draw_the_first_is_taken():
    np.testing.assert_array_equal(pick(np.array([[False, True, True], [True, False, True]]), None), [1, 0])


def test_picking_among_none_gives_some_arm():
    assert (pick(np.zeros((2, 30), dtype=bool), np.array([0.1, 0.9])) < 30).all()


def test_values_that_differ_by_rounding_tie():
    """The tie is relative to the size of the terms: at terms of size 10^6, a difference of 10^-7 is rounding."""
    z = np.array([[0.0, 1.0, 1.0 + 1e-7, 0.5]])
    assert best_arm(z, np.array([0.1])).tolist() == [2]
    assert best_arm(z, np.array([0.1]), scale=lambda arm: np.array([1e6])).tolist() == [1]
    assert best_arm(z, np.array([0.9]), scale=lambda arm: np.array([1e6])).tolist() == [2]
    assert best_arm(z, None, scale=lambda arm: np.array([1e6])).tolist() == [1]


def test_the_scale_is_taken_at_the_maximiser_of_each_trial():
    z = np.array([[1.0, 3.0, 2.0], [5.0, 4.0, 5.0]])
    asked = []
    best_arm(z, np.array([0.5, 0.5]), scale=lambda arm: asked.append(arm.tolist()) or np.ones(2))
    assert asked == [[1, 0]]
