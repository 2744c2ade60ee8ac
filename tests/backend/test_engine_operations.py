"""The operations of both engines agree with direct formulas, and so with each other."""

import math

import numpy as np
import pytest

from softbandit.backend.engine_operations import operations

RNG = np.random.default_rng(0)
VALUES = np.round(RNG.standard_normal((50, 12)), 1)  # rounded, so that rows have several maxima


@pytest.fixture(
    params=[
        "NumPy",
        pytest.param("JAX, CPU", marks=pytest.mark.extra),
        pytest.param("JAX, accelerator", marks=pytest.mark.extra),
    ]
)
def engine(request, monkeypatch):
    """Yield an engine's operations, and the function that turns a NumPy array into one of the engine's."""
    if request.param == "NumPy":
        yield operations(np.zeros(1)), np.asarray
        return
    jax = pytest.importorskip("jax")
    from softbandit.backend import jax_operations

    if request.param == "JAX, accelerator":  # run here what would be compiled for one
        monkeypatch.setattr(jax_operations, "platform_dependent", lambda cpu, default: default())
    with jax.enable_x64(True):
        yield operations(jax.numpy.zeros(1)), jax.numpy.asarray


def normal_cdf(x):
    """Phi(x), by erfc so that the lower tail keeps its digits."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


@pytest.mark.parametrize("condition", [True, False])
def test_branch_returns_the_result_of_the_branch_that_the_condition_selects(engine, condition):
    ops, array = engine
    x = array(np.arange(3.0))
    result = ops.branch(array(np.array(condition)), lambda: x + 1, lambda: x - 1)
    np.testing.assert_array_equal(result, [1, 2, 3] if condition else [-1, 0, 1])


def test_repeat_while_stops_at_the_first_state_that_fails_the_condition(engine):
    """Halve two numbers until both are below 1: 5 needs three halvings, and 0.75 is halved along."""
    ops, array = engine
    start = array(np.array([5.0, 0.75])), 0
    x, count = ops.repeat_while(lambda s: (s[0] >= 1).any(), lambda s: (s[0] / 2, s[1] + 1), start)
    np.testing.assert_array_equal(x, [0.625, 0.09375])
    assert count == 3


def test_first_max_is_the_first_of_several_maxima(engine):
    ops, array = engine
    expected = [row.tolist().index(max(row)) for row in VALUES]
    assert len({row.tolist().count(max(row)) for row in VALUES}) > 1
    np.testing.assert_array_equal(ops.first_max(array(VALUES)), expected)


@pytest.mark.parametrize("n", [1, 2, 30, 37])
def test_pick_returns_candidate_number_floor_of_u_times_their_count(engine, n):
    ops, array = engine
    candidates, u = RNG.random((50, n)) < 0.3, RNG.random(50)
    candidates[:, n // 2] = True
    expected = [np.flatnonzero(row)[int(v * row.sum())] for row, v in zip(candidates, u, strict=True)]
    np.testing.assert_array_equal(ops.pick(array(candidates), array(u)), expected)


def test_pick_returns_some_arm_for_a_trial_without_candidates(engine):
    ops, array = engine
    candidates, u = np.zeros((3, 5), dtype=bool), array(np.array([0.1, 0.5, 0.9]))
    assert (ops.pick(array(candidates), u) < 5).all()
    candidates[1, 2] = True
    picked = ops.pick(array(candidates), u)
    assert (picked < 5).all()
    assert picked[1] == 2


def test_with_row_replaces_one_row_of_each_trial_and_keeps_the_array_given(engine):
    ops, array = engine
    x = array(np.zeros((2, 3, 4)))
    changed = ops.with_row(x, 1, array(np.arange(8.0).reshape(2, 4)))
    np.testing.assert_array_equal(changed[:, 1], np.arange(8.0).reshape(2, 4))
    assert not changed[:, ::2].any()
    assert not x.any()


def test_resolve_ties_keeps_the_argmax_if_every_trial_has_one_candidate(engine):
    """`break_ties` then returns the only candidate of each trial too, as `resolve_ties` may call it in any case."""
    ops, array = engine
    argmax = np.array([2, 0, 1])
    candidates = array(np.eye(3, dtype=bool)[argmax])
    resolved = ops.resolve_ties(candidates, array(argmax), lambda: candidates.argmax(axis=1))
    np.testing.assert_array_equal(resolved, argmax)


def test_resolve_ties_breaks_ties_if_some_trial_has_several_candidates(engine):
    ops, array = engine
    candidates = array(np.array([[True, False, True], [False, True, False]]))
    resolved = ops.resolve_ties(candidates, array(np.array([0, 1])), lambda: array(np.array([2, 1])))
    np.testing.assert_array_equal(resolved, [2, 1])


def test_normal_cdf_is_that_of_erfc(engine):
    ops, array = engine
    x = np.linspace(-37, 9, 400)
    expected = list(map(normal_cdf, x))
    np.testing.assert_allclose(ops.normal_cdf(array(x)), expected, rtol=1e-11, atol=1e-300)


def test_log_normal_cdf_is_the_logarithm_of_the_distribution_function(engine):
    ops, array = engine
    x = np.linspace(-19, 5, 300)
    expected = [math.log1p(-normal_cdf(-v)) if v > 0 else math.log(normal_cdf(v)) for v in x]
    # JAX takes the logarithm of Phi(x), which is rounded by up to 2^-53 where it is near 1.
    np.testing.assert_allclose(ops.log_normal_cdf(array(x)), expected, rtol=1e-11, atol=2**-52)


def test_log_normal_cdf_follows_its_asymptotic_series_far_below_zero(engine):
    """ln Phi(-x) = -x^2/2 - ln(x sqrt(2 pi)) + ln(1 - x^-2 + 3 x^-4 - 15 x^-6), up to 105 x^-8, the next term."""
    ops, array = engine
    x = np.array([25.0, 50.0, 1e3, 1e6])
    series = np.log1p(-(x**-2) + 3 * x**-4 - 15 * x**-6)
    expected = -0.5 * x**2 - np.log(x * math.sqrt(2 * math.pi)) + series
    difference = np.abs(np.asarray(ops.log_normal_cdf(array(-x))) - expected)
    assert (difference <= 105 * x**-8 + 1e-15 * x**2).all()


def test_normal_quantile_inverts_the_distribution_function(engine):
    ops, array = engine
    p = np.concatenate([np.geomspace(1e-16, 0.5, 200), 1 - np.geomspace(1e-10, 0.5, 200)])
    x = np.asarray(ops.normal_quantile(array(p)))
    # Rounding x to 2^-53 |x| changes Phi(x) by phi(x) |x| 2^-53, a share of at most x^2 2^-53 = 1e-14 at x = -8.
    np.testing.assert_allclose(list(map(normal_cdf, x)), p, rtol=1e-12)
