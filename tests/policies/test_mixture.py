"""The best mixture of arms is that of a linear-programming library, and its prices prove it."""

import numpy as np
import pytest
from scipy.optimize import linprog

from softbandit.policies.mixture import best_mixture

TRIALS = 15


@pytest.fixture(params=["NumPy", pytest.param("JAX", marks=pytest.mark.extra)])
def solve(request):
    """`best_mixture` on an engine, with results as NumPy arrays."""
    if request.param == "NumPy":
        yield best_mixture
        return
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        compiled = jax.jit(best_mixture)
        yield lambda *arguments: type(best_mixture(*EMPTY))(*map(np.asarray, compiled(*arguments)))


EMPTY = np.zeros((1, 1)), np.zeros((1, 0, 1))


def random_arms(rng, n, m):
    return rng.standard_normal((TRIALS, n)), rng.standard_normal((TRIALS, m, n))


def degenerate(rng, n, m):
    """Small integers: most bases are degenerate, and most optima are not unique."""
    return tuple(map(np.round, random_arms(rng, n, m)))


def duplicated(rng, n, m):
    f, g = random_arms(rng, n, m)
    copies = rng.integers(0, 1 + n // 3, n)
    return f[:, copies], g[:, :, copies]


def infeasible(rng, n, m):
    f, g = random_arms(rng, n, m)
    return f, np.abs(g) + 0.1


def without_margin(rng, n, m):
    """No cost is negative: a mixture meets the constraints exactly, if at all."""
    f, g = degenerate(rng, n, m)
    return f, np.maximum(g, 0.0)


def unconstrained_optimal(rng, n, m):
    f, g = random_arms(rng, n, m)
    np.put_along_axis(g, f.argmax(axis=1)[:, None, None], -0.5, axis=2)
    return f, g


KINDS = [random_arms, degenerate, duplicated, infeasible, without_margin, unconstrained_optimal]


def sizes(g):
    """The largest |g_i| of each constraint; 1 if it is 0 everywhere."""
    largest = np.abs(g).max(axis=1)
    return np.where(largest > 0, largest, 1.0)


def by_library(f, g):
    """The least total violation (m constraints, each relative to its size), and the highest reward that has it."""
    m, n = g.shape
    rows, one = np.c_[g / sizes(g)[:, None], -np.eye(m)], np.r_[np.ones(n), np.zeros(m)][None]
    total = np.r_[np.zeros(n), np.ones(m)]
    violation = linprog(total, A_ub=rows, b_ub=np.zeros(m), A_eq=one, b_eq=[1]).fun
    limits = np.r_[np.zeros(m), violation]
    reward = linprog(np.r_[-f, np.zeros(m)], A_ub=np.r_[rows, total[None]], b_ub=limits, A_eq=one, b_eq=[1])
    return violation, -reward.fun


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_mixture_has_the_least_violation_and_the_highest_reward(solve, kind, m):
    for n in (1, 4, 25):
        f, g = kind(np.random.default_rng([n, m]), n, m)
        mixture = solve(f, g)
        weights = mixture.over_arms(n)
        np.testing.assert_allclose(weights.sum(axis=1), 1)
        assert (weights >= 0).all()
        for t in range(TRIALS):
            violation, value = by_library(f[t], g[t])
            achieved = np.maximum(g[t] @ weights[t] / sizes(g[t]), 0).sum()
            # The library's tolerance is 1e-7; rewards are of order 1, and so are the prices of a violation.
            assert achieved == pytest.approx(violation, abs=1e-6)
            assert mixture.value[t] == pytest.approx(value, abs=1e-6)
            assert mixture.value[t] == pytest.approx(f[t] @ weights[t], abs=1e-12)
            assert mixture.feasible[t] == (violation < 1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_prices_prove_that_no_mixture_is_better(solve, kind, m):
    """Weak duality: max_x f(x) - phi . g(x) bounds E_pi[f] of every feasible pi, and the mixture attains it."""
    f, g = kind(np.random.default_rng(m), 25, m)
    mixture = solve(f, g)
    priced = np.isfinite(mixture.price).all(axis=1)
    np.testing.assert_array_equal(priced, mixture.feasible)
    assert (mixture.price >= 0).all()
    bound = (f[priced] - np.einsum("bm,bmn->bn", mixture.price[priced], g[priced])).max(axis=1)
    np.testing.assert_allclose(mixture.value[priced], bound, atol=1e-7)


def test_two_arms_are_mixed_so_that_the_cost_is_zero(solve):
    # The line from (-1, 0) to (3, 1) has height 0.25 at cost 0; arm 2 is below it: 0.25 + 0.25 * 9 = 2.5 > 2.
    mixture = solve(np.array([[0.0, 1.0, 2.0]]), np.array([[[-1.0, 3.0, 9.0]]]))
    np.testing.assert_array_equal(mixture.arms, [[0, 1]])
    np.testing.assert_allclose(mixture.weights, [[0.75, 0.25]])
    np.testing.assert_allclose(mixture.price, [[0.25]])


def test_without_constraints_it_is_the_first_of_the_best_arms(solve):
    mixture = solve(np.array([[1.0, 3.0, 3.0]]), np.zeros((1, 0, 3)))
    np.testing.assert_array_equal(mixture.arms, [[1]])
    assert mixture.value[0] == 3


def test_a_constraint_that_cannot_be_met_has_an_infinite_price_and_another_its_own(solve):
    # Constraint 0 is violated by 2 or 1: arms 1 and 2 have the least. Constraint 1 allows half of arm 2.
    f, g = np.array([[9.0, 1.0, 3.0]]), np.array([[[2.0, 1.0, 1.0], [-1.0, -1.0, 1.0]]])
    mixture = solve(f, g)
    np.testing.assert_allclose(mixture.over_arms(3), [[0, 0.5, 0.5]], atol=1e-12)
    np.testing.assert_allclose(mixture.price, [[np.inf, 1.0]])
    assert not mixture.feasible[0]


def test_only_arms_that_are_available_are_mixed(solve):
    rng = np.random.default_rng(0)
    f, g = random_arms(rng, 30, 2)
    among = np.arange(30) % 3 == rng.integers(3, size=(TRIALS, 1))
    mixture = solve(f, g, among)
    part = [best_mixture(f[t][None, among[t]], g[t][None][:, :, among[t]]) for t in range(TRIALS)]
    assert all(among[t, mixture.arms[t]].all() for t in range(TRIALS))
    np.testing.assert_allclose(mixture.value, [p.value[0] for p in part])


def test_units_change_the_prices_and_nothing_else(solve):
    f, g = random_arms(np.random.default_rng(3), 25, 3)
    units = np.array([1e-7, 1.0, 1e5])
    plain, scaled = solve(f, g), solve(1e6 * f, g * units[:, None])
    np.testing.assert_array_equal(plain.arms, scaled.arms)
    np.testing.assert_allclose(plain.weights, scaled.weights, atol=1e-12)
    np.testing.assert_allclose(plain.price * 1e6 / units, scaled.price, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [random_arms, degenerate, infeasible])
def test_a_trial_is_the_same_alone_and_in_a_batch(kind):
    f, g = kind(np.random.default_rng(4), 40, 2)
    batch = best_mixture(f, g)
    for t in range(TRIALS):
        alone = best_mixture(f[t : t + 1], g[t : t + 1])
        for whole, part in zip(batch, alone, strict=True):
            np.testing.assert_array_equal(whole[t : t + 1], part)


def test_arms_are_drawn_in_proportion_to_their_weights(solve):
    """At 1,000 evenly spaced uniform numbers each count is the weight x 1,000, within 1 at either end."""
    f, g = (np.repeat(part[:1], 1000, axis=0) for part in random_arms(np.random.default_rng(5), 25, 2))
    mixture = solve(f, g)
    counts = np.bincount(np.asarray(mixture.draw((np.arange(1000) + 0.5) / 1000)), minlength=25)
    assert (mixture.over_arms(25)[0] > 0).sum() == 3
    np.testing.assert_allclose(counts / 1000, mixture.over_arms(25)[0], atol=2e-3)


def test_single_precision_is_accepted(solve):
    f, g = random_arms(np.random.default_rng(6), 25, 2)
    single = solve(f.astype(np.float32), g.astype(np.float32))
    assert single.value.dtype == np.float32
    # The tolerance is sqrt(2^-23) = 3.5e-4 times the largest |f|, about 3.
    np.testing.assert_allclose(single.value, best_mixture(f, g).value, atol=2e-3)
