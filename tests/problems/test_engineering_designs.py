"""The engineering designs, against their formulas as published, written out for one design at a time."""

import math

import numpy as np
import pytest

import softbandit as sb

# The best designs and their values, with the digits that are usually printed. Yang, Huyck, Karamanoglu & Khan (2013)
# prove that of the vessel; the plates are 0.8125 and 0.4375 in.
PUBLISHED = {
    "pressure-vessel": ((13, 7, 42.098446, 176.636596), 6059.714335),
    "welded-beam": ((0.205730, 3.470489, 9.036624, 0.205730), 1.724852),
    "tension-spring": ((0.051689061, 0.356717741, 11.28896566), 0.012665233),
}


def vessel(shell, head, R, L):
    x1, x2 = 0.0625 * shell, 0.0625 * head
    f = 0.6224 * x1 * R * L + 1.7781 * x2 * R**2 + 3.1661 * x1**2 * L + 19.84 * x1**2 * R
    return [f, -x1 + 0.0193 * R, -x2 + 0.00954 * R, -math.pi * R**2 * L - 4 / 3 * math.pi * R**3 + 1296000, L - 240]


def beam(x1, x2, x3, x4):
    P, L, E, G = 6000, 14, 30e6, 12e6
    M, R = P * (L + x2 / 2), math.sqrt(x2**2 / 4 + ((x1 + x3) / 2) ** 2)
    J = 2 * (math.sqrt(2) * x1 * x2 * (x2**2 / 12 + ((x1 + x3) / 2) ** 2))
    tau1, tau2 = P / (math.sqrt(2) * x1 * x2), M * R / J
    tau = math.sqrt(tau1**2 + 2 * tau1 * tau2 * x2 / (2 * R) + tau2**2)
    Pc = 4.013 * E * math.sqrt(x3**2 * x4**6 / 36) / L**2 * (1 - x3 / (2 * L) * math.sqrt(E / (4 * G)))
    return [
        1.10471 * x1**2 * x2 + 0.04811 * x3 * x4 * (14 + x2),
        tau - 13600,
        6 * P * L / (x4 * x3**2) - 30000,
        x1 - x4,
        0.10471 * x1**2 + 0.04811 * x3 * x4 * (14 + x2) - 5,
        0.125 - x1,
        4 * P * L**3 / (E * x3**3 * x4) - 0.25,
        P - Pc,
    ]


def spring(d, D, N):
    return [
        (N + 2) * D * d**2,
        1 - D**3 * N / (71785 * d**4),
        (4 * D**2 - d * D) / (12566 * (D * d**3 - d**4)) + 1 / (5108 * d**2) - 1,
        1 - 140.45 * d / (D**2 * N),
        (D + d) / 1.5 - 1,
    ]


# How each cost follows from the published constraint g, in order.
DESIGNS = {
    "pressure-vessel": (vessel, [lambda g: g, lambda g: g, lambda g: g / 1296000, lambda g: g / 240]),
    "welded-beam": (
        beam,
        [
            lambda g: math.log((g + 13600) / 13600),
            lambda g: math.log((g + 30000) / 30000),
            lambda g: g,
            lambda g: g / 5,
            lambda g: g,
            lambda g: math.log((g + 0.25) / 0.25),
            lambda g: math.log(6000 / (6000 - g)),
        ],
    ),
    "tension-spring": (
        spring,
        [lambda g: -math.log(1 - g), lambda g: math.log(1 + g), lambda g: -math.log(1 - g), lambda g: g],
    ),
}
every_design = pytest.mark.parametrize("name", DESIGNS)


@every_design
def test_price_and_costs_are_those_of_the_published_formulas(name):
    function, (formulas, scalings) = sb.problems.STANDARD[name], DESIGNS[name]
    X = np.random.default_rng(0).uniform(function.lower, function.upper, (50, len(function.lower)))
    for x, (f, *costs) in zip(X.tolist(), function.raw(X).tolist(), strict=True):
        expected, *constraints = formulas(*x)
        assert f == pytest.approx(expected, rel=1e-12)
        scaled = [scale(g) for scale, g in zip(scalings, constraints, strict=True)]
        assert costs == pytest.approx(scaled, rel=1e-8, abs=1e-8)
        assert [c <= 0 for c in costs] == [g <= 0 for g in constraints]


@every_design
def test_the_best_design_is_the_published_one(name):
    function, (design, value) = sb.problems.STANDARD[name], PUBLISHED[name]
    np.testing.assert_allclose(function.at, design, rtol=2.5e-6)  # half a unit in the last digit of 0.205730
    assert DESIGNS[name][0](*function.at)[0] == pytest.approx(value, rel=3e-7)  # and of 1.724852


def test_no_pressure_vessel_is_cheaper_than_the_best_one():
    """The price grows with every variable, so for each radius the thinnest plates and the least length are best."""
    function = sb.problems.STANDARD["pressure-vessel"]
    cheapest = math.inf
    # The price jumps where the plates must be thicker, so those radii are tried too.
    jumps = [k * 0.0625 / rate for rate in (0.0193, 0.00954) for k in range(1, 100)]
    for R in sorted([*np.linspace(10, 200, 100_000), *(R for R in jumps if 10 <= R <= 200)]):
        shell, head = (math.ceil(rate * R / 0.0625 - 1e-9) for rate in (0.0193, 0.00954))
        L = max(10.0, (1296000 - 4 / 3 * math.pi * R**3) / (math.pi * R**2))
        if L <= 200:
            cheapest = min(cheapest, vessel(shell, head, R, L)[0])
    assert cheapest == pytest.approx(function.best, rel=1e-9)


def test_thicknesses_of_a_pressure_vessel_are_multiples_of_a_sixteenth_of_an_inch():
    space = sb.problems.standard("pressure-vessel").arms
    values = space.values(space.at(np.full((1, 4), 0.4321))[0])
    assert float(values["x1"]).is_integer()
    assert float(values["x2"]).is_integer()
    assert not float(values["x3"]).is_integer()


def test_no_feasible_spring_has_a_wire_thicker_than_the_domain():
    """The first constraint, 71785 d^4 <= D^3 N, is loosest at the largest D and N."""
    assert (1.3**3 * 15 / 71785) ** 0.25 < 0.147 < sb.problems.STANDARD["tension-spring"].upper[0]
