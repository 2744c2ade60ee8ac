import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softbandit.backend.namespace import drop_single, namespace, project
from softbandit.backend.random import POLICY, PROBLEM, DrawCount, draw
from softbandit.backend.ties import pick


def test_the_namespace_of_a_numpy_array_is_numpy():
    assert namespace(np.zeros(2)) is np


@given(
    st.integers(0, 2**64 - 1),
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4, unique=True),
    st.integers(0, 10**9),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_any_round_of_any_trial_can_be_drawn_alone(seed, trials, first, normal, uniform):
    count = DrawCount(normal, uniform)
    many = draw(count, seed, trials, first, 4, POLICY)
    assert many.normal.shape == (4, len(trials), normal)
    assert many.uniform.shape == (4, len(trials), uniform)
    alone = draw(count, seed, trials[-1:], first + 2, 1, POLICY)
    np.testing.assert_array_equal(many.normal[2, -1:], alone.normal[0])
    np.testing.assert_array_equal(many.uniform[2, -1:], alone.uniform[0])


def test_seeds_trials_rounds_and_streams_are_all_different():
    count = DrawCount(uniform=4)
    numbers = [draw(count, seed, [0, 1], 0, 2, stream).uniform for seed in (0, 1) for stream in (POLICY, PROBLEM)]
    assert len(np.unique(numbers)) == np.size(numbers)


def test_normals_and_uniforms_have_their_distributions():
    draws = draw(DrawCount(3, 3), 0, range(20_000), 0, 1, POLICY)
    for column in draws.normal[0].T:
        # Standard errors of mean and mean square: 1 and sqrt(2) over sqrt(N).
        assert abs(column.mean()) <= 5 / np.sqrt(20_000)
        assert abs((column**2).mean() - 1) <= 5 * np.sqrt(2 / 20_000)
    for column in draws.uniform[0].T:
        # Dvoretzky-Kiefer-Wolfowitz: P(sup |F_N - F| > e) <= 2 exp(-2 N e^2), 1e-6 at e = 0.0191.
        ordered = np.sort(column)
        assert np.abs(ordered - (np.arange(20_000) + 0.5) / 20_000).max() <= 0.0191


def test_the_words_are_those_of_philox_from_the_rounds_counter_on():
    """Five numbers take two counters a round, so round 3 of trial 9 begins at counter 6."""
    words = np.random.Philox(key=np.array([1, 9], np.uint64), counter=[6, 0, 0, PROBLEM]).random_raw(5)
    own = draw(DrawCount(0, 5), 1, [4, 9], 2, 2, PROBLEM).uniform[1, 1]
    np.testing.assert_array_equal(own, [(int(word) // 2**12 + 0.5) / 2**52 for word in words])


def test_the_extreme_words_give_finite_numbers(monkeypatch):
    class Extremes:
        def __init__(self, seed):
            self.state = {}

        def random_raw(self, size):
            return np.resize(np.array([0, 2**64 - 1], dtype=np.uint64), size)

    monkeypatch.setattr(np.random, "Philox", Extremes)
    draws = draw(DrawCount(2, 2), 0, [0], 0, 1, POLICY)
    assert np.isfinite(draws.normal).all()
    assert (draws.uniform > 0).all()
    assert (draws.uniform < 1).all()


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


def test_project_and_drop_single():
    np.testing.assert_array_equal(project(np.array([-2.0, 0.5, 3.0]), 0.0, 1.0), [0, 0.5, 1])
    assert drop_single(np.zeros((3, 1))).shape == (3,)
    assert drop_single(np.array([2.5])) == 2.5
    assert drop_single(np.zeros((3, 2))).shape == (3, 2)
    assert drop_single(np.zeros((3, 0))).shape == (3, 0)


def test_picking_among_none_gives_some_arm():
    assert (pick(np.zeros((2, 30), dtype=bool), np.array([0.1, 0.9])) < 30).all()
