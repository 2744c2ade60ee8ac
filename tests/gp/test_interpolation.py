import math

import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb
from softbandit.gp import interpolation_error

KERNELS = {
    "SquaredExponential": sb.SquaredExponential([0.2, 0.7]),
    "Matern 1/2": sb.Matern(0.4, nu=0.5),
    "Matern 3/2": sb.Matern(0.4, nu=1.5),
    "Matern 5/2": 0.25 * sb.Matern(0.4),
    "product": sb.SquaredExponential(0.3) * sb.Matern(0.5),
    "product of a sum": (0.5 * sb.SquaredExponential(0.3) + 0.5 * sb.Matern(0.2)) * sb.Matern(0.5),
    "sum with a linear kernel": 0.5 * sb.SquaredExponential(0.3) + 0.3 * sb.Linear(),
}


def squared_error(kernel, a, b, u):
    """|k_x - (1 - u) k_a - u k_b|^2 by the reproducing property, term by term."""
    points, weights = [(1 - u) * a + u * b, a, b], [1.0, u - 1, -u]
    terms = [
        v * w * kernel(x[None], y[None])[0, 0]
        for v, x in zip(weights, points, strict=True)
        for w, y in zip(weights, points, strict=True)
    ]
    return sum(terms)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("step", [[0.05, 0.0], [0.0, 0.4], [0.3, -0.2]])
def test_no_position_on_any_line_has_a_larger_error(kernel, step):
    rng, step = np.random.default_rng(0), np.array(step)
    bound = interpolation_error(kernel, step)
    starts, positions = rng.random((100, 2)), np.append(rng.random(99), 0.5)
    errors = [squared_error(kernel, a, a + step, u) for a, u in zip(starts, positions, strict=True)]
    assert 0.9 * bound <= math.sqrt(max(errors)) <= bound


def test_the_error_of_a_smooth_kernel_is_second_order():
    # k_x - interpolation = -h^2 / 8 k_x'' + O(h^3) at the middle, and |k_x''|^2 = k''''(0) = 3 / l^4
    for h in (0.1, 0.03):
        error = interpolation_error(sb.SquaredExponential(1.0), np.array([h]))
        assert error == pytest.approx(math.sqrt(3) / 8 * h * h, rel=0.2)


def test_a_linear_kernel_has_no_error():
    assert interpolation_error(sb.Linear(), np.array([3.0, 1.0])) == 0


@pytest.mark.parametrize(
    "kernel", [sb.Linear() * sb.Matern(0.2), sb.Matern(0.2) + sb.Tabular(np.eye(2)), examples_of.KERNELS["Tabular"][0]]
)
def test_the_error_of_another_kernel_is_not_known(kernel):
    assert interpolation_error(kernel, np.array([0.1])) == math.inf
