import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.theory.optimum import largest_margin, optimal_dual, slater_condition


def best_pair(f, g):
    """Maximise over all mixtures of at most two arms with E[g] <= 0; if two are mixed, E[g] = 0."""
    best = f[g <= 0].max(initial=-np.inf)
    for i, j in itertools.permutations(range(len(f)), 2):
        if g[i] < 0 < g[j]:
            w = g[j] / (g[j] - g[i])  # on i
            best = max(best, w * f[i] + (1 - w) * f[j])
    return best


def best_vertex(f, g):
    """Maximise by brute force for m constraints: over every basis of the program, slacks included."""
    n, m = g.shape
    A = np.block([[g.T, np.eye(m)], [np.ones((1, n)), np.zeros((1, m))]])
    b = np.r_[np.zeros(m), 1.0]
    value = np.r_[f, np.zeros(m)]
    best = -np.inf
    for basis in itertools.combinations(range(n + m), m + 1):
        sub = A[:, basis]
        if abs(np.linalg.det(sub)) > 1e-9:
            x = np.linalg.solve(sub, b)
            if (x >= -1e-10).all():
                best = max(best, x @ value[list(basis)])
    return best


values = arrays.arrays(float, 8, elements=st.integers(-100, 100).map(lambda i: i / 7))


@given(values, values)
def test_the_optimum_of_one_constraint_is_the_best_pair(f, g):
    if g.min() > 0:
        with pytest.raises(sb.InfeasibleError, match="expected a mixture of arms"):
            sb.randomized_optimum(f, g)
        return
    optimum = sb.randomized_optimum(f, g)
    assert optimum.value == pytest.approx(best_pair(f, g), abs=1e-9)
    assert (optimum.weights >= 0).all()
    assert optimum.weights.sum() == pytest.approx(1, abs=1e-12)
    assert (optimum.weights > 0).sum() <= 2
    assert optimum.weights @ g <= 1e-9
    assert optimum.weights @ f == pytest.approx(optimum.value, abs=1e-9)


@given(values, arrays.arrays(float, (8, 2), elements=st.integers(-100, 100).map(lambda i: i / 7)))
def test_the_optimum_of_two_constraints_is_the_best_vertex(f, g):
    brute = best_vertex(f, g)
    if brute == -np.inf:
        with pytest.raises(sb.InfeasibleError):
            sb.randomized_optimum(f, g)
        return
    optimum = sb.randomized_optimum(f, g)
    assert optimum.value == pytest.approx(brute, abs=1e-8)
    assert (optimum.weights > 0).sum() <= 3
    assert (optimum.weights @ g <= 1e-9).all()


@pytest.mark.parametrize("seed", range(10))
def test_the_optimum_of_a_synthetic_problem_is_the_best_pair(seed):
    problem = examples_of.problem(seed=seed, arms=100)
    optimum = sb.randomized_optimum(problem.reward, problem.cost)
    assert optimum.value == pytest.approx(best_pair(problem.reward, problem.cost), rel=1e-10)
    assert (optimum.weights > 0).sum() <= 2


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_optimum_scales_with_the_reward_and_not_with_the_cost(scale):
    problem = examples_of.problem(seed=4, arms=100)
    base = sb.randomized_optimum(problem.reward, problem.cost).value
    assert sb.randomized_optimum(scale * problem.reward, problem.cost).value == pytest.approx(scale * base, rel=1e-9)
    assert sb.randomized_optimum(problem.reward, scale * problem.cost).value == pytest.approx(base, rel=1e-9)


def test_the_optimum_is_right_for_costs_of_very_different_size():
    assert sb.randomized_optimum([0.0, 1.0, -5.0], [-1e-3, 2e-3, 1e9]).value == pytest.approx(1 / 3)
    with pytest.raises(sb.InfeasibleError):
        sb.randomized_optimum([0.0, 1.0, 2.0], [1e-9, 1.0, 2.0])


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_margins_scale_with_the_costs(scale):
    g = np.random.default_rng(0).standard_normal((9, 2))
    assert largest_margin(scale * g).margin == pytest.approx(scale * largest_margin(g).margin, rel=1e-9)


def test_without_constraints_the_best_arm_is_the_optimum():
    optimum = sb.randomized_optimum(np.array([1.0, 3.0, 2.0]), np.zeros((3, 0)))
    assert optimum.value == 3.0
    np.testing.assert_array_equal(optimum.weights, [0, 1, 0])


@pytest.mark.parametrize(
    ("reward", "cost"),
    [([1.0, 2.0], [1.0]), ([1.0, np.nan], [0.0, 0.0]), ([1.0], [np.inf]), ([], []), ([1.0], [[[0.0]]])],
)
def test_the_optimum_refuses_functions_that_are_not_finite_or_do_not_match(reward, cost):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        sb.randomized_optimum(reward, cost)


def test_the_largest_margin_of_one_constraint_is_at_its_lowest_arm():
    margin, weights = largest_margin(np.array([[0.3], [-0.7], [-0.2]]))
    assert margin == 0.7
    np.testing.assert_array_equal(weights, [0, 1, 0])


@pytest.mark.parametrize("seed", range(10))
def test_the_largest_margin_of_two_constraints_is_that_of_the_best_pair(seed):
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


@pytest.mark.parametrize("constraints", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_the_optimal_dual_has_the_primal_value_and_obeys_slaters_bound(seed, constraints):
    problem = examples_of.problem(seed=seed, constraints=constraints)
    f, g = problem.reward, problem.costs
    dual, optimum = optimal_dual(f, g), sb.randomized_optimum(f, g)
    assert dual.value == pytest.approx(optimum.value, abs=1e-9)
    assert (f - g @ dual.price).max() == pytest.approx(dual.value, abs=1e-9)  # it is the Lagrangian's maximum
    margin, weights = largest_margin(g)
    assert dual.price.sum() <= (optimum.value - weights @ f) / margin + 1e-9


@given(values, values)
def test_the_optimal_dual_of_one_constraint_is_the_best_crossing(f, g):
    """D(phi) = max_x f - phi g is convex and piecewise linear: its minimum is at a crossing of two lines."""
    if g.min() >= 0:
        with pytest.raises(sb.InfeasibleError, match="Slater"):
            optimal_dual(f, g)
        return
    crossings = [0.0]
    for i, j in itertools.combinations(range(8), 2):
        if g[i] != g[j]:
            crossings.append((f[i] - f[j]) / (g[i] - g[j]))
    best = min((f - phi * g).max() for phi in crossings if phi >= 0)
    assert optimal_dual(f, g).value == pytest.approx(best, abs=1e-8)


def test_with_contexts_the_optimal_dual_minimises_the_mean_of_the_best_values():
    rng = np.random.default_rng(0)
    f, g, contexts = rng.standard_normal(30), rng.standard_normal(30) + 0.3, np.arange(30) % 3
    grid = np.linspace(0, 5, 5001)
    z = f[:, None] - np.outer(g, grid)
    means = np.mean([z[contexts == context].max(axis=0) for context in range(3)], axis=0)
    dual = optimal_dual(f, g, contexts)
    # The minimum of a convex function over a grid is within one step of the minimiser.
    assert dual.price[0] == pytest.approx(grid[means.argmin()], abs=1e-3)
    assert dual.value == pytest.approx(sb.randomized_optimum(f, g, contexts).value, abs=1e-9)


def test_with_contexts_slaters_condition_is_about_mixtures_with_each_context_as_often():
    """One context has a margin of 1, the other misses by 2: their mean cannot be met, though one arm alone could."""
    slater_condition(np.array([-1.0, 2.0]))
    with pytest.raises(sb.InfeasibleError, match=r"E\[g_0\] = 0.5"):
        slater_condition(np.array([-1.0, 2.0]), contexts=[0, 1])
    with pytest.raises(sb.InfeasibleError, match="Slater"):
        optimal_dual([0.0, 0.0], [-1.0, 2.0], contexts=[0, 1])


def test_the_error_without_slaters_condition_names_the_constraint():
    with pytest.raises(sb.InfeasibleError, match=r"Slater.*E\[g_0\] = 1.*Relax constraint 0"):
        slater_condition(np.array([[1.0, -1.0], [1.0, 2.0]]))
    with pytest.raises(sb.InfeasibleError, match=r"E\[g_0\] = 0"):
        slater_condition(np.array([0.0, 1.0]))


def test_a_million_arms_need_no_square_matrix():
    """n^2 numbers would be 8 TB."""
    f = np.linspace(0, 1, 1_000_000)
    optimum, margin = sb.randomized_optimum(f, -np.ones_like(f)), largest_margin(-f[:, None])
    assert (optimum.value, optimum.weights[-1], optimum.weights.sum()) == (1, 1, 1)
    assert (margin.margin, margin.weights[-1], margin.weights.sum()) == (1, 1, 1)


@pytest.mark.parametrize("unit", [2.0**-900, 2.0**1020])  # a power of two changes no digit
def test_the_optimum_is_the_same_in_tiny_and_in_huge_units(unit):
    rng = np.random.default_rng(3)
    f, g = rng.standard_normal(50), rng.standard_normal(50) + 0.3
    scaled, plain = sb.randomized_optimum(unit * f, unit * g), sb.randomized_optimum(f, g)
    np.testing.assert_array_equal(scaled.weights, plain.weights)


def test_an_optimum_of_numbers_near_the_largest_is_found():
    """Slopes between them are NaN in their own units, in which the search would never end."""
    found = sb.randomized_optimum(np.array([1e308, -1e308, 1.7e308]), np.array([-1.7e308, -1e308, 1.7e308]))
    np.testing.assert_allclose(found.weights, [0.5, 0.0, 0.5])
