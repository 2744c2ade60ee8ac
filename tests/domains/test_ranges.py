import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softbandit as sb


def values(parameter):
    return [parameter.decode(u) for u in parameter.every()]


def test_a_step_gives_the_numbers_that_a_user_would_write():
    assert values(sb.Float(0.1, 1.0, step=0.1)) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert values(sb.Float(-0.2, 0.1, step=0.05)) == [-0.2, -0.15, -0.1, -0.05, 0.0, 0.05, 0.1]
    assert values(sb.LogFloat(0.25, 1.0, step=0.25)) == [0.25, 0.5, 0.75, 1.0]
    assert sb.Float(-100, 0, step=0.01).decode(np.array([0.9999])) == -0.01


def test_steps_are_evenly_spaced_or_by_the_logarithm():
    np.testing.assert_allclose(sb.Float(0, 2, step=0.5).every()[:, 0], [0, 0.25, 0.5, 0.75, 1])
    # ln(1), ln(2), ln(3), ln(4), in units of ln(4)
    logs = [0, 0.5, math.log(3) / math.log(4), 1]
    np.testing.assert_allclose(sb.LogInteger(1, 4).every()[:, 0], logs, rtol=1e-15)
    np.testing.assert_allclose(sb.LogFloat(0.5, 2, step=0.5).every()[:, 0], logs, rtol=1e-15)


def test_a_number_between_two_steps_is_refused_with_both_and_a_rounding_error_is_not():
    rate = sb.Float(0.1, 1.0, step=0.1)
    with pytest.raises(sb.ArgumentError, match=r"rate: expected 0.1 plus a multiple of 0.1, got 0.25. Pass 0.2 or 0.3"):
        rate.encode("rate", 0.25)
    assert rate.encode("rate", 0.1 + 0.2) == rate.encode("rate", 0.3)


@given(
    st.sampled_from([sb.Float, sb.LogFloat]),
    st.floats(1e-6, 1e6),
    st.integers(1, 2**30),
    st.floats(1e-3, 1e9),
    st.floats(0, 1),
)
def test_any_stepped_range_that_is_accepted_is_consistent(kind, low, steps, step, u):
    try:
        parameter = kind(low, low + steps * step, step=step)
    except sb.ArgumentError:
        return
    assert parameter.size == steps + 1
    value = parameter.decode(np.array([u]))
    features = np.array(parameter.encode("x", value))
    assert parameter.decode(features) == value
    np.testing.assert_array_equal(parameter.snap(features[None])[0], features)


@given(st.integers(1, 2**39), st.integers(1, 2**39), st.floats(0, 1))
def test_any_log_integer_is_decoded_to_itself(low, width, u):
    parameter = sb.LogInteger(low, low + width)
    value = parameter.decode(np.array([u]))
    assert parameter.decode(np.array(parameter.encode("x", value))) == value


@pytest.mark.parametrize("step", [0, -1, math.nan, "0.1", 2.0, 0.3, 1e-12])
@pytest.mark.parametrize("kind", [sb.Float, sb.LogFloat])
def test_a_step_that_does_not_divide_the_range_is_refused(kind, step):
    with pytest.raises(sb.ArgumentError, match="^step: expected"):
        kind(1, 2, step=step)


def test_the_error_about_a_step_names_an_end_that_fits():
    with pytest.raises(sb.ArgumentError, match="got 0.3 from 0 to 1. For example high=0.9."):
        sb.Float(0, 1, step=0.3)


@pytest.mark.parametrize(("low", "high"), [(0, 5), (-1, 5), (1, 1), (5, 2), (1, 2**41), (1.5, 3), (1, "9")])
def test_a_log_integer_needs_whole_numbers_above_zero(low, high):
    with pytest.raises(sb.ArgumentError):
        sb.LogInteger(low, high)


def test_a_space_of_stepped_parameters_is_finite():
    space = sb.Space({"a": sb.Float(0, 1, step=0.25), "b": sb.LogInteger(1, 4), "c": sb.Ordinal([1, 2, 4])})
    assert space.size == 5 * 4 * 3 == len(space.every())
    assert not space.free.any()
    assert not sb.Autopilot(space).continuous


def test_axes_of_even_levels_are_exact_and_of_others_cover_a_superset():
    space = sb.Space({"a": sb.Float(0, 1, step=0.25), "b": sb.LogInteger(1, 4), "c": sb.Cyclic(24), "d": sb.Fixed(1)})
    sizes = [(axis.columns.start, axis.columns.stop, axis.size) for axis in space.axes]
    assert sizes == [(0, 1, 5), (1, 2, math.inf), (2, 3, math.inf), (3, 4, math.inf)]
