import numpy as np
import pytest

import softbandit as sb
from softbandit.theory import Bounds, plausible_arms
from softbandit.theory.arm_elimination import optimistic_value


def random_bounds(rng, n, m, width):
    centre = rng.standard_normal((1 + m, n))
    return Bounds(centre - width * rng.random((1 + m, n)), centre + width * rng.random((1 + m, n)))


@pytest.mark.parametrize("m", [0, 1, 2])
def test_every_arm_of_an_optimal_mixture_for_functions_within_the_bounds_is_plausible(m):
    rng = np.random.default_rng(m)
    ruled_out = 0
    for _ in range(15):
        bounds = random_bounds(rng, 8, m, width=0.3)
        plausible = plausible_arms(bounds)
        ruled_out += (~plausible).sum()
        for _ in range(40):
            corner = rng.random(bounds.lower.shape) < 0.5  # the worst functions are at corners
            f, *g = np.where(corner, bounds.lower, bounds.upper)
            try:
                weights = sb.randomized_optimum(f, np.array(g).T).weights if m else np.eye(8)[f.argmax()]
            except sb.InfeasibleError:
                continue
            assert plausible[weights > 1e-6].all()
    assert ruled_out > 15  # more than one of eight arms, on average


def test_with_one_constraint_the_plausible_arms_are_those_with_a_price_on_a_fine_grid():
    rng = np.random.default_rng(5)
    prices = np.concatenate([np.linspace(0, 20, 20_001), np.geomspace(20, 1e5, 2000)])
    for _ in range(10):
        bounds = random_bounds(rng, 10, 1, width=0.2)
        v = optimistic_value(bounds)
        least = (bounds.lower[0][:, None] - prices * bounds.upper[1][:, None]).max(axis=0)  # of max_y f - phi g
        most = bounds.upper[0][:, None] - prices * bounds.lower[1][:, None]
        gap = np.maximum(least - most, least - v).min(axis=1)
        plausible = plausible_arms(bounds)
        assert plausible[gap <= 0].all()
        assert not plausible[gap > 0.01].any()  # what the grid may miss: 0.001 x the size of the costs


def test_without_constraints_an_arm_is_plausible_if_its_upper_bound_reaches_every_lower_one():
    bounds = Bounds(np.array([[0.0, 0.5, -1.0]]), np.array([[0.4, 0.9, 0.6]]))
    assert plausible_arms(bounds).tolist() == [False, True, True]


def test_known_functions_leave_the_optimal_mixture_only():
    """f = (0, 1, 0.2), g = (-1, 1, 0): half of arms 0 and 1 earns 0.5, and arm 2 at the same cost 0.2."""
    exact = np.array([[0.0, 1.0, 0.2], [-1.0, 1.0, 0.0]])
    assert plausible_arms(Bounds(exact, exact)).tolist() == [True, True, False]


def test_a_safe_arm_that_no_price_supports_is_ruled_out_although_no_arm_dominates_it():
    """Arm 1 surely is feasible and best; arm 0 costs less, which is worth nothing."""
    exact = np.array([[0.0, 1.0], [-5.0, -1.0]])
    assert plausible_arms(Bounds(exact, exact)).tolist() == [False, True]


def test_the_optimistic_value_is_the_optimum_for_the_best_functions_and_infinite_without_one():
    bounds = Bounds(np.array([[0.0, 0.0], [-1.0, 3.0]]), np.array([[0.5, 1.0], [9.0, 9.0]]))
    # weights 3/4 and 1/4 meet the limit at the lower bounds of the costs
    assert optimistic_value(bounds) == pytest.approx(0.5 * 0.75 + 0.25)
    assert optimistic_value(Bounds(np.ones((2, 3)), 2 * np.ones((2, 3)))) == np.inf
