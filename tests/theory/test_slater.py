import itertools

import numpy as np
import pytest

from softbandit.theory.slater import largest_margin


def test_one_constraint_needs_only_its_lowest_arm():
    margin, weights = largest_margin(np.array([[0.3], [-0.7], [-0.2]]))
    assert margin == 0.7
    np.testing.assert_array_equal(weights, [0, 1, 0])


@pytest.mark.parametrize("seed", range(10))
def test_two_constraints_agree_with_a_search_over_pairs(seed):
    g = np.random.default_rng(seed).standard_normal((7, 2))
    best = -np.inf
    for i, j in itertools.product(range(7), repeat=2):
        # max over w of min_k -(w g_i + (1 - w) g_j)_k: at an end, or where the two are equal.
        a, b = -g[i], -g[j]
        slope = (a - b)[0] - (a - b)[1]
        crossing = (b[1] - b[0]) / slope if slope else 0.0
        for w in (0.0, 1.0, min(max(crossing, 0.0), 1.0)):
            best = max(best, (w * a + (1 - w) * b).min())
    margin, weights = largest_margin(g)
    assert margin == pytest.approx(best, abs=1e-9)
    assert (weights @ g).max() == pytest.approx(-margin, abs=1e-9)


def test_an_infeasible_problem_has_a_negative_margin():
    assert largest_margin(np.array([[1.0, -1.0], [1.0, 2.0]])).margin == pytest.approx(-1.0)
