"""Exploration strategies: the paper's A_f and A_g, posterior -> estimate over the arms.

An exploration is any object with two methods (the protocol `Exploration`):

    draws(rank)                      the random numbers that it needs per output
    estimate(belief, width, draws)   the function h_t over the arms

Both must be pure functions: an engine may compile them.

`width` is signed, +beta_t for the reward and -beta_t for a cost, so that one formula is
optimistic for both: up for reward, down for cost. Shapes broadcast over
(trials, outputs, arms): `belief.mean` is (b, k, n), `belief.std` (b, 1, n), `width`
(b, k, 1), and `draws.normal`, `draws.uniform` are (b, k, count).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from softbandit import validation
from softbandit.backend import DrawCount, Draws, Floats, OutputsPerArm, namespace
from softbandit.errors import ArgumentError
from softbandit.model.beliefs import Belief

MOST_POINTS = 10**6  # of a discrete distribution
MOST_WIDTHS = 1e6  # that a truncated distribution reaches


@runtime_checkable
class Exploration(Protocol):
    """A rule that turns the posterior into an estimate h_t.

    A new one takes a few lines. This one is optimistic in half of the rounds:

    >>> class Coin:
    ...     def draws(self, rank):
    ...         return DrawCount(uniform=1)
    ...     def estimate(self, belief, width, draws):
    ...         return belief.mean + width * (draws.uniform < 0.5) * belief.std
    >>> isinstance(Coin(), Exploration)
    True
    """

    def draws(self, rank: int) -> DrawCount:
        """Return the random numbers needed per output and round; `rank` is the posterior's."""

    def estimate(self, belief: Belief, width: Floats, draws: Draws) -> OutputsPerArm:
        """Return h_t over the arms: (trials, outputs, arms)."""


@dataclass(frozen=True)
class UCB:
    """h_t = mu + beta sigma.    Definition 3.2 (GP-UCB)"""

    pointwise: ClassVar[bool] = True  # it uses the belief's mean and std alone

    def draws(self, rank: int) -> DrawCount:
        return DrawCount()

    def estimate(self, belief: Belief, width: Floats, draws: Draws) -> OutputsPerArm:
        return belief.mean + width * belief.std


@dataclass(frozen=True)
class Thompson:
    """h_t ~ GP(mu, beta^2 k_t), independent between outputs.    Definition 3.2 (GP-TS)"""

    weights_only: ClassVar[bool] = True  # it only samples the belief

    def draws(self, rank: int) -> DrawCount:
        return DrawCount(normal=rank)

    def estimate(self, belief: Belief, width: Floats, draws: Draws) -> OutputsPerArm:
        return belief.sample(width * draws.normal)


@dataclass(frozen=True)
class Greedy:
    """h_t = mu: no exploration, and no guarantee."""

    pointwise: ClassVar[bool] = True  # it uses the belief's mean and std alone

    def draws(self, rank: int) -> DrawCount:
        return DrawCount()

    def estimate(self, belief: Belief, width: Floats, draws: Draws) -> OutputsPerArm:
        return belief.mean


@runtime_checkable
class Distribution(Protocol):
    """The law of Z_t / beta_t, for RandUCB."""

    def draws(self) -> DrawCount:
        """Return the random numbers needed per Z."""

    def sample(self, draws: Draws) -> Floats:
        """Return Z / beta: (trials, outputs, 1)."""


@dataclass(frozen=True)
class Gaussian:
    """Z ~ N(0, beta^2).    Corollary 3.10"""

    def draws(self) -> DrawCount:
        return DrawCount(normal=1)

    def sample(self, draws: Draws) -> Floats:
        return draws.normal


@dataclass(frozen=True)
class UniformDiscrete:
    """Z uniform on N equally spaced points of [0, 2 beta].    Appendix A"""

    points: int = 20

    def __post_init__(self) -> None:
        validation.store(self, points=validation.whole("points", self.points, least=2, most=MOST_POINTS))

    def draws(self) -> DrawCount:
        return DrawCount(uniform=1)

    def sample(self, draws: Draws) -> Floats:
        xp = namespace(draws.uniform)
        return xp.floor(draws.uniform * self.points) * (2 / (self.points - 1))


@dataclass(frozen=True)
class TruncatedGaussian:
    """Z on N equally spaced points a of [L beta, U beta], with P(a) ~ exp(-a^2 / 2 beta^2).    Appendix A

    The guarantee needs P(Z >= beta) > 0, hence upper >= 1.
    """

    lower: float = 0.0
    upper: float = 2.0
    points: int = 20

    def __post_init__(self) -> None:
        validation.store(self, points=validation.whole("points", self.points, least=2, most=MOST_POINTS))
        lower, upper = validation.number("lower", self.lower), validation.number("upper", self.upper)
        if not -MOST_WIDTHS <= lower < upper <= MOST_WIDTHS:
            remedy = "Pass lower < upper, in multiples of the width."
            expected = f"lower < upper, both at most {MOST_WIDTHS:g} in size"
            raise ArgumentError.of("lower, upper", expected, (lower, upper), remedy)
        validation.store(self, lower=lower, upper=upper)

    def support(self) -> tuple[Floats, Floats]:
        """Return the points a / beta, and their probabilities."""
        a = np.linspace(self.lower, self.upper, self.points)
        p = np.exp(-0.5 * (a * a - np.min(a * a)))
        return a, p / p.sum()

    def draws(self) -> DrawCount:
        return DrawCount(uniform=1)

    def sample(self, draws: Draws) -> Floats:
        xp, kind = namespace(draws.uniform), draws.uniform.dtype
        _, p = self.support()
        steps = xp.asarray(np.cumsum(p)[:-1], dtype=kind)
        number = xp.searchsorted(steps, draws.uniform, side="right").astype(kind)
        a = self.lower + number * ((self.upper - self.lower) / (self.points - 1))
        return xp.where(number == self.points - 1, self.upper, a)


@dataclass(frozen=True)
class RandUCB:
    """h_t = mu + Z_t sigma, one Z_t for all arms.    Definition 3.9 (RandGP-UCB)

    Z_t is independent between outputs and rounds.
    """

    pointwise: ClassVar[bool] = True  # it uses the belief's mean and std alone

    distribution: Distribution = Gaussian()

    def __post_init__(self) -> None:
        if not isinstance(self.distribution, Distribution):
            expected = "an object with draws() and sample(draws)"
            raise ArgumentError.of("distribution", expected, self.distribution, "For example sb.Gaussian().")

    def draws(self, rank: int) -> DrawCount:
        return self.distribution.draws()

    def estimate(self, belief: Belief, width: Floats, draws: Draws) -> OutputsPerArm:
        return belief.mean + width * self.distribution.sample(draws) * belief.std


NAMES: dict[str, Callable[[], Exploration]] = {"ucb": UCB, "ts": Thompson, "rand": RandUCB, "greedy": Greedy}


def as_exploration(what: str, value: str | Exploration) -> Exploration:
    """Return the exploration of that name, or the object itself."""
    if isinstance(value, type) and hasattr(value, "estimate"):
        raise ArgumentError.of(what, "an exploration", value, f"Write {value.__name__}(), with its settings.")
    if isinstance(value, Exploration):
        return value
    return validation.named(what, value, NAMES)()
