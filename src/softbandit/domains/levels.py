"""Levels of a parameter with finitely many values in an order: their features, from 0 to 1, evenly spaced or not."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from softbandit.backend import Floats


@dataclass(frozen=True)
class Levels(ABC):
    """Levels 0, 1, ..., last."""

    last: int

    @abstractmethod
    def features(self, i: Floats) -> Floats:
        """Return the features of levels, of the same shape."""

    @abstractmethod
    def nearest(self, U: Floats) -> Floats:
        """Return the nearest levels to features, of the same shape."""

    def feature(self, i: int) -> float:
        return float(self.features(np.array([float(i)]))[0])

    def level(self, u: float) -> int:
        return int(self.nearest(np.array([u]))[0])

    def snap(self, U: Floats) -> Floats:
        return self.features(self.nearest(U))

    def steps(self, u: Floats) -> Floats:
        """Return the features of the levels below and above, (n, 1)."""
        i = self.level(float(u[0]))
        return np.array([[self.feature(j)] for j in (i - 1, i + 1) if 0 <= j <= self.last])

    def every(self) -> Floats:
        return self.features(np.arange(self.last + 1.0)[:, None])


@dataclass(frozen=True)
class EvenLevels(Levels):
    """Features i / last. A single one is computed without NumPy, which would take longer."""

    def features(self, i: Floats) -> Floats:
        return i / self.last

    def nearest(self, U: Floats) -> Floats:
        return np.round(clip(U) * self.last)

    def feature(self, i: int) -> float:
        return i / self.last

    def level(self, u: float) -> int:
        return round(min(max(u, 0.0), 1.0) * self.last)


@dataclass(frozen=True)
class LogLevels(Levels):
    """Features ln(1 + r i) / ln(1 + r last): the logarithms of low + i step, with r = step / low."""

    ratio: float  # r

    def features(self, i: Floats) -> Floats:
        return np.asarray(np.log1p(self.ratio * i) / np.log1p(self.ratio * self.last))

    def nearest(self, U: Floats) -> Floats:
        U = clip(U)
        exact = np.expm1(U * np.log1p(self.ratio * self.last)) / self.ratio
        below = np.clip(np.floor(exact), 0.0, self.last - 1.0)
        closer_above = self.features(below + 1) - U < U - self.features(below)
        return np.asarray(below + closer_above)


def clip(U: Floats) -> Floats:
    return np.minimum(np.maximum(U, 0.0), 1.0)
