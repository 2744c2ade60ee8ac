"""Power control: the choice of transmission power in each slot, under a budget of average power.

The channel's power gain is exponential (Rayleigh fading). At the start of a slot the radio knows
which of several equally likely states it is in.
"""

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.gp import Matern, features
from softbandit.problems.noise import Noise, as_noise
from softbandit.problems.problem import Problem
from softbandit.theory import norm_on_arms

KERNEL = Matern(0.5, nu=1.5)
MOST_ARMS = 10**6


def channel_gains(states: int, snr: float) -> Floats:
    """Return the mean gain in each of K equally likely slices of h, exponential with mean `snr`, in ascending order.

    That is K E[h; h in slice i]. With v = P(h > x), E[h; h > x] = snr v (1 - ln v).

    >>> channel_gains(2, snr=1.0).round(3)
    array([0.307, 1.693])
    """
    K, mean = validation.whole("states", states, least=1, most=MOST_ARMS), validation.positive("snr", snr)
    v = np.linspace(1, 0, K + 1)[:-1]
    tail_means = np.append(v * (1 - np.log(v)), 0.0)
    return np.asarray(-mean * K * np.diff(tail_means))


def wireless(
    states: int = 8,
    levels: int = 21,
    snr: float = 5.0,
    budget: float = 0.3,
    noise: float = 0.05,
    law: Noise | str = "gaussian",
) -> Problem:
    """f = log2(1 + h p) bits per second and hertz,  g = p - `budget`, at power p in a slot with channel gain h.

    Powers are in watts: `levels` of them, evenly spaced from 0 to 1. A slot is the unit of time,
    so p is also its energy. Gains are signal-to-noise ratios per watt, `snr` on average, in
    `states` states (`channel_gains`). A state is a context: each round offers one, drawn
    uniformly, with all powers. Arms are (state, power), the states ranked and scaled to [0, 1].

    Throughput and energy are observed with noise of the `law` and scale `noise`: fading within
    the slot, and the error of the meter. The bounds are the norms of the functions. A silent
    radio saves the whole budget, so that is Slater's margin.

    With any power allowed, the optimum is water-filling: p(h) = w - 1 / h, clipped to [0, 1], with
    w such that the budget is spent. With the defaults that gives 1.285 bits, and the grid 1.2846.

    >>> problem = wireless()
    >>> problem.arms.shape, problem.slater
    ((168, 2), 0.3)
    """
    remedy = "The largest power is 1: a larger budget would not constrain anything."
    budget = validation.share("budget", budget, remedy)
    h = channel_gains(states, snr)
    p = np.linspace(0, 1, validation.whole("levels", levels, least=2, most=MOST_ARMS // len(h)))
    noise_law = as_noise("law", law)
    state, level = np.divmod(np.arange(len(h) * len(p)), len(p))
    arms = np.stack([np.linspace(0, 1, len(h))[state], p[level]], axis=1)
    reward, cost = np.log2(1 + h[state] * p[level]), p[level] - budget
    phi = features(KERNEL, arms)
    B, G = (norm_on_arms(phi, values)[0] for values in (reward, cost))
    name, source = f"wireless({len(h)} states, budget {budget:g})", "simulated: Rayleigh fading"
    return Problem(arms, KERNEL, reward, cost, noise, B, G, budget, name, contexts=state, law=noise_law, source=source)
