"""The M/M/s queue: Poisson arrivals, s servers with exponential service times, one line, first come first served."""

import math

from softbandit import validation


def erlang_c(servers: int, load: float) -> float:
    """C(s, a) = s B / (s - a (1 - B)): the share of arrivals that find all s servers busy, at a load a = lambda / mu.

    B = B_s is Erlang's other formula, by B_0 = 1, B_n = a B_{n-1} / (n + a B_{n-1}): no powers or factorials, every
    term in [0, 1], so any s will do. At a >= s the queue grows without end and everybody waits.

    >>> round(erlang_c(2, 1.0), 12)
    0.333333333333
    """
    s, a = validation.whole("servers", servers, least=1), validation.positive("load", load)
    if a >= s:
        return 1.0
    B = 1.0
    for n in range(1, s + 1):
        B = a * B / (n + a * B)
    return s * B / (s - a * (1 - B))


def late_share(limit: float, servers: int, rate: float, service: float) -> float:
    """P(W > t) = e^(-mu t) + C mu e^(-min(mu, theta) t) (1 - e^(-d t)) / d,  theta = s mu - lambda,  d = |theta - mu|.

    W, the time from arrival to departure, is the time in line plus the service: the line takes
    no time with probability 1 - C, and otherwise Exp(theta); the service takes Exp(mu).
    `rate` is lambda, `service` the mean 1 / mu, `limit` t. Where theta <= 0 no one is ever on time.

    >>> round(late_share(3.0, servers=1, rate=0.5, service=1.0), 12), round(math.exp(-(1 - 0.5) * 3.0), 12)
    (0.223130160148, 0.223130160148)
    """
    t, s = validation.positive("limit", limit), validation.whole("servers", servers, least=1)
    lam, mu = validation.positive("rate", rate), 1 / validation.positive("service", service)
    theta = s * mu - lam
    if theta <= 0:
        return 1.0
    d = abs(theta - mu)
    both = mu * math.exp(-min(mu, theta) * t) * (-math.expm1(-d * t) / d if d else t)
    return min(1.0, math.exp(-mu * t) + erlang_c(s, lam / mu) * both)
