"""Numbers that repeat, such as the hour of the day: points of a circle."""

import math
from dataclasses import dataclass

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.domains.parameters import Parameter


@dataclass(frozen=True)
class Cyclic(Parameter):
    """A number that starts again after each period, such as the hour of the day, `Cyclic(24)`.

    Its features are (1 + cos a) / 2 and (1 + sin a) / 2 at the angle a = 2 pi value / period, so that 23:59 is next to
    midnight. A number outside [0, period) means the one inside that differs by whole periods.
    """

    period: float

    width = 2
    size = math.inf

    def __post_init__(self) -> None:
        validation.store(self, period=validation.positive("period", self.period))

    def encode(self, what: str, value: object) -> list[float]:
        angle = 2 * math.pi * (validation.number(what, value) % self.period) / self.period
        return list(map(float, _on_circle(angle)))

    def decode(self, u: Floats) -> float:
        turns = _angle(u) / (2 * math.pi) % 1.0
        return turns * self.period if turns < 1.0 else 0.0

    def snap(self, U: Floats) -> Floats:
        radius = np.hypot(*(2 * U - 1).T)[:, None]
        outward = np.where(radius > 0, 2 * U - 1, [1.0, 0.0]) / np.where(radius > 0, radius, 1.0)
        return np.where(np.abs(radius - 1) < 1e-14, U, (1 + outward) / 2)  # points of the circle stay as they are

    def steps(self, u: Floats) -> Floats:
        """Return points an eighth of a turn away and less, on both sides: a search by steps can end near any angle."""
        sizes = 2.0 ** -np.arange(3.0, 12.0) * 2 * math.pi
        return _on_circle(_angle(u) + np.concatenate([-sizes, sizes]))

    def every(self) -> Floats:
        raise NotImplementedError("a cyclic parameter has infinitely many values")

    @property
    def ends(self) -> Floats:
        return _on_circle(np.arange(4) * math.pi / 2)


def _angle(u: Floats) -> float:
    return math.atan2(2 * float(u[1]) - 1, 2 * float(u[0]) - 1)


def _on_circle(angle: Floats | float) -> Floats:
    """Return the features at angles, with a last axis of length 2."""
    return np.stack([1 + np.cos(angle), 1 + np.sin(angle)], axis=-1) / 2
