import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softbandit.backend.random import POLICY, PROBLEM, DrawCount, draw


@given(
    st.integers(0, 2**64 - 1),
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4, unique=True),
    st.integers(0, 10**9),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_a_round_of_one_trial_drawn_alone_has_the_same_numbers(seed, trials, first, normal, uniform):
    count = DrawCount(normal, uniform)
    draws = draw(count, seed, trials, first, 4, POLICY)
    assert draws.normal.shape == (4, len(trials), normal)
    assert draws.uniform.shape == (4, len(trials), uniform)
    alone = draw(count, seed, trials[-1:], first + 2, 1, POLICY)
    np.testing.assert_array_equal(draws.normal[2, -1:], alone.normal[0])
    np.testing.assert_array_equal(draws.uniform[2, -1:], alone.uniform[0])


def test_numbers_differ_between_seeds_trials_rounds_and_streams():
    count = DrawCount(uniform=4)
    numbers = [draw(count, seed, [0, 1], 0, 2, stream).uniform for seed in (0, 1) for stream in (POLICY, PROBLEM)]
    assert len(np.unique(numbers)) == np.size(numbers)


def test_normal_and_uniform_numbers_have_their_distributions():
    draws = draw(DrawCount(3, 3), 0, range(20_000), 0, 1, POLICY)
    for column in draws.normal[0].T:
        # Standard errors of mean and mean square: 1 and sqrt(2) over sqrt(N).
        assert abs(column.mean()) <= 5 / np.sqrt(20_000)
        assert abs((column**2).mean() - 1) <= 5 * np.sqrt(2 / 20_000)
    for column in draws.uniform[0].T:
        # Dvoretzky-Kiefer-Wolfowitz: P(sup |F_N - F| > e) <= 2 exp(-2 N e^2), 1e-6 at e = 0.0191.
        ordered = np.sort(column)
        assert np.abs(ordered - (np.arange(20_000) + 0.5) / 20_000).max() <= 0.0191


def test_the_words_of_a_round_are_those_of_philox_from_the_rounds_counter_on():
    """Five numbers take two counters per round, so round 3 of trial 9 begins at counter 6."""
    words = np.random.Philox(key=np.array([1, 9], np.uint64), counter=[6, 0, 0, PROBLEM]).random_raw(5)
    drawn = draw(DrawCount(0, 5), 1, [4, 9], 2, 2, PROBLEM).uniform[1, 1]
    np.testing.assert_array_equal(drawn, [(int(word) // 2**12 + 0.5) / 2**52 for word in words])


def test_the_smallest_and_largest_words_give_finite_numbers(monkeypatch):
    class ExtremeWords:
        def __init__(self, seed):
            self.state = {}

        def random_raw(self, size):
            return np.resize(np.array([0, 2**64 - 1], dtype=np.uint64), size)

    monkeypatch.setattr(np.random, "Philox", ExtremeWords)
    draws = draw(DrawCount(2, 2), 0, [0], 0, 1, POLICY)
    assert np.isfinite(draws.normal).all()
    assert (draws.uniform > 0).all()
    assert (draws.uniform < 1).all()
