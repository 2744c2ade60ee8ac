"""The interface of the parameters of a `Space`: values, and the features in [0, 1] that kernels see in their place."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from softbandit.backend import Floats
from softbandit.domains.grids import Axis


class Parameter(ABC):
    """One parameter: a number, a choice, or a value that stays the same."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of features."""

    @property
    @abstractmethod
    def size(self) -> float:
        """The number of values, perhaps infinite."""

    @property
    def free(self) -> bool:
        """Whether all features in [0, 1] are values, so that a search can follow gradients."""
        return False

    @abstractmethod
    def encode(self, what: str, value: object) -> list[float]:
        """Return the features of a value, or raise an error about `what`."""

    def extrapolate(self, what: str, value: object) -> list[float]:
        """Return the features of a value that may lie outside the range, or raise an error if it has none."""
        return self.encode(what, value)

    @abstractmethod
    def decode(self, u: Floats) -> Any:
        """Return the value at features u, (width,)."""

    @abstractmethod
    def snap(self, U: Floats) -> Floats:
        """Return the nearest features that encode a value, for each row of U, (n, width)."""

    @abstractmethod
    def steps(self, u: Floats) -> Floats:
        """Return features one step away from u, (n, width); none if it is free."""

    @abstractmethod
    def every(self) -> Floats:
        """Return the features of all values, (size, width), if it has finitely many."""

    @property
    def ends(self) -> Floats:
        """The features between which it varies most, (n, width)."""
        return np.array([[0.0], [1.0]])

    def axes(self, columns: slice) -> list[Axis]:
        """Return it as parts of a grid: here numbers from 0 to 1, which are more than its values."""
        return [Axis(slice(j, j + 1), 0.0, 1.0, np.inf) for j in range(columns.start, columns.stop)]
