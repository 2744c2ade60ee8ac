"""Prices of the limits, against linear programs solved by SciPy."""

import numpy as np
import pytest
from scipy.optimize import linprog

import softbandit as sb
from softbandit.policies.prices import limit_prices
from softbandit.theory import optimal_dual


def sample(m, n=60, seed=0, shift=0.3):
    """Return rewards (n,) and costs (m, n), correlated, so that the limits bind; some mixture meets them."""
    rng = np.random.default_rng([m, seed])
    f = rng.standard_normal(n)
    return f, 0.8 * f + rng.standard_normal((m, n)) - shift


def dual_value(phi, f, g, contexts=None):
    """Return max E[f - phi . g] over actions: by context, which are equally likely."""
    z = f - phi @ g
    labels = np.zeros(len(f)) if contexts is None else contexts
    return np.mean([z[labels == label].max() for label in np.unique(labels)])


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_prices_equal_the_dual_of_the_best_mixture(m, seed):
    f, g = sample(m, seed=seed)
    prices, exact = limit_prices(f, g), optimal_dual(f, g.T)
    assert prices.feasible
    np.testing.assert_array_equal(prices.violation, np.zeros(m))
    # The program is solved to 1e-8 of the largest reward, some 3, and prices are of order 1.
    np.testing.assert_allclose(prices.phi, exact.price, atol=1e-5)
    assert dual_value(prices.phi, f, g) == pytest.approx(exact.value, abs=1e-6)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("count", [2, 7, 20])
def test_with_contexts_the_value_at_the_prices_is_that_of_the_best_mixture(m, count):
    for seed in range(3):
        f, g = sample(m, n=200, seed=seed)
        contexts = np.random.default_rng(seed).permutation(np.arange(200) % count)
        prices, exact = limit_prices(f, g, contexts), sb.randomized_optimum(f, g.T, contexts)
        assert prices.feasible
        assert (prices.phi >= 0).all()
        assert dual_value(prices.phi, f, g, contexts) == pytest.approx(exact.value, abs=1e-6)


def context_means(weights, values, contexts=None):
    """Return the mean of values (..., n) over contexts that are equally likely, with a mixture (n,) in each."""
    labels = np.zeros(len(weights), dtype=int) if contexts is None else contexts
    np.testing.assert_allclose(np.bincount(labels, weights), np.ones(labels.max() + 1), atol=1e-9)
    assert (weights >= 0).all()
    return values @ weights / (labels.max() + 1)


@pytest.mark.parametrize("m", [0, 1, 2, 3])
@pytest.mark.parametrize("count", [None, 2, 7])
def test_the_weights_are_those_of_the_best_mixture(m, count):
    for seed in range(3):
        f, g = sample(m, n=100, seed=seed)
        contexts = None if count is None else np.random.default_rng(seed).permutation(np.arange(100) % count)
        prices, exact = limit_prices(f, g, contexts), sb.randomized_optimum(f, g.T.reshape(100, m), contexts)
        # Programs are solved to 1e-8 of the largest reward and cost, some 3.
        assert context_means(prices.weights, f, contexts) == pytest.approx(exact.value, abs=1e-6)
        assert (context_means(prices.weights, g, contexts) <= 1e-6).all()


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("contexts", [None, np.arange(60) % 4])
def test_if_no_mixture_meets_the_limits_the_weights_are_those_of_the_least_violation(m, contexts):
    rng = np.random.default_rng(m)
    f, g = rng.standard_normal(60), 0.2 + rng.random((m, 60))
    prices = limit_prices(f, g, contexts)
    assert not prices.feasible
    np.testing.assert_allclose(context_means(prices.weights, g, contexts), prices.violation, atol=1e-6)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("shift", [-1e9, -50.0, 50.0, 1e9])
def test_adding_a_number_to_the_rewards_changes_no_price(m, shift):
    f, g = sample(m)
    exact = limit_prices(f, g)
    prices = limit_prices(f + shift, g)
    assert prices.feasible
    # Rewards of 1e9 have rounding errors of 6e-8 each; the costs of the arms that are mixed differ by 1.9 or more.
    np.testing.assert_allclose(prices.phi, exact.phi, atol=1e-7)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_prices_follow_the_units(m):
    f, g = sample(m)
    plain, other = limit_prices(f, g), limit_prices(1e6 * f, 1e-3 * g)
    np.testing.assert_allclose(other.phi, 1e9 * plain.phi, rtol=1e-5, atol=1)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_limits_that_do_not_bind_cost_nothing(m):
    f, g = sample(m)
    prices = limit_prices(f, g - 10)
    assert prices.feasible
    np.testing.assert_array_equal(prices.phi, np.zeros(m))


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("margin", [1e-2, 1e-3, 1e-5])
def test_limits_that_can_just_be_met_are_feasible(m, margin):
    """Arm 0 alone meets the limits, by a margin that is small beside the spread of the costs; arm 1 just misses them.

    So both mix equally, and the prices add up to 1 / (2 margin), far more than the spreads suggest.
    """
    rng = np.random.default_rng(m)
    f, g = -rng.random(30), 0.5 + rng.random((m, 30))
    f[:2], g[:, :2] = [0.0, 1.0], [-margin, margin]
    prices = limit_prices(f, g)
    assert prices.feasible
    # The program meets limits to 1e-8 of the largest cost, 1.5.
    assert dual_value(prices.phi, f, g) == pytest.approx(0.5, abs=1e-8 / margin)
    assert prices.phi.sum() == pytest.approx(0.5 / margin, rel=1e-6)


def least_violation(g, contexts=None):
    """Return the least that the largest violation can be, by SciPy: minimise t with E[g_i] <= t."""
    from scipy.optimize import linprog

    m, n = g.shape
    labels = np.zeros(n) if contexts is None else contexts
    members = np.array([labels == label for label in np.unique(labels)], dtype=float)
    solution = linprog(
        np.r_[np.zeros(n), 1.0],
        A_ub=np.column_stack([g, -np.ones(m)]),
        b_ub=np.zeros(m),
        A_eq=np.column_stack([members, np.zeros(len(members))]),
        b_eq=np.full(len(members), 1 / len(members)),
        bounds=[(0, None)] * n + [(None, None)],
    )
    return solution.fun


@pytest.mark.parametrize("contexts", [None, np.arange(60) % 4])
def test_if_no_mixture_meets_the_limit_the_least_violation_is_exact(contexts):
    f, g = sample(1)
    costs = g - g.min() + 0.25
    prices = limit_prices(f, costs, contexts)
    assert not prices.feasible
    np.testing.assert_array_equal(prices.phi, [0.0])
    assert prices.violation[0] == pytest.approx(least_violation(costs, contexts), rel=1e-9)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("contexts", [None, np.arange(60) % 4])
def test_if_no_mixture_meets_several_limits_the_largest_violation_is_least(m, contexts):
    rng = np.random.default_rng(m)
    f, g = rng.standard_normal(60), rng.random((m, 60))
    g = g / np.ptp(g, axis=1)[:, None]  # violations are compared in units of each cost's spread
    g -= least_violation(g, contexts) - 0.3
    prices = limit_prices(f, g, contexts)
    assert not prices.feasible
    np.testing.assert_array_equal(prices.phi, np.zeros(m))
    # The program's tolerance is 1e-8.
    assert prices.violation.max() == pytest.approx(0.3, abs=1e-6)


def test_one_of_two_limits_that_contradict_each_other_is_violated():
    """g_2 = 1 - g_1: E[g_1] + E[g_2] = 1, so that the largest is at least 1/2."""
    cost = np.linspace(-2, 2, 21)
    prices = limit_prices(np.arange(21.0), np.stack([cost, 1 - cost]))
    assert not prices.feasible
    np.testing.assert_allclose(prices.violation, [0.5, 0.5], atol=1e-6)


@pytest.mark.parametrize("contexts", [None, np.arange(60) % 4])
@pytest.mark.parametrize("offset", [1e3, 1e8, 1e12])
def test_costs_that_are_always_far_from_their_limits_are_compared_without_losing_the_others(offset, contexts):
    """In units of its range such a cost is huge, and a solver once found nothing."""
    f, g = sample(2)
    far = f + offset
    with_slack = limit_prices(f, np.stack([*g, -far]), contexts)
    np.testing.assert_allclose(with_slack.phi, [*limit_prices(f, g, contexts).phi, 0.0], atol=1e-6)
    out_of_reach = limit_prices(f, np.stack([*g, far]), contexts)
    assert not out_of_reach.feasible
    groups = [f] if contexts is None else [f[contexts == label] for label in range(4)]
    least = np.mean([values.min() for values in groups])
    # Rounding at the offset, and the program's tolerance of 1e-8.
    assert out_of_reach.violation[2] - offset == pytest.approx(least, abs=1e-6 + 1e-15 * offset * 60)


def test_a_limit_that_one_arm_meets_exactly_has_the_least_of_its_prices():
    """g = 0 at the first arm alone, with f = 0: any phi >= max f / g keeps to it. By hand, max(1 / 2, 3 / 1) = 3."""
    f, g = np.array([0.0, 1.0, 3.0]), np.array([[0.0, 2.0, 1.0], [-1.0, -1.0, -1.0]])
    for arms in (3, 1000):
        more = np.zeros(arms - 3)
        prices = limit_prices(np.append(f, more), np.concatenate([g, [more + 5, more - 1]], axis=1))
        np.testing.assert_allclose(prices.phi, [3.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("m", [1, 2])
def test_equal_arms_and_constant_functions_have_finite_prices(m):
    for f, g in (
        (np.zeros(5), np.zeros((m, 5))),
        (np.zeros(5), np.full((m, 5), -1.0)),
        (np.ones(5), np.tile(np.linspace(-1, 1, 5), (m, 1))),
        (np.repeat([0.0, 1.0], 5), np.tile(np.repeat([-1.0, 1.0], 5), (m, 1))),
    ):
        prices = limit_prices(f, g)
        assert prices.feasible
        assert np.isfinite(prices.phi).all()
        exact = sb.randomized_optimum(f, g.T).value
        assert dual_value(prices.phi, f, g) == pytest.approx(exact, abs=1e-6)
    assert not limit_prices(np.zeros(5), np.full((m, 5), 2.0)).feasible
    np.testing.assert_allclose(limit_prices(np.zeros(5), np.full((m, 5), 2.0)).violation, np.full(m, 2.0))


def test_without_limits_there_are_no_prices():
    prices = limit_prices(np.arange(3.0), np.empty((0, 3)))
    assert prices.feasible
    assert prices.phi.shape == prices.violation.shape == (0,)


def test_a_context_without_candidates_is_left_out():
    f, g = sample(2)
    contexts = np.arange(60) % 3
    some = contexts != 1
    prices = limit_prices(f[some], g[:, some], contexts[some])
    exact = sb.randomized_optimum(f[some], g[:, some].T, contexts[some]).value
    assert dual_value(prices.phi, f[some], g[:, some], contexts[some]) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("m", [1, 2])
def test_values_that_differ_by_rounding_alone_have_finite_prices(m):
    """In units of their range, costs of 1 would be 1e16, which no solver takes."""
    rng = np.random.default_rng(0)
    f, g = 1 + np.spacing(1.0) * rng.integers(0, 3, 30), 1 + np.spacing(1.0) * rng.integers(0, 3, (m, 30))
    prices = limit_prices(f, g)
    assert not prices.feasible
    np.testing.assert_allclose(prices.violation, 1.0)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_prices_over_many_arms_equal_the_linear_program_over_all_of_them(correlation):
    rng = np.random.default_rng(1)
    shared, single = rng.standard_normal(1000), rng.standard_normal((3, 1000))
    f, *g = correlation * shared + np.sqrt(1 - correlation**2) * single
    costs = np.array(g) + 0.3
    prices = limit_prices(f, costs)
    bounds = [(None, None), (0, None), (0, None)]
    program = linprog([1, 0, 0], A_ub=np.c_[-np.ones(1000), -costs.T], b_ub=-f, bounds=bounds)
    assert prices.feasible
    np.testing.assert_allclose(prices.phi, program.x[1:], atol=1e-7)  # best_mixture is exact up to 1e-8
    violation = limit_prices(f, costs + 9).violation / np.ptp(costs, axis=1)
    assert violation.max() == pytest.approx(_least_violation(costs + 9), rel=1e-6)


def _least_violation(costs):
    """Return the largest cost, in units of its range, of the mixture for which that is least."""
    n, scaled = costs.shape[1], costs / np.ptp(costs, axis=1)[:, None]
    mixture = {"A_eq": [np.r_[np.ones(n), 0]], "b_eq": [1]}
    return linprog(np.r_[np.zeros(n), 1], np.c_[scaled, -np.ones(2)], np.zeros(2), **mixture).fun
