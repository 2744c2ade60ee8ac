import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, norm

from softbandit.theory import bernstein_radius, sub_gaussian_radius
from softbandit.theory.confidence_sequences import LINES, TUNED_FOR


@pytest.mark.parametrize(("t", "R", "alpha"), [(1, 0.3, 0.05), (40, 2.0, 0.01), (1000, 1.0, 0.2)])
def test_at_the_radius_the_mixture_of_exponential_martingales_is_one_over_alpha(t, R, alpha):
    """The mixture is integrated numerically, over eta ~ N(0, 1 / (rho R^2))."""
    S = float(sub_gaussian_radius(np.array([float(t)]), R, alpha)[0])
    L = 2 * math.log(1 / alpha)
    deviation = 1 / (R * math.sqrt(TUNED_FOR / (L + math.log(1 + L))))

    def integrand(eta):
        return math.exp(eta * S - eta**2 * R**2 * t / 2) * norm.pdf(eta, scale=deviation)

    centre = S / (R**2 * t + deviation**-2)  # of the integrand, which is a Gaussian
    spread = 12 / math.sqrt(R**2 * t + deviation**-2)
    assert quad(integrand, centre - spread, centre + spread)[0] == pytest.approx(1 / alpha, rel=1e-6)


def test_the_radius_is_within_15_percent_of_the_narrowest_from_50_to_10000_rounds():
    for alpha in (0.05, 0.025, 0.01):
        for t in (50.0, 250.0, 10_000.0):
            L, rhos = 2 * math.log(1 / alpha), np.geomspace(1e-3, 1e3, 4000) * t
            narrowest = np.sqrt((t + rhos) * (L + np.log1p(t / rhos))).min()
            assert sub_gaussian_radius(np.array([t]), 1.0, alpha)[0] <= 1.15 * narrowest


def test_sums_of_gaussian_noise_leave_the_radius_at_any_time_no_more_often_than_alpha():
    alpha, runs = 0.1, 4000
    S = np.cumsum(np.random.default_rng(0).standard_normal((runs, 500)), axis=1)
    outside = (np.abs(S) > sub_gaussian_radius(np.arange(1, 501.0), 1.0, alpha)).any(axis=1).sum()
    assert binom.sf(outside - 1, runs, alpha) > 1e-6  # not significantly above alpha
    assert outside > 0.2 * alpha * runs  # and not empty: a radius that is far too wide fails


def test_the_inequality_behind_the_bernstein_radius_holds():
    """exp(eta x - psi(eta) x^2) <= 1 + eta x for x >= -1, on a grid."""
    eta, x = np.meshgrid(np.linspace(1e-4, 0.999, 400), np.linspace(-1, 5, 400))
    psi = -np.log1p(-eta) - eta
    assert np.all(np.exp(eta * x - psi * x**2) <= 1 + eta * x + 1e-12)


def test_the_bernstein_radius_is_the_lowest_of_its_lines_in_plain_loops():
    x, low, high, alpha = np.random.default_rng(1).uniform(-1, 3, (2, 20)), -1.0, 3.0, 0.07
    radius = bernstein_radius(x, low, high, alpha)
    for i in range(2):
        V, past = 0.0, [0.5]
        for t in range(20):
            z = (x[i, t] - low) / (high - low)
            V += (z - np.mean(past)) ** 2
            past.append(z)
            lines = []
            for k in range(LINES):
                eta = 2.0 ** -(k + 1)
                log_term = math.log(2 * (k + 1) * (k + 2) / alpha)
                lines.append((log_term + (-math.log(1 - eta) - eta) * V) / eta)
            assert radius[i, t] == pytest.approx((high - low) * min(lines))


def test_the_weights_of_the_lines_add_up_to_no_more_than_one():
    assert sum(1 / ((k + 1) * (k + 2)) for k in range(LINES)) <= 1


def test_totals_of_rare_events_with_changing_means_stay_within_the_bernstein_radius():
    """The mean of a round depends on the past, as an arm does; only the sum of the means is covered."""
    alpha, runs, T, rng = 0.1, 2000, 300, np.random.default_rng(2)
    x, means = np.zeros((runs, T)), np.zeros((runs, T))
    for t in range(T):
        means[:, t] = np.where(x[:, :t].sum(axis=1) > 0.1 * t, 0.05, 0.2)
        x[:, t] = rng.random(runs) < means[:, t]
    radius = bernstein_radius(x, 0.0, 1.0, alpha)
    outside = (np.abs(np.cumsum(x - means, axis=1)) > radius).any(axis=1).sum()
    assert binom.sf(outside - 1, runs, alpha) > 1e-6
    # The variance is about a third of the largest, 1/4, so the radius is below that of the range alone, R = 1/2.
    assert np.median(radius[:, -1]) < sub_gaussian_radius(np.array([float(T)]), 0.5, alpha)[0]
