"""Points that many rounds evaluate: the values are those of the formula, and what was solved is not solved again."""

import numpy as np
import pytest

import softbandit as sb
from softbandit.gp import Exact
from softbandit.gp.growing_cholesky import ROWS, GrowingCholesky

rng = np.random.default_rng(0)
KERNEL, LAMBDA = sb.Matern(0.4), 0.1
X, Y = rng.random((300, 2)), rng.standard_normal((300, 2))
POINTS = rng.random((7, 2))


def after(t):
    return Exact.of(KERNEL, LAMBDA, X[:t], Y[:t])


def formula(t, points, a):
    """Return k(points, X) a and the diagonal of k (K + lambda I)^-1 k."""
    K = KERNEL(points, X[:t])
    return K @ a, np.diag(K @ np.linalg.solve(KERNEL(X[:t], X[:t]) + LAMBDA * np.eye(t), K.T))


def assert_formula(posterior, points):
    a = Y[: posterior.t]
    values, explained = posterior.at_fixed(points, a)
    expected = formula(posterior.t, points, a)
    np.testing.assert_allclose(values, expected[0], atol=1e-12)
    np.testing.assert_allclose(explained, expected[1], atol=1e-12)


@pytest.mark.parametrize("t", [0, 1, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS, 300])
def test_values_and_explained_variance_equal_the_formula(t):
    assert_formula(after(t), POINTS)


def test_what_is_kept_equals_what_a_loaded_posterior_solves_to_the_bit():
    posterior = after(100)
    for x, y in zip(X[100:], Y[100:], strict=True):
        posterior = posterior.condition(x, y)
        kept = posterior.at_fixed(POINTS, Y[: posterior.t])
    loaded = Exact(KERNEL, LAMBDA, 2, 2).refilled(iter(list(posterior.arrays())))
    for ours, theirs in zip(kept, loaded.at_fixed(POINTS, Y), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_round_solves_the_last_block_alone(monkeypatch):
    posterior, solved = after(290), []
    posterior.at_fixed(POINTS, Y[:290])
    posterior = posterior.condition(X[290], Y[290])
    solve = GrowingCholesky.solve_block
    monkeypatch.setattr(GrowingCholesky, "solve_block", lambda self, i, V, B: solved.append(i) or solve(self, i, V, B))
    posterior.at_fixed(POINTS, Y[:291])
    assert solved == [2]


def test_an_earlier_posterior_and_other_points_are_answered_after_a_later_one():
    before = after(120)
    later = before
    for x, y in zip(X[120:], Y[120:], strict=True):
        later = later.condition(x, y)
    for posterior, points in ((later, POINTS), (before, POINTS), (later, POINTS[:3]), (later, POINTS[::-1])):
        assert_formula(posterior, points)


def test_two_posteriors_from_one_keep_nothing_of_each_other():
    before = after(ROWS - 1)
    one, other = before.condition(X[200], Y[200]), before.condition(X[ROWS - 1], Y[ROWS - 1])
    one.at_fixed(POINTS, Y[:ROWS])
    assert_formula(other, POINTS)
