"""What an exploration's estimate does around the posterior mean, as far as the theory asks."""

from collections.abc import Callable
from dataclasses import dataclass

from softbandit.backend.shapes import Floats
from softbandit.gp.pivoted_cholesky import Features

USABLE = 1e-3  # a Monte Carlo estimate of p_3 below this decides against: the bound would be a thousand times larger
ROUNDING = 1e-9  # equality is optimism


@dataclass(frozen=True, eq=False)
class Law:
    """What is known of one output's deviation (h_t - mu) / (beta_t sigma), upside down for a cost."""

    anti: tuple[float, float]  # P(E_anti) lies between these
    reach: Callable[[float], float]  # p -> c with P(some arm deviates by more than c) <= p
    least: float  # the smallest p for which `reach` can say anything; 0 where it holds surely
    sure: bool  # the deviation is bounded: `reach` does not depend on p
    one_arm: bool = False  # `anti` holds only where pi* sits on one arm
    sampled: bool = False  # by Monte Carlo


@dataclass(frozen=True, eq=False)
class Trial:
    """Where an exploration is put to the test: the model it works in, and how it is sampled."""

    features: Features
    regularisation: float
    bound: float  # B or G
    noise: float
    log_term: float  # ln((m + 1) / alpha)
    scale: float  # the factor on beta_t
    sign: float  # 1 for the reward, -1 for a cost
    target: Floats | None = None  # pi*: weights over the arms; None where it is not known
    samples: int = 20_000
    seed: int = 0
    doubt: float = 0.01  # with which a Monte Carlo interval may be wrong
    horizon: int = 10_000  # T: the longest run for which it is asked
