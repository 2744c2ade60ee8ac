"""Engineering designs as f, c_1, ..., c_m at points (n, d): the weight or price of a part, and what must be at most 0.

Stresses, deflections and loads are c = ln(value / limit) where the ratio itself would reach 10^5 in a corner of the
domain: the same designs are feasible, and costs are of order 1.
"""

import numpy as np

from softbandit.backend import Floats

SIXTEENTH = 0.0625  # inches: plates come in multiples of this thickness


def speed_reducer(X: Floats) -> Floats:
    """The weight of a gear box. x1, ..., x7: face width, module, teeth, two shaft lengths, two shaft diameters."""
    a, b, n, p, q, u, v = X.T
    weight = (
        0.7854 * a * b**2 * (3.3333 * n**2 + 14.9334 * n - 43.0934)
        - 1.508 * a * (u**2 + v**2)
        + 7.4777 * (u**3 + v**3)
        + 0.7854 * (p * u**2 + q * v**2)
    )
    limits = [
        27 / (a * b**2 * n),
        397.5 / (a * b**2 * n**2),
        1.93 * p**3 / (b * n * u**4),
        1.93 * q**3 / (b * n * v**4),
        np.sqrt((745 * p / (b * n)) ** 2 + 16.9e6) / (110 * u**3),
        np.sqrt((745 * q / (b * n)) ** 2 + 157.5e6) / (85 * v**3),
        b * n / 40,
        5 * b / a,
        a / (12 * b),
        (1.5 * u + 1.9) / p,
        (1.1 * v + 1.9) / q,
    ]
    return np.stack([weight, *(limit - 1 for limit in limits)], axis=1)


def pressure_vessel(X: Floats) -> Floats:
    """The price of a tank. x1, x2: thickness of shell and head in sixteenths of an inch; x3, x4: radius and length."""
    s, h = SIXTEENTH * X[:, :2].T
    r, length = X[:, 2:].T
    price = 0.6224 * s * r * length + 1.7781 * h * r**2 + 3.1661 * s**2 * length + 19.84 * s**2 * r
    volume = np.pi * r**2 * length + 4 / 3 * np.pi * r**3
    limits = [0.0193 * r - s, 0.00954 * r - h, 1 - volume / 1_296_000, length / 240 - 1]
    return np.stack([price, *limits], axis=1)


def welded_beam(X: Floats) -> Floats:
    """The price of a beam and its weld. x1, ..., x4: height and length of the weld, height and width of the beam."""
    P, L, E, G = 6000.0, 14.0, 30e6, 12e6  # load in lb, overhang in in., moduli in psi
    h, w, t, b = X.T
    R2 = w**2 / 4 + ((h + t) / 2) ** 2
    primary = P / (np.sqrt(2) * h * w)
    polar = 2 * np.sqrt(2) * h * w * (w**2 / 12 + ((h + t) / 2) ** 2)  # moment of inertia
    secondary = P * (L + w / 2) * np.sqrt(R2) / polar
    shear = np.sqrt(primary**2 + primary * secondary * w / np.sqrt(R2) + secondary**2)
    bending, deflection = 6 * P * L / (b * t**2), 4 * P * L**3 / (E * t**3 * b)
    buckling = 4.013 * E * t * b**3 / (6 * L**2) * (1 - t / (2 * L) * np.sqrt(E / (4 * G)))
    beam = 0.04811 * t * b * (14 + w)
    limits = [
        np.log(shear / 13_600),
        np.log(bending / 30_000),
        h - b,
        (0.10471 * h**2 + beam) / 5 - 1,
        0.125 - h,
        np.log(deflection / 0.25),
        np.log(P / buckling),
    ]
    return np.stack([1.10471 * h**2 * w + beam, *limits], axis=1)


def tension_spring(X: Floats) -> Floats:
    """The weight of a spring. x1, x2, x3: diameters of the wire and of the coil, and the number of active coils."""
    d, D, N = X.T
    stress = (4 * D**2 - d * D) / (12_566 * (D * d**3 - d**4)) + 1 / (5108 * d**2)
    limits = [
        np.log(71_785 * d**4 / (D**3 * N)),  # the least deflection over the deflection
        np.log(stress),
        np.log(D**2 * N / (140.45 * d)),  # the least frequency over the frequency
        (d + D) / 1.5 - 1,
    ]
    return np.stack([(N + 2) * D * d**2, *limits], axis=1)
