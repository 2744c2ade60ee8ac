"""Confidence bounds on reward and costs from a run: after every round, and intersected over all rounds so far."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softbandit.backend import Bools, Floats
from softbandit.policies import StepPolicy
from softbandit.theory.regression import Regression
from softbandit.theory.run_model import Run, replay_model

ROUNDING = 1e-9  # relative to the norm bounds: bounds that contradict each other by less do not


class Bounds(NamedTuple):
    """lower <= h <= upper for the reward (row 0) and each cost, (..., 1 + m, n)."""

    lower: Floats
    upper: Floats

    def contradict(self, scale: Floats) -> Bools:
        """Return where a lower bound exceeds its upper bound, given the norm bounds (1 + m, 1)."""
        return self.lower > self.upper + ROUNDING * scale


def arm_bounds(step: StepPolicy, run: Run, alpha: float) -> Iterator[Bounds]:
    """Return the bounds (b, 1 + m, n) over finite arms after each round, intersected over all rounds up to it.

    With probability 1 - alpha they hold in all rounds together. Before the first, |h(x)| <= B sqrt(k(x, x)).
    """
    model = replay_model(step, alpha)
    posterior = model.prior(len(run.arms))
    upper = step.bounds * model.std(posterior)
    lower = -upper
    for t in range(run.arms.shape[1]):
        posterior = model.refreshed(model.condition(posterior, run.arms[:, t], run.observed[:, t]), t + 1)
        mean, half = model.confidence(posterior, t + 1)
        lower, upper = np.maximum(lower, mean - half), np.minimum(upper, mean + half)
        yield Bounds(lower, upper)


@dataclass(frozen=True, eq=False)
class PointBounds:
    """The bounds of one trial on a continuous domain, intersected over all its rounds, as a function of points."""

    regressions: list[Regression]  # one per output
    betas: list[Floats]  # (t,): its width after each round
    norms: Floats  # (1 + m,): B, G_1, ..., G_m

    @classmethod
    def of(cls, step: StepPolicy, X: Floats, Y: Floats, alpha: float) -> "PointBounds":
        model = replay_model(step, alpha)
        regressions, betas = [], []
        for (prior, _), block, y in zip(model.by_output(), model.blocks, Y.T, strict=True):
            fit = Regression.of(prior.kernel, np.full(len(X), prior.regularisation), X, y)
            regressions.append(fit)
            betas.append(np.abs(block.width(1, fit.gain)[:, 0]))
        return cls(regressions, betas, step.bounds[:, 0])

    def __call__(self, points: Floats) -> Bounds:
        lower, upper = [], []
        for fit, beta, B in zip(self.regressions, self.betas, self.norms, strict=True):
            mu, sigma = fit.paths(points)
            size = B * np.sqrt(fit.kernel.diag(points))
            upper.append(np.minimum((mu + beta[:, None] * sigma).min(axis=0), size))
            lower.append(np.maximum((mu - beta[:, None] * sigma).max(axis=0), -size))
        return Bounds(np.array(lower), np.array(upper))
