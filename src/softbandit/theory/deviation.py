"""The law of an exploration's deviation from the posterior mean: in closed form, or by Monte Carlo with intervals."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend import POLICY, DrawCount, Draws, Floats, Ints, draw
from softbandit.gp import ArmPosterior, Features, checked_features, weight_space
from softbandit.model import VALID, ArmBelief, Exploration, explorations

USABLE = 1e-3  # a sampled p_3 below this counts as a failure: the bound would be a thousand times larger
ROUNDING = 1e-9  # equality counts as optimism
# The states that are tested: after each of these numbers of observations at random arms, ...
OBSERVATIONS = (0, 1, 4, 16, 64)
# ... and after T observations that are spread over each of these numbers of random arms.
LONG_RUN_ARMS = (1, 64)
BATCH = 1000  # samples at once


@dataclass(frozen=True, eq=False)
class Law:
    """Bounds on the distribution of one output's deviation (h_t - mu) / (beta_t sigma), negated for a cost."""

    anti: tuple[float, float]  # an interval that contains P(E_anti)
    reach: Callable[[float], float]  # p -> c with P(some arm deviates by more than c) <= p
    least: float  # the smallest p at which `reach` is finite; 0 if the deviation is bounded
    sure: bool  # the deviation is bounded: `reach` does not depend on p
    one_arm: bool = False  # `anti` holds only if pi* sits on one arm
    sampled: bool = False  # by Monte Carlo


@dataclass(frozen=True, eq=False)
class Trial:
    """The model in which an exploration is tested, and the settings of its Monte Carlo test."""

    features: Features
    regularisation: float
    bound: float  # B or G
    noise: float
    log_term: float  # ln((m + 1) / alpha)
    scale: float  # the factor on beta_t
    sign: float  # 1 for the reward, -1 for a cost
    target: Floats | None = None  # pi*: weights over the arms; None if unknown
    samples: int = 20_000
    seed: int = 0
    doubt: float = 0.01  # the probability that some Monte Carlo interval is wrong
    horizon: int = 10_000  # T, the longest run to which the test applies
    width: str = "theory"  # or "tight"

    def __post_init__(self) -> None:
        n = len(checked_features(self.features).diag)
        for name in ("regularisation", "bound", "log_term"):
            validation.store(self, **{name: validation.positive(name, getattr(self, name))})
        for name in ("noise", "scale"):
            validation.store(self, **{name: validation.nonnegative(name, getattr(self, name))})
        if self.target is not None:
            validation.store(self, target=validation.vector("target", self.target, n))
        validation.store(
            self,
            sign=math.copysign(1.0, validation.number("sign", self.sign)),
            samples=validation.whole("samples", self.samples, least=1, most=10**9),
            seed=validation.whole("seed", self.seed, least=0, most=2**64 - 1),
            doubt=validation.share("doubt", self.doubt, "It is the probability that the test is wrong."),
            horizon=validation.whole("horizon", self.horizon, least=1, most=2**53),
        )
        validation.named("width", self.width, VALID)

    def beta(self, gain: Floats) -> float:
        """Return the valid width after that gain, (1,)."""
        B, R, lam = np.array([[self.bound], [self.noise], [self.regularisation]])
        return float(VALID[self.width](B, R, lam, self.log_term)(1, gain)[0, 0])


def law(exploration: Exploration, trial: Trial) -> Law:
    """Return the law of an exploration's deviation: in closed form for the built-in ones, else by sampling."""
    exploration = explorations.as_exploration("exploration", exploration)
    validation.instance("trial", trial, Trial, "a Trial", "Build it with theory.Trial(...).")
    return closed_form(exploration, trial) or sampled_law(exploration, trial)


def closed_form(exploration: Exploration, trial: Trial) -> Law | None:
    """Return the law of a built-in exploration; None for others, and for subclasses, which may do anything."""
    source = exploration.distribution if type(exploration) is explorations.RandUCB else exploration
    scale = trial.scale
    threshold = 1 / scale if scale > 0 else math.inf  # the least Z with scale Z >= 1
    if type(source) is explorations.UCB:
        p = float(scale >= 1)
        return Law((p, p), lambda _: scale, 0.0, sure=True)
    if type(source) in (explorations.Gaussian, explorations.Thompson):
        per_arm = type(source) is explorations.Thompson  # else one Z_t for all arms, without a union bound
        n, p = len(trial.features.diag) if per_arm else 1, upper_tail(threshold)
        return Law((p, p), lambda q: scale * math.sqrt(2 * math.log(n / q)), 0.0, sure=False, one_arm=per_arm)
    support = _support(source)
    if support is None:
        return None
    points, probability = support
    p = float(probability[points >= threshold * (1 - ROUNDING)].sum())
    return Law((p, p), lambda _: scale * float(np.abs(points).max()), 0.0, sure=True)


def _support(source: object) -> tuple[Floats, Floats] | None:
    """Return the values of a discrete Z and their probabilities; None if Z is not known to be discrete."""
    if type(source) is explorations.Greedy:
        return np.zeros(1), np.ones(1)
    if type(source) is explorations.UniformDiscrete:
        return np.linspace(0, 2, source.points), np.full(source.points, 1 / source.points)
    return source.support() if type(source) is explorations.TruncatedGaussian else None


def upper_tail(z: float) -> float:
    """Return P(N(0, 1) >= z). (The laws use P(|N(0, 1)| > z) <= exp(-z^2 / 2), which can be inverted.)"""
    return 0.5 * math.erfc(z / math.sqrt(2))


def interval(hits: int, samples: int, failure: float) -> tuple[float, float]:
    """Return Clopper and Pearson's interval for a probability: wrong with at most the given probability.

    >>> round(interval(0, 100, 0.05)[1], 6), round(1 - 0.025 ** (1 / 100), 6)
    (0.036217, 0.036217)
    """
    from scipy.special import betaincinv

    low = float(betaincinv(hits, samples - hits + 1, failure / 2)) if hits else 0.0
    high = float(betaincinv(hits + 1, samples - hits, 1 - failure / 2)) if hits < samples else 1.0
    return low, high


def _upper_limits(samples: int, failure: float) -> Floats:
    """Return the upper end of `interval` for 0, 1, ..., samples - 1 hits."""
    from scipy.special import betaincinv

    hits = np.arange(samples)
    return np.asarray(betaincinv(hits + 1, samples - hits, 1 - failure / 2))


def sampled_law(exploration: Exploration, trial: Trial) -> Law:
    """Return the law that frequencies in a few states suggest: evidence, not proof, for other states."""
    tests = [sample(exploration, trial, state, i) for i, state in enumerate(states(trial))]
    samples = len(tests[0].deviation)
    failure = trial.doubt / (len(tests) * (2 + len(tests[0].single)))  # of one interval: a union bound over all
    upper_limits = _upper_limits(samples, failure)
    deviations = [np.sort(test.deviation)[::-1] for test in tests]

    def reach(p: float) -> float:
        allowed = int(np.sum(upper_limits <= p))  # one more than the samples that may deviate further
        return max(float(d[allowed - 1]) for d in deviations) if allowed else math.inf

    anti = interval(min(test.together for test in tests), samples, failure)
    one_arm = anti[1] <= USABLE and trial.target is None
    if one_arm:  # hardly ever optimistic at all arms together, but perhaps at each alone
        anti = interval(min(int(test.single.min()) for test in tests), samples, failure)
    return Law(anti, reach, float(upper_limits[0]), sure=False, one_arm=one_arm, sampled=True)


class _Test(NamedTuple):
    together: int  # samples that are optimistic at all arms of the target together
    single: Floats  # samples that are optimistic at each of those arms
    deviation: Floats  # (samples,): the largest over all arms


def sample(exploration: Exploration, trial: Trial, state: ArmPosterior, round: int) -> _Test:
    """Test an exploration in one state; `round` selects the random numbers."""
    n = len(trial.features.phi)
    samples = max(1000, min(trial.samples, 20_000_000 // n))
    beta = trial.beta(state.gain)
    sigma = np.sqrt(state.var[0])
    uncertain = sigma > 1e-9
    support = np.arange(n) if trial.target is None else np.flatnonzero(trial.target)
    together, single, deviations = 0, np.zeros(len(support)), []
    for first in range(0, samples, BATCH):
        excess = _excess(exploration, trial, state, beta, range(first, min(first + BATCH, samples)), round)
        optimistic = excess[:, support] >= beta * sigma[support] * (1 - ROUNDING)
        together += int(optimistic.all(axis=1).sum())
        single += optimistic.sum(axis=0)
        unbounded = (np.abs(excess[:, ~uncertain]) > 1e-9 * beta).any(axis=1)  # it deviates though sigma = 0
        largest = np.abs(excess[:, uncertain] / (beta * sigma[uncertain])).max(axis=1, initial=0.0)
        deviations.append(np.where(unbounded, np.inf, largest))
    return _Test(together, single, np.concatenate(deviations))


def _excess(exploration: Exploration, trial: Trial, state: ArmPosterior, beta: float, numbers: range, t: int) -> Floats:
    """Return h_t - mu over the arms, negated for a cost, in the samples of these numbers: (samples, n)."""
    b, (n, r) = len(numbers), trial.features.phi.shape
    normal, uniform = draw(DrawCount(*exploration.draws(r)), trial.seed, numbers, t, 1, POLICY)
    draws = Draws(normal[0][:, None, :], uniform[0][:, None, :])
    repeated = ArmPosterior(*(np.broadcast_to(leaf, (b, *np.shape(leaf)[1:])) for leaf in state))
    width = np.full((b, 1, 1), trial.sign * trial.scale * beta)
    h = exploration.estimate(ArmBelief(trial.features, repeated, slice(None)), width, draws)
    return np.asarray(trial.sign * (np.broadcast_to(h, (b, 1, n))[:, 0] - state.mu[0, 0]))


def states(trial: Trial) -> list[ArmPosterior]:
    """Return posteriors of one output after observations of a random function."""
    rng = np.random.default_rng(trial.seed)
    n = len(trial.features.diag)
    f = trial.features.phi @ rng.standard_normal(trial.features.rank)
    designs = [(arms, 1) for arms in OBSERVATIONS] + [(arms, max(1, trial.horizon // arms)) for arms in LONG_RUN_ARMS]
    return [_posterior(trial, f, rng, rng.integers(n, size=arms), times) for arms, times in designs]


def _posterior(trial: Trial, f: Floats, rng: np.random.Generator, arms: Ints, times: int) -> ArmPosterior:
    """Return the posterior after `times` observations at each arm, which equal one with less noise."""
    state = weight_space.prior(trial.features, outputs=1, trials=1)
    for arm in arms:
        y = np.array([[f[arm] + trial.noise / math.sqrt(times) * rng.standard_normal()]])
        state = weight_space.condition(trial.features, trial.regularisation / times, state, np.array([arm]), y)
    return state
