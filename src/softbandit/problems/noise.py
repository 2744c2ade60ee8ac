"""The law of the noise on rewards and costs.

A law turns the draws of a round into the noise of every output at the arms played. All laws
but `ResampledNoise` have mean 0 and standard deviation `scale`, the problem's `noise`. For the
Gaussian and the uniform law that number is also the sub-Gaussian scale R of the theory; a
Student law has no finite R, because its tails are too heavy.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from softbandit import validation
from softbandit.backend import ArmIndex, DrawCount, Draws, Floats, PerOutput, Traced, namespace
from softbandit.errors import ArgumentError, Description


class Noise(ABC):
    """A law of the noise."""

    @abstractmethod
    def draws(self, outputs: int) -> DrawCount:
        """Return the count of random numbers that one round needs, for that many outputs."""

    @abstractmethod
    def sample(self, scale: Floats | float, arm: ArmIndex, draws: Draws) -> PerOutput:
        """Return the noise at the arms (trials,), as (trials, outputs), with one scale or (outputs,)."""

    def sub_gaussian(self, scale: float) -> float:
        """Return the smallest R for which the noise is R-sub-Gaussian."""
        return scale


@dataclass(frozen=True)
class GaussianNoise(Noise):
    """~ N(0, scale^2), independent over outputs."""

    def draws(self, outputs: int) -> DrawCount:
        return DrawCount(normal=outputs)

    def sample(self, scale: Floats | float, arm: ArmIndex, draws: Draws) -> PerOutput:
        return scale * draws.normal


@dataclass(frozen=True)
class UniformNoise(Noise):
    """Uniform on +-sqrt(3) scale, independent over outputs."""

    def draws(self, outputs: int) -> DrawCount:
        return DrawCount(uniform=outputs)

    def sample(self, scale: Floats | float, arm: ArmIndex, draws: Draws) -> PerOutput:
        return scale * math.sqrt(12) * (draws.uniform - 0.5)


@dataclass(frozen=True)
class StudentNoise(Noise):
    """Student's t with `freedom` > 2 degrees of freedom, scaled to standard deviation `scale`: heavy tails.

    Bailey (1994): sqrt(nu (u^(-2/nu) - 1)) cos(2 pi v) is t-distributed for uniform u and v.
    """

    freedom: float = 3.0

    def __post_init__(self) -> None:
        freedom = validation.positive("freedom", self.freedom)
        if not freedom > 2:
            remedy = "With 2 or fewer the standard deviation is infinite."
            raise ArgumentError.of("freedom", "a number above 2", self.freedom, remedy)
        validation.store(self, freedom=freedom)

    def draws(self, outputs: int) -> DrawCount:
        return DrawCount(uniform=2 * outputs)

    def sample(self, scale: Floats | float, arm: ArmIndex, draws: Draws) -> PerOutput:
        xp = namespace(draws.uniform)
        nu, k = self.freedom, draws.uniform.shape[1] // 2
        u, v = draws.uniform[:, :k], draws.uniform[:, k:]
        t = xp.sqrt(nu * (u ** (-2 / nu) - 1)) * xp.cos(2 * math.pi * v)
        return scale / math.sqrt(nu / (nu - 2)) * t

    def sub_gaussian(self, scale: float) -> float:
        return math.inf if scale else 0.0


@dataclass(frozen=True, eq=False)
class ResampledNoise(Noise):
    """One row of a table of residuals, drawn uniformly and independently each round.

    `residuals` is (rows, arms, outputs): measurements minus their mean. All outputs of a round
    come from one row, so a reward and a cost that are the same measurement stay consistent.
    """

    residuals: Traced[Floats]

    def __post_init__(self) -> None:
        table = validation.array("residuals", self.residuals)
        if table.ndim != 3 or not table.size:
            got = Description(f"shape {table.shape}")
            raise ArgumentError.of("residuals", "finite numbers, rows x arms x outputs", got, "Check the table.")
        table.flags.writeable = False
        object.__setattr__(self, "residuals", table)

    def sub_gaussian(self, scale: float = 0.0) -> float:
        return self._sub_gaussian

    @cached_property
    def _sub_gaussian(self) -> float:
        """R = max over columns of sup over theta of sqrt(2 ln E[e^(theta eta)]) / |theta|, to within 1%.

        eta is a column (one output at one arm) minus its mean. Near theta = 0 the ratio is the
        standard deviation; outliers make it larger elsewhere. It is at most half the range
        (Hoeffding), so columns of small range are skipped.
        """
        columns = self.residuals.reshape(len(self.residuals), -1)
        sigma = columns.std(axis=0)
        wide = np.ptp(columns, axis=0) / 2 > sigma.max()
        eta = (columns - columns.mean(axis=0))[:, wide]
        ratio = sigma[wide]
        for theta in np.outer(np.geomspace(0.1, 10, 100), 1 / ratio):
            for side in (theta * eta, -theta * eta):
                top = side.max(axis=0)
                log_mean = top + np.log(np.exp(side - top).mean(axis=0))
                ratio = np.maximum(ratio, np.sqrt(np.maximum(2 * log_mean, 0.0)) / theta)
        return float(max(sigma.max(), ratio.max(initial=0.0)))

    def draws(self, outputs: int) -> DrawCount:
        return DrawCount(uniform=1)

    def sample(self, scale: Floats | float, arm: ArmIndex, draws: Draws) -> PerOutput:
        rows = self.residuals.shape[0]
        row = namespace(draws.uniform).floor(draws.uniform[:, 0] * rows).astype(int)
        return cast(PerOutput, self.residuals[row, arm])


NOISES: dict[str, Noise] = {"gaussian": GaussianNoise(), "uniform": UniformNoise(), "student": StudentNoise()}


def as_noise(what: str, value: object) -> Noise:
    """Return the law itself, or the law of that name."""
    return value if isinstance(value, Noise) else validation.named(what, value, NOISES)
