import math

import numpy as np
import pytest

import softbandit as sb
from softbandit.gp import Kernel
from softbandit.theory import features, gain_on_space, gain_on_spaces, greedy_gain

UNIT = {d: sb.Box(np.zeros(d), np.ones(d)) for d in (1, 2, 3)}
KERNELS = {
    "SquaredExponential": sb.SquaredExponential(0.3),
    "Matern 5/2": sb.Matern(0.3),
    "Matern 3/2": sb.Matern(0.3, nu=1.5),
    "Matern 1/2": sb.Matern(0.3, nu=0.5),
    "scaled": 0.25 * sb.Matern(0.5),
    "product": sb.SquaredExponential(0.6) * sb.Matern(0.5),
    "sum": 0.5 * sb.SquaredExponential(0.3) + 0.1 * sb.Linear(),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@pytest.fixture
def small_designs(monkeypatch):
    """Faster, and as valid."""
    monkeypatch.setattr(gain_on_spaces, "LARGEST_DESIGN", 100)
    monkeypatch.setattr(gain_on_spaces, "CANDIDATES", 1000)


def gain_of(kernel, X, lam, counts=1.0):
    """1/2 ln det(I + K / lambda) of observations at X, each repeated."""
    half = np.sqrt(np.broadcast_to(counts, len(X)))
    return 0.5 * np.linalg.slogdet(np.eye(len(X)) + half[:, None] * kernel(X, X) * half / lam)[1]


def arrangements(d, T, rng):
    """T observations, spread in several ways: points, and how often each is observed."""
    yield rng.random((T, d)), 1.0
    yield rng.random((math.ceil(T / 20), d)), min(T, 20)
    yield np.round(rng.random((T, d))), 1.0  # corners
    yield 0.5 - 0.5 * np.cos(np.pi * rng.random((T, d))), 1.0  # denser at the borders
    yield 0.4 + 0.2 * rng.random((T, d)), 1.0


@every_kernel
@pytest.mark.parametrize("d", UNIT)
@pytest.mark.parametrize("lam", [1.0, 0.01])
@pytest.mark.parametrize("T", [1, 40, 400])
def test_no_arrangement_of_observations_gains_more(kernel, d, lam, T, small_designs):
    upper = gain_on_space(kernel, UNIT[d], T, lam).upper
    assert upper <= T / 2 * math.log1p(1 / lam)
    for X, counts in arrangements(d, T, np.random.default_rng(d)):
        assert gain_of(kernel, X, lam, counts) <= upper * (1 + 1e-9)


@every_kernel
@pytest.mark.parametrize("candidates", [2, 9, 81])
def test_a_bound_from_a_coarse_grid_is_loose_but_valid(kernel, candidates, monkeypatch):
    """Few points to choose from, few to check: the interpolation error covers what lies between them."""
    for name in ("CANDIDATES", "CHECKED", "LARGEST_DESIGN"):
        monkeypatch.setattr(gain_on_spaces, name, candidates)
    fine = np.linspace(0, 1, 200)[:, None]
    for lam in (1.0, 0.01):
        greedy = greedy_gain(features(kernel, fine), 500, lam, steps=100)
        assert greedy.lower[-1] <= gain_on_space(kernel, UNIT[1], 500, lam).upper


@pytest.mark.parametrize(
    ("name", "d", "factor"),
    [("SquaredExponential", 1, 1.15), ("Matern 5/2", 1, 1.1), ("Matern 3/2", 1, 1.1), ("SquaredExponential", 2, 1.2)],
)
def test_the_bound_is_near_the_greedy_gain_on_a_grid(name, d, factor):
    points = gain_on_spaces.grid(UNIT[d].axes, [500] if d == 1 else [30, 30])
    for lam in (1.0, 0.01):
        greedy = greedy_gain(features(KERNELS[name], points, 1e-6), 1000, lam).lower[-1]
        assert greedy <= gain_on_space(KERNELS[name], UNIT[d], 1000, lam).upper <= factor * greedy


@pytest.mark.parametrize("lam", [1.0, 0.01])
@pytest.mark.parametrize("T", [1, 10, 10_000])
def test_a_linear_kernel_by_hand(T, lam):
    """On [0, 1] the best observations are all at 1: 1/2 ln(1 + T / lambda)."""
    assert gain_on_space(sb.Linear(), sb.Box(0, 1), T, lam).upper == pytest.approx(0.5 * math.log1p(T / lam))


def test_two_directions_of_a_linear_kernel_by_hand():
    """On [-a, a]^2 with |x| <= 1 at the corners, half of the rounds go to each diagonal, and both are orthogonal."""
    a = 1 / math.sqrt(2)
    upper = gain_on_space(sb.Linear(), sb.Box([-a, -a], [a, a]), 1000, 0.5).upper
    assert upper == pytest.approx(math.log1p(500 / 0.5))


@every_kernel
def test_the_bound_grows_with_the_rounds_and_falls_with_the_regularisation(kernel, small_designs):
    bounds = [[gain_on_space(kernel, UNIT[1], T, lam).upper for T in (1, 3, 10, 100, 1000)] for lam in (0.01, 0.1, 1)]
    assert (np.diff(bounds, axis=1) > 0).all()
    assert (np.diff(bounds, axis=0) < 0).all()


@every_kernel
def test_the_error_of_a_grid_bounds_the_multilinear_interpolation_in_its_cells(kernel):
    """|k_x - sum_i w_i k_{x_i}|^2 over the four corners of a cell, by the reproducing property."""
    box = sb.Box([0, 0], [1, 0.7])
    (nx, ny), error = gain_on_spaces.refine(kernel, box.axes, 64, 0.0)
    rng, (h, v) = np.random.default_rng(0), (1 / nx, 0.7 / ny)
    squared = []
    for a, b in np.append(rng.random((200, 2)), [[0.5, 0.5]], axis=0):
        corner = np.array([rng.integers(nx) * h, rng.integers(ny) * v])
        X = corner + np.array([[a * h, b * v], [0, 0], [h, 0], [0, v], [h, v]])
        w = np.array([1, -(1 - a) * (1 - b), -a * (1 - b), -(1 - a) * b, -a * b])
        squared.append(w @ kernel(X, X) @ w)
    assert 0.45 * error <= math.sqrt(max(squared)) <= error


def test_deviations_between_grid_points_are_within_the_interpolation_error():
    """sigma_c at random points, by the dense posterior, against the grid's largest plus delta."""
    rng, lam, T = np.random.default_rng(0), 0.5, 50
    for kernel in KERNELS.values():
        cells, error = gain_on_spaces.refine(kernel, UNIT[2].axes, 64, 0.0)
        points = gain_on_spaces.grid(UNIT[2].axes, cells)
        design = gain_on_spaces.spread_design(kernel, points[:6], T, lam)
        Z, X = design.points, rng.random((3000, 2))
        # c from sigma_c(x)^2 = k(x, x) - k^T (K + lambda C^-1)^-1 k: root^T root = (K + lambda C^-1)^-1
        noise = np.linalg.inv(design.root.T @ design.root) - kernel(Z, Z)
        assert (lam / np.diag(noise)).sum() == pytest.approx(T, rel=1e-6)
        k = kernel(Z, X)
        sigma2 = kernel.diag(X) - np.sum(k * np.linalg.solve(kernel(Z, Z) + noise, k), axis=0)
        assert math.sqrt(sigma2.max()) <= design.largest_deviation(points) + error


def test_a_finite_space_needs_no_interpolation():
    space = sb.Space({"layers": sb.Integer(1, 6), "kind": sb.Categorical(["a", "b", "c"])})
    kernel = sb.Matern(0.6)
    exact = greedy_gain(features(kernel, space.every()), 500, 0.1)
    assert exact.lower[-1] <= gain_on_space(kernel, space, 500, 0.1).upper <= 1.01 * exact.upper[-1]


def test_a_mixed_space_gains_less_than_the_box_around_it_and_more_than_one_of_its_slices():
    kernel = sb.SquaredExponential(0.4)
    few = gain_on_space(kernel, sb.Space({"x": sb.Float(0, 5), "n": sb.Integer(1, 3)}), 300, 0.1).upper
    many = gain_on_space(kernel, sb.Space({"x": sb.Float(0, 5), "n": sb.Integer(1, 10**9)}), 300, 0.1).upper
    box = gain_on_space(kernel, UNIT[2], 300, 0.1).upper
    assert gain_on_space(kernel, UNIT[1], 300, 0.1).upper < few < many == pytest.approx(box, rel=1e-6)


def test_a_box_in_other_units_has_the_same_gain():
    wide = gain_on_space(sb.SquaredExponential([200.0, 3.0]), sb.Box([-500, 10], [500, 20]), 500, 1.0).upper
    assert wide == pytest.approx(gain_on_space(sb.SquaredExponential([0.2, 0.3]), UNIT[2], 500, 1.0).upper, rel=1e-6)


class Periodic(Kernel):
    """A kernel of which nothing but its values is known."""

    def __call__(self, X, Y):
        return np.exp(np.cos(2 * np.pi * (X - Y.T)) - 1)

    def diag(self, X):
        return np.ones(len(X))


@pytest.mark.parametrize(
    ("kernel", "space"),
    [
        (Periodic(), UNIT[1]),
        (sb.Linear() * sb.Matern(0.3), UNIT[1]),
        (sb.Matern(0.3), sb.Box(np.zeros(13), np.ones(13))),
        (sb.Matern(0.3), sb.Space({name: sb.Categorical(list(range(20))) for name in "abcd"})),
    ],
)
def test_the_trivial_bound_is_returned_where_no_other_is_known(kernel, space):
    gain = gain_on_space(kernel, space, 100, 0.5)
    assert gain.upper == gain.trivial == pytest.approx(50 * math.log(3))
    assert gain.points == 0


def test_tiny_regularisation_leaves_the_bound_valid():
    """T / lambda = 10^12: rounding errors of sigma_c^2 are of its own size, and are covered."""
    kernel, lam, T = sb.SquaredExponential(0.3), 1e-8, 10_000
    X = 0.5 - 0.5 * np.cos(np.pi * (np.arange(24) + 0.5) / 24)[:, None]
    gain = gain_on_space(kernel, UNIT[1], T, lam)
    assert gain_of(kernel, X, lam, T / 24) <= gain.upper < 0.1 * gain.trivial


@pytest.mark.parametrize(
    "bad", [{"rounds": 0}, {"regularisation": 0.0}, {"kernel": sb.Linear(), "space": sb.Box(0, 2)}]
)
def test_bad_input_is_refused(bad):
    settings = {"kernel": sb.Matern(0.3), "space": UNIT[1], "rounds": 10, "regularisation": 1.0, **bad}
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        gain_on_space(**settings)
