"""The law of an exploration that nobody has worked out: by Monte Carlo, with confidence intervals."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softbandit.backend.random import POLICY, DrawCount, Draws, draw
from softbandit.backend.shapes import Floats
from softbandit.gp import weight_space
from softbandit.model.beliefs import ArmBelief
from softbandit.model.explorations import Exploration
from softbandit.theory.deviation import ROUNDING, USABLE, Law, Trial

LOOKS = (0, 1, 4, 16, 64)  # states at which it is sampled: after so many random looks, and after T looks
SPREAD = 64  # at so many random arms, or at one


def interval(hits: int, samples: int, doubt: float) -> tuple[float, float]:
    """Clopper and Pearson's interval for a probability: wrong with at most that probability.

    >>> round(interval(0, 100, 0.05)[1], 6), round(1 - 0.025 ** (1 / 100), 6)
    (0.036217, 0.036217)
    """
    from scipy.special import betaincinv

    low = float(betaincinv(hits, samples - hits + 1, doubt / 2)) if hits else 0.0
    high = float(betaincinv(hits + 1, samples - hits, 1 - doubt / 2)) if hits < samples else 1.0
    return low, high


def _upper_limits(samples: int, doubt: float) -> Floats:
    """The upper end of `interval` for 0, 1, ..., samples - 1 hits."""
    from scipy.special import betaincinv

    hits = np.arange(samples)
    return np.asarray(betaincinv(hits + 1, samples - hits, 1 - doubt / 2))


def sampled_law(exploration: Exploration, trial: Trial) -> Law:
    """Frequencies at a few states: evidence, not proof, for the states in between."""
    tests = [sample(exploration, trial, state, i) for i, state in enumerate(states(trial))]
    samples = len(tests[0].deviation)
    doubt = trial.doubt / (len(tests) * (2 + len(tests[0].single)))  # every interval may be wrong
    most = _upper_limits(samples, doubt)
    deviations = [np.sort(test.deviation)[::-1] for test in tests]

    def reach(p: float) -> float:
        allowed = int(np.sum(most <= p))  # so many samples may lie beyond, less one
        return max(float(d[allowed - 1]) for d in deviations) if allowed else math.inf

    anti = interval(min(test.together for test in tests), samples, doubt)
    one_arm = anti[1] <= USABLE and trial.target is None
    if one_arm:  # not optimistic at all arms at once, but perhaps at each
        anti = interval(min(int(test.single.min()) for test in tests), samples, doubt)
    return Law(anti, reach, float(most[0]), sure=False, one_arm=one_arm, sampled=True)


class _Test(NamedTuple):
    together: int  # how often the estimate was optimistic at all arms of the target at once
    single: Floats  # and at each of them
    deviation: Floats  # (samples,): the largest over all arms


def sample(exploration: Exploration, trial: Trial, state: weight_space.ArmPosterior, number: int) -> _Test:
    """Test an exploration in one state."""
    n = len(trial.features.phi)
    samples = max(1000, min(trial.samples, 20_000_000 // n))
    beta = trial.bound + trial.noise * math.sqrt(2 * (float(state.gain[0]) + 1 + trial.log_term))
    sigma = np.sqrt(state.var[0])
    seen = sigma > 1e-9
    support = np.arange(n) if trial.target is None else np.flatnonzero(trial.target)
    together, single, deviations = 0, np.zeros(len(support)), []
    for first in range(0, samples, 1000):
        rise = _rises(exploration, trial, state, beta, range(first, min(first + 1000, samples)), number)
        optimistic = rise[:, support] >= beta * sigma[support] * (1 - ROUNDING)
        together += int(optimistic.all(axis=1).sum())
        single += optimistic.sum(axis=0)
        strays = (np.abs(rise[:, ~seen]) > 1e-9 * beta).any(axis=1)  # where nothing is uncertain
        furthest = np.abs(rise[:, seen] / (beta * sigma[seen])).max(axis=1, initial=0.0)
        deviations.append(np.where(strays, np.inf, furthest))
    return _Test(together, single, np.concatenate(deviations))


def _rises(
    exploration: Exploration, trial: Trial, state: weight_space.ArmPosterior, beta: float, numbers: range, number: int
) -> Floats:
    """h_t - mu over the arms, upside down for a cost: (samples, n)."""
    b, (n, r) = len(numbers), trial.features.phi.shape
    draws = draw(DrawCount(*exploration.draws(r)), trial.seed, numbers, number, 1, POLICY)
    own = Draws(draws.normal[0][:, None, :], draws.uniform[0][:, None, :])
    wide = weight_space.ArmPosterior(*(np.broadcast_to(leaf, (b, *leaf.shape[1:])) for leaf in state))
    width = np.full((b, 1, 1), trial.sign * trial.scale * beta)
    h = exploration.estimate(ArmBelief(trial.features, wide, slice(None)), width, own)
    return np.asarray(trial.sign * (np.broadcast_to(h, (b, 1, n))[:, 0] - state.mu[0, 0]))


def states(trial: Trial) -> list[weight_space.ArmPosterior]:
    """Posteriors of one output after looks at a random function."""
    rng = np.random.default_rng(trial.seed)
    n, T = len(trial.features.diag), trial.horizon
    f = trial.features.phi @ rng.standard_normal(trial.features.rank)
    found = [_after(trial, f, rng, rng.integers(n, size=looks), 1) for looks in LOOKS]
    for arms in (1, SPREAD):
        found.append(_after(trial, f, rng, rng.integers(n, size=arms), max(1, T // arms)))
    return found


def _after(
    trial: Trial, f: Floats, rng: np.random.Generator, arms: NDArray[np.int64], times: int
) -> weight_space.ArmPosterior:
    """After looking at each of the arms so many times: as one look with less noise."""
    state = weight_space.prior(trial.features, outputs=1, trials=1)
    for arm in arms:
        y = np.array([[f[arm] + trial.noise / math.sqrt(times) * rng.standard_normal()]])
        state = weight_space.condition(trial.features, trial.regularisation / times, state, np.array([arm]), y)
    return state
