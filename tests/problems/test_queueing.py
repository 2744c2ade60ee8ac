"""The formulas of the M/M/s queue against sums, integrals and a simulation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import softbandit as sb
from softbandit.problems.queueing import erlang_c, late_share


def erlang_c_by_summation(s, a):
    """C = w / (sum_{k < s} a^k / k! + w),  w = a^s / s! . s / (s - a): from the stationary distribution."""
    w = a**s / math.factorial(s) * s / (s - a)
    return w / (sum(a**k / math.factorial(k) for k in range(s)) + w)


@pytest.mark.parametrize("s", range(1, 13))
@pytest.mark.parametrize("load", [Fraction(1, 100), Fraction(1, 2), Fraction(9, 10), Fraction(999, 1000)])
def test_erlang_c_matches_the_sum_in_exact_fractions(s, load):
    exact = erlang_c_by_summation(s, load * s)
    # Each of s steps rounds a few times, and the errors are divided by 1 - rho.
    assert erlang_c(s, float(load * s)) == pytest.approx(float(exact), rel=1e-15 * (5 + 3 * s) / float(1 - load))


@pytest.mark.parametrize(("s", "load"), [(300, 290.0), (5_000, 4_900.0), (5_000, 100.0)])
@pytest.mark.extra
def test_erlang_c_of_thousands_of_servers_matches_the_sum_in_60_digits(s, load):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        a = mpmath.mpf(load)
        tail = a**s / mpmath.factorial(s) * s / (s - a)
        exact = tail / (mpmath.fsum(a**k / mpmath.factorial(k) for k in range(s)) + tail)
        assert erlang_c(s, load) == pytest.approx(float(exact), rel=1e-9, abs=1e-300)


def test_erlang_c_of_one_server_is_its_load():
    assert erlang_c(1, 0.3) == pytest.approx(0.3, rel=1e-14)


@pytest.mark.parametrize("t", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("rate", [0.01, 0.5, 0.99])
def test_the_late_share_of_one_server_is_exponential(t, rate):
    assert late_share(t, 1, rate, 1.0) == pytest.approx(math.exp(-(1 - rate) * t), rel=1e-12)


def late_share_by_integration(t, s, rate, mu):
    """Sum of P(n) P(W > t | n) over the number n in the queue at an arrival: stationary, as arrivals are Poisson.

    If n < s it is served at once. Otherwise n - s + 1 others must finish first, at rate s mu: a
    gamma-distributed time, integrated by Gauss-Legendre quadrature. Then follows the service.
    """
    a, rho = rate / mu, rate / (s * mu)
    last = s + math.ceil(math.log(1e-14) / math.log(rho))
    weight = np.array(
        [a**n / math.factorial(n) if n < s else a**s / math.factorial(s) * rho ** (n - s) for n in range(last)]
    )
    p = weight / weight.sum()
    nodes, weights = np.polynomial.legendre.leggauss(200)
    w = t * (nodes + 1) / 2  # in [0, t]
    late = p[:s].sum() * math.exp(-mu * t)
    for n in range(s, last):
        wait = stats.gamma(n - s + 1, scale=1 / (s * mu))
        late += p[n] * (wait.sf(t) + t / 2 * (weights * wait.pdf(w) * np.exp(-mu * (t - w))).sum())
    return late


@pytest.mark.parametrize(
    ("t", "s", "rate", "mu"),
    [
        (0.4, 3, 20.0, 10.0),  # theta = mu: the formula's removable singularity
        (0.4, 3, 20.0 + 1e-7, 10.0),
        (0.4, 4, 30.0, 8.0),  # theta < mu
        (0.4, 12, 30.0, 8.0),  # theta > mu
        (3.0, 2, 1.8, 1.0),
        (0.1, 5, 1.0, 1.0),
    ],
)
def test_the_late_share_matches_integration_over_the_queue_length(t, s, rate, mu):
    # The sum leaves out 1e-14 of the states; the integrand is smooth over [0, t].
    assert late_share(t, s, rate, 1 / mu) == pytest.approx(late_share_by_integration(t, s, rate, mu), rel=1e-9)


def simulate_queue(s, rate, mu, replications=1500, warm=300, counted=150):
    """Return times in the system, (replications, counted). Each customer takes the server that is free first."""
    rng = np.random.default_rng(0)
    rows = np.arange(replications)
    free, now, times = np.zeros((replications, s)), np.zeros(replications), []
    for _ in range(warm + counted):
        now = now + rng.exponential(1 / rate, replications)
        server = free.argmin(axis=1)
        free[rows, server] = np.maximum(now, free[rows, server]) + rng.exponential(1 / mu, replications)
        times.append(free[rows, server] - now)
    return np.stack(times[warm:], axis=1)


@pytest.mark.parametrize(("s", "rate", "mu"), [(1, 0.7, 1.0), (3, 2.4, 1.0), (8, 5.0, 1.0)])
def test_the_late_share_matches_a_simulated_queue(s, rate, mu):
    """Replications are independent, so the standard error is known. 300 customers are enough to reach stationarity."""
    times = simulate_queue(s, rate, mu)
    for t in (0.5, 2.0, 5.0):
        share = (times > t).mean(axis=1)
        error = share.std() / math.sqrt(len(share))
        assert abs(share.mean() - late_share(t, s, rate, 1 / mu)) < 4 * error


def test_an_unstable_queue_is_always_late():
    assert late_share(1e6, 4, 4.0, 1.0) == 1.0
    assert erlang_c(4, 4.0) == 1.0
    assert late_share(1.0, 4, 3.999999, 1.0) == pytest.approx(1.0, abs=1e-4)


def test_the_late_share_is_in_0_1_and_falls_with_servers_and_limit():
    shares = np.array([[late_share(t, s, 7.0, 0.5) for s in range(1, 60)] for t in (1e-9, 0.1, 1.0, 10.0, 1e4)])
    assert ((shares >= 0) & (shares <= 1)).all()
    assert (np.diff(shares, axis=0) <= 0).all()
    assert (np.diff(shares, axis=1) <= 1e-15).all()
    # With very many servers there is no line, only the service.
    assert late_share(1.0, 2_000, 7.0, 0.5) == pytest.approx(math.exp(-2), rel=1e-14)


@pytest.mark.parametrize(
    "bad", [(0.0, 1, 1.0, 1.0), (1.0, 0, 1.0, 1.0), (1.0, 1.5, 1.0, 1.0), (1.0, 1, -1.0, 1.0), (1.0, 1, 1.0, math.nan)]
)
def test_invalid_arguments_of_late_share_are_refused(bad):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        late_share(*bad)
