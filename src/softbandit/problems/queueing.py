"""The M/M/s queue: Poisson arrivals, s servers with exponential service times, one line, first come first served."""

import math

from softbandit import validation


def erlang_c(s: int, a: float) -> float:
    """Return C(s, a) = s B / (s - a (1 - B)), the share of arrivals that find all s servers busy.

    a = lambda / mu is the load, and B = B_s the Erlang B formula: B_0 = 1, B_n = a B_{n-1} / (n + a B_{n-1}).
    The recursion has no powers or factorials and every term is in [0, 1], so s can be large.
    For a >= s the queue grows without bound, and C = 1.

    >>> round(erlang_c(2, 1.0), 12)
    0.333333333333
    """
    if a >= s:
        return 1.0
    B = 1.0
    for n in range(1, s + 1):
        B = a * B / (n + a * B)
    return s * B / (s - a * (1 - B))


def late_share(limit: float, servers: int, rate: float, service: float) -> float:
    """Return P(W > t) = e^(-mu t) + C mu e^(-min(mu, theta) t) (1 - e^(-d t)) / d, the share of late requests.

    theta = s mu - lambda and d = |theta - mu|. W, the time from arrival to departure, is the time in
    line plus the service time. The time in line is 0 with probability 1 - C, and Exp(theta) otherwise;
    the service time is Exp(mu). `rate` is lambda, `service` is 1 / mu, and `limit` is t. If theta <= 0
    the queue is unstable, and everyone is late.

    >>> round(late_share(3.0, servers=1, rate=0.5, service=1.0), 12), round(math.exp(-(1 - 0.5) * 3.0), 12)
    (0.223130160148, 0.223130160148)
    """
    t, s = validation.above_zero("limit", limit), validation.whole("servers", servers, least=1)
    lam, mu = validation.above_zero("rate", rate), 1 / validation.above_zero("service", service)
    theta = s * mu - lam
    if theta <= 0:
        return 1.0
    d = abs(theta - mu)
    both = mu * math.exp(-min(mu, theta) * t) * (-math.expm1(-d * t) / d if d else t)
    return min(1.0, math.exp(-mu * t) + erlang_c(s, lam / mu) * both)
