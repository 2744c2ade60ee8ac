"""Cloud configuration: the number of replicas, their size, and the number of requests that each runs at once.

A request needs `work` seconds of a core and `wait` seconds of something else (a disk, a database).
If a replica runs k requests on its c cores, each gets min(1, c / k) of a core, so that it takes

    wait + work max(1, k / c)  seconds on average.

The slots of all replicas serve one line: an M/M/s queue with s = replicas x k servers of that mean
service time. With too few slots requests queue while cores are idle, and with too many all of them
are slow.
"""

import itertools
import math

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.errors import Description, InfeasibleError
from softbandit.gp import Matern, features
from softbandit.problems.noise import ResampledNoise
from softbandit.problems.problem import Problem
from softbandit.problems.queueing import late_share
from softbandit.theory import largest_margin, norm_on_arms

REPLICAS = range(2, 10)
CORES = (1.0, 1.5, 2.0, 3.0)  # per replica
CONCURRENCY = (2, 3, 4, 6, 8)  # requests in progress per replica
REPLICA_PRICE, CORE_PRICE = 0.02, 0.05  # dollars per hour
PRICE_SWING = 0.02  # relative: the market's price is uniform within it of the usual one
WINDOWS = 500  # rows of the noise table
KERNEL = Matern(0.3, nu=1.5)  # in smoother kernels the norm is larger: the share has kinks where queues become unstable


def cloud_configurations() -> Floats:
    """Return the arms of `cloud` in their original units: replicas, cores and requests in progress per replica.

    >>> cloud_configurations()[:3]
    array([[2., 1., 2.],
           [2., 1., 3.],
           [2., 1., 4.]])
    """
    return np.array(list(itertools.product(REPLICAS, CORES, CONCURRENCY)), dtype=np.float64)


def cloud(
    rate: float = 100.0,
    limit: float = 0.4,
    allowed: float = 0.05,
    requests: int = 500,
    seed: int = 0,
    work: float = 0.04,
    wait: float = 0.04,
) -> Problem:
    """f = -(dollars per hour),  g = P(a request takes over `limit` seconds) - `allowed`, on 160 configurations.

    `rate` requests arrive per second; `work` and `wait` are in seconds (see the module). The
    price is 0.02 per replica and 0.05 per core. Features are the logarithms of replicas, cores
    and concurrency, each scaled to [0, 1]; `cloud_configurations()` returns them unscaled.

    A round is a window of time. It shows the share of late requests among `requests` independent
    ones, and the window's price, within 2% of the usual one. The noise is a centred table of 500
    windows per arm, drawn with `seed`. A mean of N Bernoulli variables is 1 / (2 sqrt(N))-sub-Gaussian;
    `noise` is the larger of that and the scale of the table. The bounds are the norms of the functions.

    With the defaults the best single configuration costs 0.475, and the optimal mixture of two 0.450.

    >>> problem = cloud()
    >>> problem.arms.shape, round(problem.slater, 3)
    ((160, 3), 0.043)
    """
    allowed = validation.share("allowed", allowed, "5% is 0.05.")
    rate, limit = validation.above_zero("rate", rate), validation.above_zero("limit", limit)
    N, seed = validation.whole("requests", requests, least=1, most=10**9), validation.seed(seed)
    raw = cloud_configurations()
    price = raw[:, 0] * (REPLICA_PRICE + CORE_PRICE * raw[:, 1])
    late = _late_shares(raw, rate, limit, work, wait)
    reward, cost = -price, late - allowed
    margin = largest_margin(cost).margin
    if margin <= 0:
        got, remedy = Description(f"{late.min():.3g} at best"), "Lower the rate or the work, or raise the limit."
        raise InfeasibleError.of("cloud", f"a configuration that is late for less than {allowed:g}", got, remedy)
    logs, law = np.log(raw), _window_noise(price, late, N, seed)
    arms = (logs - logs.min(axis=0)) / np.ptp(logs, axis=0)
    phi = features(KERNEL, arms)
    B, G = (norm_on_arms(phi, values)[0] for values in (reward, cost))
    noise = max(1 / (2 * math.sqrt(N)), law.sub_gaussian())
    name, source = f"cloud({rate:g} requests/s, limit {limit:g} s)", "simulated: M/M/s queue"
    return Problem(arms, KERNEL, reward, cost, noise, B, G, margin, name, law=law, source=source)


def _late_shares(raw: Floats, rate: float, limit: float, work: float, wait: float) -> Floats:
    """Return the share of requests over the limit in each configuration."""
    work, wait = validation.above_zero("work", work), validation.nonnegative("wait", wait)
    queues = [(int(n * k), wait + work * max(1.0, k / c)) for n, c, k in raw.tolist()]
    return np.array([late_share(limit, slots, rate, service) for slots, service in queues])


def _window_noise(price: Floats, late: Floats, requests: int, seed: int) -> ResampledNoise:
    """Draw observations of (-price, share late) in `WINDOWS` windows, and subtract their means."""
    rng = np.random.default_rng(seed)
    swing = rng.uniform(-PRICE_SWING, PRICE_SWING, (WINDOWS, 1))
    share = rng.binomial(requests, late, (WINDOWS, len(late))) / requests
    observed = np.stack([-price * (1 + swing), share], axis=2)
    return ResampledNoise(observed - observed.mean(axis=0))
