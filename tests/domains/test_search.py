import itertools

import numpy as np
import pytest

import softbandit as sb
from softbandit.domains.search import Objective, maximise


def quadratic(centre, width):
    """Return -|(x - c) / w|^2 with its gradient: the maximiser is c, or the nearest point of the domain."""
    centre, width = np.array(centre), np.array(width)

    def slope(X):
        return -(((X - centre) / width) ** 2).sum(axis=1), -2 * (X - centre) / width**2

    return Objective(lambda X: slope(X)[0], slope)


@pytest.mark.parametrize("centre", [[0.3, 2.0], [-1.0, 2.0], [0.3, 9.0]])
def test_the_maximiser_of_a_quadratic_is_found_inside_and_at_the_border(centre):
    box = sb.Box([0, 1], [1, 4])
    for objective in (quadratic(centre, [0.1, 1.0]), Objective(quadratic(centre, [0.1, 1.0]).value, None)):
        evaluated = maximise(objective, box, np.empty((0, 2)), np.random.default_rng(0))
        # Without gradients the last neighbourhood is 1e-4 of the width.
        tolerance = 1e-6 if objective.slope else 3e-3
        np.testing.assert_allclose(evaluated.best, box.snap(np.array([centre]))[0], atol=tolerance)


def test_the_highest_of_many_peaks_is_found():
    # Peaks of sin(5 pi x) sin(5 pi y), tilted so that one is the highest.
    def slope(X):
        s, c = np.sin(5 * np.pi * X), np.cos(5 * np.pi * X)
        z = s.prod(axis=1) + 0.05 * X.sum(axis=1)
        return z, 5 * np.pi * c * s[:, ::-1] + 0.05

    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 501)] * 2), axis=-1).reshape(-1, 2)
    evaluated = maximise(
        Objective(lambda X: slope(X)[0], slope), sb.Box([0, 0], [1, 1]), np.empty((0, 2)), np.random.default_rng(0)
    )
    assert slope(evaluated.best[None])[0][0] >= slope(grid)[0].max() - 1e-9


def test_the_maximiser_on_a_mixed_space_is_the_best_of_every_combination():
    space = sb.Space({"u": sb.Float(0, 1), "n": sb.Integer(0, 10), "k": sb.Categorical(["a", "b", "c"])})
    height = {"a": 0.0, "b": 0.4, "c": 0.3}

    def function(u, n, k):
        return height[k] - (n / 10 - 0.72) ** 2 - (u - 0.1 * n / 10 - 0.2 * (k == "c")) ** 2

    def slope(X):
        rows = [space.values(x) for x in X]
        z = np.array([function(**row) for row in rows])
        du = np.array([-2 * (r["u"] - 0.01 * r["n"] - 0.2 * (r["k"] == "c")) for r in rows])
        return z, np.pad(du[:, None], [(0, 0), (0, 4)])

    evaluated = maximise(Objective(lambda X: slope(X)[0], slope), space, np.empty((0, 5)), np.random.default_rng(0))
    best = max(
        (function(0.01 * n + 0.2 * (k == "c"), n, k), n, k) for n, k in itertools.product(range(11), height)
    )  # u is best where its term is 0
    assert evaluated.values.max() == pytest.approx(best[0], abs=1e-9)
    values = space.values(evaluated.best)
    assert (values["n"], values["k"]) == best[1:]


def test_a_large_discrete_space_is_searched_by_steps():
    space = sb.Space({f"n{i}": sb.Integer(0, 30) for i in range(3)})
    target = np.array([7, 21, 30]) / 30
    evaluated = maximise(
        Objective(lambda X: -np.abs(X - target).sum(axis=1), None), space, np.empty((0, 3)), np.random.default_rng(0)
    )
    np.testing.assert_allclose(evaluated.best, target, atol=1e-12)


def test_the_same_generator_gives_the_same_evaluations():
    box = sb.Box([0, 0], [1, 1])
    runs = [
        maximise(quadratic([0.3, 0.4], [1, 1]), box, np.array([[0.5, 0.5]]), np.random.default_rng(4)) for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0].points, runs[1].points)
