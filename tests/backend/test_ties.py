import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softbandit.backend.ties import best_arm, pick


@given(st.integers(1, 40), st.integers(0, 2**32), st.floats(0, 1, exclude_max=True))
def test_pick_returns_candidate_number_floor_of_u_times_their_count(n, seed, u):
    candidates = np.random.default_rng(seed).random((3, n)) < 0.3
    candidates[:, seed % n] = True
    expected = [np.flatnonzero(row)[int(u * row.sum())] for row in candidates]
    assert pick(candidates, np.full(3, u)).tolist() == expected


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_pick_chooses_uniformly_among_the_candidates(count):
    arms = np.random.default_rng(count).permutation(10)[:count]
    candidates = np.zeros((10_000, 10), dtype=bool)
    candidates[:, arms] = True
    u = (np.arange(10_000) + 0.5) / 10_000  # evenly spread: counts are exact, up to one at each border
    picked = np.bincount(pick(candidates, u), minlength=10)
    assert (np.abs(picked[arms] - 10_000 / count) <= 2).all()
    assert picked.sum() == picked[arms].sum()


def test_pick_without_a_random_number_takes_the_first_candidate():
    np.testing.assert_array_equal(pick(np.array([[False, True, True], [True, False, True]]), None), [1, 0])


def test_pick_among_no_candidates_returns_a_valid_arm():
    assert (pick(np.zeros((2, 30), dtype=bool), np.array([0.1, 0.9])) < 30).all()


def test_values_that_differ_by_rounding_tie():
    """The tolerance is relative to the size of the terms: for terms of size 10^6, a difference of 10^-7 is rounding."""
    z = np.array([[0.0, 1.0, 1.0 + 1e-7, 0.5]])
    assert best_arm(z, np.array([0.1])).tolist() == [2]
    assert best_arm(z, np.array([0.1]), scale=lambda arm: np.array([1e6])).tolist() == [1]
    assert best_arm(z, np.array([0.9]), scale=lambda arm: np.array([1e6])).tolist() == [2]
    assert best_arm(z, None, scale=lambda arm: np.array([1e6])).tolist() == [1]


@pytest.mark.parametrize("gap", [0.0, 3e-13, 5e-12, 1e-9, 1e-3])
def test_values_closer_than_1e_12_of_their_size_tie(gap):
    z = np.array([[0.0, 1.0 - gap, 0.5, 1.0]] * 1000)
    u = np.random.default_rng(0).random(1000)
    expected = np.where(u < 0.5, 1, 3) if gap < 1e-12 else np.full(1000, 3)
    for scale in (None, lambda arm: np.ones(len(arm))):
        np.testing.assert_array_equal(best_arm(z, u, scale), expected)


def test_the_scale_is_evaluated_at_each_trials_argmax():
    z = np.array([[1.0, 3.0, 2.0], [5.0, 4.0, 5.0]])
    calls = []
    best_arm(z, np.array([0.5, 0.5]), scale=lambda arm: calls.append(arm.tolist()) or np.ones(2))
    assert calls == [[1, 0]]


def test_a_trial_of_nan_gets_a_valid_arm_and_changes_no_other_trial():
    z = np.array([[np.nan, np.nan, np.nan], [0.0, 2.0, 1.0]])
    arms = best_arm(z, np.array([0.5, 0.5]))
    assert 0 <= arms[0] < 3
    assert arms[1] == 1


def test_a_trial_of_nan_does_not_hide_the_ties_of_another_trial():
    """Candidates are counted over all trials together: a trial of NaN must not make up for a tie."""
    tied = np.array([[1.0, 0.0, 1.0]])
    both = np.concatenate([np.full((1, 3), np.nan), tied])
    for u, expected in ((0.2, 0), (0.8, 2)):
        assert best_arm(tied, np.array([u])).tolist() == [expected]
        assert best_arm(both, np.array([0.5, u]))[1] == expected
