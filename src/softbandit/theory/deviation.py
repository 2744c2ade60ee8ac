"""The deviation of an exploration's estimate from the posterior mean: what the theory needs to know about it."""

from collections.abc import Callable
from dataclasses import dataclass

from softbandit.backend.shapes import Floats
from softbandit.gp.pivoted_cholesky import Features

USABLE = 1e-3  # a sampled p_3 below this counts as a failure: the bound would be a thousand times larger
ROUNDING = 1e-9  # equality counts as optimism


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
