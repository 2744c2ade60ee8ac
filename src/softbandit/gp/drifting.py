"""A kernel over points and time: functions that keep their shape and drift.

    k((x, t), (y, s)) = (k(x, y) + rough [x = y]) 2^(-|t - s| / half_life)

The last coordinate of a point is its time. Correlations fall by half per `half_life`, so an old observation says
little about the function now, however small its noise was: to inflate the noise of old data would not achieve that.
Each observation is at a point of its own, so an effect that a point has of its own is part of the kernel.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from softbandit.backend import Floats
from softbandit.gp.conditioning import same_rows
from softbandit.gp.kernel import Kernel

UNIT = 0.03  # of `rough`, so that searches start there: learned parameters start at 1


@dataclass(frozen=True)
class Drifting(Kernel):
    """The product of a kernel over all coordinates but the last, with effects of points, and a decay over the last."""

    kernel: Kernel
    half_life: float
    rough: float = UNIT

    def __call__(self, X: Floats, Y: Floats) -> Floats:
        return (self.kernel(X[:, :-1], Y[:, :-1]) + self.rough * same_rows(X[:, :-1], Y[:, :-1])) * self._decay(X, Y)

    def diag(self, X: Floats) -> Floats:
        return self.kernel.diag(X[:, :-1]) + self.rough

    def parameters(self) -> tuple[float, ...]:
        return (*self.kernel.parameters(), self.rough / UNIT)

    def parameter_units(self, spread: Floats) -> tuple[float | None, ...]:
        return (*self.kernel.parameter_units(spread[:-1]), None)

    def with_parameters(self, values: Sequence[float]) -> Self:
        *parameters, rough = values
        return replace(self, kernel=self.kernel.with_parameters(parameters), rough=rough * UNIT)

    def parameter_gradients(self, X: Floats, W: Floats) -> list[float]:
        points, weights = X[:, :-1], W * self._decay(X, X)
        effects = self.rough * float(weights[same_rows(points, points)].sum())
        return [*self.kernel.parameter_gradients(points, weights), effects]

    def _decay(self, X: Floats, Y: Floats) -> Floats:
        return np.exp2(-np.abs(X[:, -1, None] - Y[None, :, -1]) / self.half_life)
