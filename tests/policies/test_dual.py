"""The dual steps against the argmin and the recursion that define them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.policies.dual import (
    ProjectedGradient,
    VirtualQueue,
    checked_slack,
    dual_cap,
    dual_rule,
    inverse_step,
    slater_margin,
)

RHO, V, SLACK = 8.0, np.array([0.5, 2.0]), 0.1
estimates = st.floats(-20, 20)


@given(st.floats(0, RHO), st.floats(0, RHO), estimates, estimates)
def test_the_projected_step_is_the_nearest_point_of_its_interval(first, second, g_1, g_2):
    """Algorithm 1, line 7: argmin over [0, rho] of |phi' - (phi + (g + eps) / V)|, by search on a fine grid."""
    dual, g = np.array([[first, second]]), np.array([[g_1, g_2]])
    grid = np.linspace(0, RHO, 10_001)
    step = ProjectedGradient(RHO, V, SLACK).step(dual, g)
    for i in range(2):
        target = dual[0, i] + (g[0, i] + SLACK) / V[i]
        assert 0 <= step[0, i] <= RHO
        assert abs(step[0, i] - target) <= np.abs(grid - target).min() + 1e-12


@given(st.floats(0, 100), estimates)
def test_a_queue_grows_by_the_estimate_and_never_falls_below_zero(length, g):
    """Algorithm 2, line 5: Q <- [Q + g + eps]_+."""
    queue = VirtualQueue(V[:1], SLACK)
    step = queue.step(np.array([[length]]), np.array([[g]]))
    assert step[0, 0] == max(length + g + SLACK, 0.0)


def test_the_price_is_the_dual_or_the_queue_over_v():
    dual = np.array([[1.0, 3.0]])
    np.testing.assert_array_equal(ProjectedGradient(RHO, V, SLACK).price(dual), dual)
    np.testing.assert_array_equal(VirtualQueue(V, SLACK).price(dual), [[2.0, 1.5]])


def test_each_trial_and_constraint_has_its_own_dual():
    dual, g = np.array([[0.0, 1.0], [2.0, 7.9]]), np.array([[0.4, -3.0], [-1.1, 5.0]])
    np.testing.assert_allclose(ProjectedGradient(RHO, V, SLACK).step(dual, g), [[1.0, 0.0], [0.0, 8.0]])
    np.testing.assert_allclose(VirtualQueue(V, SLACK).step(dual, g), [[0.5, 0.0], [1.0, 13.0]])


def test_rules_are_chosen_by_name():
    assert isinstance(dual_rule("projected", RHO, V, SLACK), ProjectedGradient)
    assert isinstance(dual_rule("queue", RHO, V, SLACK), VirtualQueue)
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'queue'"):
        dual_rule("que", RHO, V, SLACK)


def test_a_slack_above_half_the_margin_is_refused_with_the_reason():
    with pytest.raises(sb.ArgumentError, match="slater / 2 = 0.1.*tightened constraints"):
        checked_slack(0.11, 0.2)
    assert checked_slack(0.1, 0.2) == 0.1


def test_a_slack_without_a_margin_is_refused():
    with pytest.raises(sb.ArgumentError, match="0 without slater"):
        checked_slack(0.1, None)
    assert checked_slack(0.0, None) == 0.0


def test_a_margin_outside_0_to_1_is_refused():
    assert slater_margin(1.0) == 1.0
    for margin in (0.0, 1.1, -0.5, math.nan):
        with pytest.raises(sb.ArgumentError, match="slater"):
            slater_margin(margin)


def test_the_cap_is_4_b_over_delta_unless_rho_is_given():
    assert dual_cap(None, B=3.0, slater=0.5, needed=True) == 24.0
    assert dual_cap(7.0, B=3.0, slater=None, needed=True) == 7.0
    assert dual_cap(None, B=3.0, slater=None, needed=False) == math.inf
    with pytest.raises(sb.ArgumentError, match="Pass slater, or else rho"):
        dual_cap(None, B=3.0, slater=None, needed=True)


def test_v_is_g_sqrt_t_over_rho_unless_given():
    np.testing.assert_allclose(inverse_step(None, np.array([1.0, 2.0]), horizon=100, rho=5.0), [2.0, 4.0])
    np.testing.assert_array_equal(inverse_step(3.0, np.array([1.0, 2.0]), horizon=100, rho=5.0), [3.0, 3.0])


def test_a_queue_with_a_given_v_needs_no_slater():
    assert examples_of.policy(slater=None, dual="queue", V=3.0).V == 3.0
    with pytest.raises(sb.ArgumentError, match="Pass slater, or else rho"):
        examples_of.policy(slater=None, dual="queue")
