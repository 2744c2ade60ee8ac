"""Units of outputs: the transform and its inverse, means under it, and when it is chosen."""

import math

import numpy as np
import pytest

from softbandit.policies.output_units import Units

rng = np.random.default_rng(3)
NORMAL = rng.standard_normal(200)
WIDE = 10 ** rng.uniform(-1, 4, 200) * rng.choice([-1, 1], 200)  # five orders of magnitude, on both sides of zero
BENT = Units(centre=0.4, spread=1.3, zero=-2.0, bend=0.7)


@pytest.mark.parametrize("units", [Units(), Units(3.0, 0.2), BENT, Units(-5.0, 2.0, 1e3, 1e-2)])
def test_outside_is_the_inverse_of_inside_without_noise(units):
    y = np.array([-1e4, -3.0, -2.0, 0.0, 1e-3, 1.0, 1e4])
    # Near zero a transformed value of order 1 loses the digits of `zero`.
    np.testing.assert_allclose(units.outside(units.inside(y), 0.0), y, rtol=1e-9, atol=1e-9)


def expectation(function, mean, variance):
    """Return E[function(z)], z ~ N(mean, variance), by Gauss-Hermite quadrature with 80 points."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    return np.sum(weights * function(mean + math.sqrt(variance) * nodes)) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize("units", [Units(3.0, 0.2), BENT])
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.8])
def test_outside_is_the_mean_over_the_noise(units, noise):
    def observed(z):
        w = units.centre + units.spread * z
        return units.zero + units.bend * np.sinh(w) if units.bend else w

    for z in (-2.0, 0.0, 1.5):
        expected = expectation(observed, z, noise)
        assert units.outside(np.array([z]), noise)[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("units", [Units(3.0, 0.2), BENT])
@pytest.mark.parametrize("variance", [1e-4, 0.05, 0.6])
def test_moments_are_mean_and_deviation_of_the_mean_over_the_noise(units, variance):
    for z in (-2.0, 0.0, 1.5):
        first = expectation(lambda v: units.outside(v, 0.3), z, variance)
        second = expectation(lambda v: units.outside(v, 0.3) ** 2, z, variance)
        mean, deviation = units.moments(np.array([z]), np.array([variance]), 0.3)
        assert mean[0] == pytest.approx(first, rel=1e-9)
        # The smallest variances are 1e-4 of the squares whose difference they are: 4 of 16 digits are lost.
        assert deviation[0] == pytest.approx(math.sqrt(second - first**2), rel=1e-9)


@pytest.mark.parametrize("limited", [True, False])
@pytest.mark.parametrize("values", [WIDE, np.abs(WIDE), 1e-3 * WIDE, 1e6 * WIDE])
def test_values_over_five_orders_of_magnitude_are_transformed(values, limited):
    units = Units.learned(values, limited)
    assert units.bend > 0
    z = units.inside(values)
    assert z.mean() == pytest.approx(0.0, abs=1e-9)
    assert z.std() == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("limited", [True, False])
@pytest.mark.parametrize("values", [NORMAL, NORMAL[:8], 50 + NORMAL, -1e6 * NORMAL, rng.random(300)])
def test_normal_and_uniform_values_are_used_as_they_are(values, limited):
    units = Units.learned(values, limited)
    assert units.bend == 0
    np.testing.assert_allclose(units.inside(values), (values - values.mean()) / values.std(), atol=1e-9)


def test_the_log_jacobian_is_that_of_differences():
    y, h = np.array([-3.0, 0.5, 2.0, 40.0]), 1e-5
    for units in (Units(3.0, 0.2), BENT):
        slopes = (units.inside(y + h) - units.inside(y - h)) / (2 * h)
        assert units.log_jacobian(y) == pytest.approx(np.log(slopes).sum(), rel=1e-8)


def test_values_that_hardly_differ_are_not_spread_over_orders_of_magnitude():
    """Of 24, 20 are at an optimum, where differences are noise. Log scales begin at 1/1000 of the middle range."""
    y = np.r_[1.35 + 0.003 * NORMAL[:19], 1.35, NORMAL[20:24]]
    assert Units.learned(y, limited=False).bend >= 1e-3 * np.ptp(np.quantile(y, [0.05, 0.95]))


def test_a_few_huge_values_do_not_hide_the_rest():
    y = np.r_[NORMAL[:60], 1e5, -1e5]
    units = Units.learned(y, limited=True)
    z = units.inside(y)
    assert units.bend > 0
    assert np.std(z[:60]) > 0.1  # as they are, the 60 would be within 1e-4 of each other
    assert np.abs(z).max() < 10


@pytest.mark.parametrize("values", [WIDE, np.abs(WIDE) + 5, NORMAL])
def test_a_limit_at_zero_keeps_its_place(values):
    units = Units.learned(values, limited=True)
    assert units.zero == 0
    zero = units.inside(np.zeros(1))
    assert units.outside(zero, 0.0)[0] == pytest.approx(0.0, abs=1e-9 * np.abs(values).max())
    assert (units.inside(values) > zero).tolist() == (values > 0).tolist()


@pytest.mark.parametrize("scale", [1e-200, 1e-5, 1e3, 1e140])
@pytest.mark.parametrize("values", [NORMAL, WIDE])
@pytest.mark.parametrize("limited", [True, False])
def test_units_follow_the_scale_of_the_values(scale, values, limited):
    plain, scaled = Units.learned(values, limited), Units.learned(scale * values, limited)
    assert (plain.bend > 0) == (scaled.bend > 0)
    np.testing.assert_allclose(scaled.inside(scale * values), plain.inside(values), atol=1e-8)
    z = np.linspace(-2, 2, 9)
    np.testing.assert_allclose(scaled.outside(z, 0.1) / scale, plain.outside(z, 0.1), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("value", [0.0, 7.0, -1e-200, 5e-324, 1e140, -1e300])
@pytest.mark.parametrize("count", [1, 2, 50])
@pytest.mark.parametrize("limited", [True, False])
def test_constant_values_have_finite_units(value, count, limited):
    units = Units.learned(np.full(count, value), limited)
    z = units.inside(np.full(count, value))
    assert np.isfinite(z).all()
    assert np.abs(z).max() < 1e-6
    assert units.spread > 0
    assert units.outside(z, 0.1) == pytest.approx(np.full(count, value), rel=1e-6)


def test_extreme_estimates_stay_finite():
    units = Units.learned(1e140 * WIDE, limited=True)
    z = np.array([-1e6, -30.0, 0.0, 30.0, 1e6])
    assert np.isfinite(units.outside(z, 10.0)).all()
    assert np.isfinite(units.moments(z, np.full(5, 100.0), 10.0)).all()


def test_repeated_values_and_many_zeros_have_finite_units():
    for values in (np.r_[np.zeros(90), WIDE[:10]], np.repeat([0.0, 1.0], 20), np.r_[np.zeros(99), 1e12]):
        for limited in (True, False):
            units = Units.learned(values, limited)
            assert np.isfinite(units.inside(values)).all()
            np.testing.assert_allclose(
                units.outside(units.inside(values), 0.0), values, rtol=1e-6, atol=1e-6 * np.abs(values).max()
            )
