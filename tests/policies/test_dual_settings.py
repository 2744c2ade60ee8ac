import math

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.policies.dual_settings import checked_slack, dual_cap, inverse_step, slater_margin


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
