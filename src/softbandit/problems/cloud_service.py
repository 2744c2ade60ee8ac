"""Cloud configuration: how many replicas, how large, and how many requests each may take on at once.

A request needs `work` seconds of a core and `wait` seconds for others (a disk, a database). A
replica runs at most k requests at once on its c cores. With k in progress each has min(1, c / k)
of a core, so that it takes

    wait + work max(1, k / c)  seconds on average.

The slots of all replicas serve one line: an M/M/s queue with s = replicas x k servers of that mean
service time. That is the time in a full replica, which is the case that matters; with fewer in
progress, or some of them waiting for others, it would go faster. A line for each replica would be
slower than the one. A replica completes at most k / (wait + work) and at most c / work requests a
second, as it should: too few slots let requests queue while cores idle, too many slow all of them.
"""

import itertools
import math

import numpy as np

from softbandit import validation
from softbandit.backend.shapes import Floats
from softbandit.errors import ArgumentError, Description, InfeasibleError
from softbandit.gp.kernels import Matern
from softbandit.gp.pivoted_cholesky import features
from softbandit.problems.noise import ResampledNoise
from softbandit.problems.problem import Problem
from softbandit.problems.queueing import late_share
from softbandit.theory.assumptions import norm_on_arms
from softbandit.theory.optimum import largest_margin

REPLICAS = range(2, 10)
CORES = (1.0, 1.5, 2.0, 3.0)  # of each replica
CONCURRENCY = (2, 3, 4, 6, 8)  # requests in progress in each replica

REPLICA_PRICE, CORE_PRICE = 0.02, 0.05  # dollars an hour
PRICE_SWING = 0.02  # the market's price is uniform within this share of the usual one
WINDOWS = 500  # rows of the table of what may be seen
KERNEL = Matern(0.3, nu=1.5)  # the share bends where queues become unstable: in smoother kernels its norm is larger


def cloud_configurations() -> Floats:
    """The arms of `cloud` in their own units: replicas, cores of each, requests in progress in each.

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
    """f = -(dollars an hour),  g = P(a request takes over `limit` seconds) - `allowed`, on 160 configurations.

    `rate` requests arrive a second; `work` and `wait` are in seconds (see the module). The
    price is 0.02 a replica and 0.05 a core. Features are the logarithms of replicas, cores
    and concurrency, each scaled to [0, 1]; `cloud_configurations()` has them as they are.

    A round is a window: the share late among `requests` requests, far enough apart to be
    independent, and the window's price, within 2% of the usual one. The noise is a table of
    500 windows for each arm, made from `seed` and centred. A mean of N Bernoullis is
    1 / (2 sqrt(N))-sub-Gaussian; `noise` is that or, where larger, the scale of the table
    itself, prices included. The bounds are the norms of the functions.

    As it stands, 4 cores' worth of work arrives. The cheapest configuration drowns in it; the
    cheapest that is late for at most 5% has 5 replicas of 1.5 cores with 3 requests each, for
    0.475 dollars. The optimum costs 0.450: a quarter of the windows with 3 replicas of 2 cores
    and 6 requests (12.2% late), the others with 4 of 2 and 3 (2.6%).

    >>> problem = cloud()
    >>> problem.arms.shape, round(problem.slater, 3)
    ((160, 3), 0.043)
    """
    if not 0 < validation.number("allowed", allowed) < 1:
        raise ArgumentError.of("allowed", "a share between 0 and 1", allowed, "5% is 0.05.")
    N, seed = validation.whole("requests", requests, least=1, most=10**9), validation.whole("seed", seed, least=0)
    raw = cloud_configurations()
    price = raw[:, 0] * (REPLICA_PRICE + CORE_PRICE * raw[:, 1])
    late = _late(raw, rate, limit, work, wait)
    reward, cost = -price, late - allowed
    margin = largest_margin(cost).margin
    if margin <= 0:
        got, remedy = Description(f"{late.min():.3g} at best"), "Lower the rate or the work, or raise the limit."
        raise InfeasibleError.of("cloud", f"a configuration that is late for less than {allowed:g}", got, remedy)
    arms, law = _scaled(raw), _windows(price, late, N, seed)
    space = features(KERNEL, arms)
    return Problem(
        arms=arms,
        kernel=KERNEL,
        reward=reward,
        cost=cost,
        noise=max(1 / (2 * math.sqrt(N)), law.sub_gaussian()),
        reward_bound=norm_on_arms(space, reward)[0],
        cost_bound=norm_on_arms(space, cost)[0],
        slater=margin,
        name=f"cloud({rate:g} requests/s, limit {limit:g} s)",
        law=law,
        source="simulated: M/M/s queue",
    )


def _late(raw: Floats, rate: float, limit: float, work: float, wait: float) -> Floats:
    """The share of requests over the limit in each configuration."""
    work, wait = validation.positive("work", work), validation.nonnegative("wait", wait)
    shares = []
    for replicas, cores, concurrency in raw.tolist():
        service = wait + work * max(1.0, concurrency / cores)
        shares.append(late_share(limit, int(replicas * concurrency), rate, service))
    return np.array(shares)


def _scaled(raw: Floats) -> Floats:
    logs = np.log(raw)
    low, high = logs.min(axis=0), logs.max(axis=0)
    return np.asarray((logs - low) / (high - low))


def _windows(price: Floats, late: Floats, requests: int, seed: int) -> ResampledNoise:
    """What is seen of (-price, share late), less its mean, in `WINDOWS` windows."""
    rng = np.random.default_rng(seed)
    swing = rng.uniform(-PRICE_SWING, PRICE_SWING, (WINDOWS, 1))
    share = rng.binomial(requests, late, (WINDOWS, len(late))) / requests
    seen = np.stack([-price * (1 + swing), share], axis=2)
    return ResampledNoise(seen - seen.mean(axis=0))
