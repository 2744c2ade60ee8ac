"""Grids on a domain: evenly spaced along its axes, with every choice of its categories."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats


class Axis(NamedTuple):
    """One parameter of a domain: a number from lower to upper, or a category, whose columns are a one-hot vector."""

    columns: slice  # of a point
    lower: float
    upper: float
    size: float  # the number of its values, perhaps infinite

    @property
    def is_number(self) -> bool:
        return bool(self.columns.stop == self.columns.start + 1)

    def rows(self, cells: int) -> Floats:
        """Return the ends of that many cells, (cells + 1, 1), or all categories."""
        if not self.is_number:
            return np.eye(self.columns.stop - self.columns.start)
        return np.linspace(self.lower, self.upper, cells + 1)[:, None]


def grid(axes: Sequence[Axis], cells: Sequence[int]) -> Floats:
    """Return the points (n, d) of the grid with so many cells along each axis.

    >>> grid([Axis(slice(0, 1), 0.0, 2.0, np.inf), Axis(slice(1, 3), 0.0, 1.0, 2)], [1, 1])
    array([[0., 1., 0.],
           [0., 0., 1.],
           [2., 1., 0.],
           [2., 0., 1.]])
    """
    rows = [axis.rows(count) for axis, count in zip(axes, cells, strict=True)]
    index = np.indices([len(row) for row in rows]).reshape(len(rows), -1)
    return np.concatenate([row[i] for row, i in zip(rows, index, strict=True)], axis=1)
