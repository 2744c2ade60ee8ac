"""The posterior over finite points, in features that are added when a point is first observed.

| symbol | meaning | shape |
|---|---|---|
| Phi | one row per observed point: its pivot of the Cholesky factorisation, over all points | r x n |
| S | covariance of the weights, whose prior is N(0, I) | r x r |
| mu, var | mean and variance of every point | n |

An observed point is a combination of the features without rest, so nothing is approximated. A round
costs O(n r), with r the number of *different* points observed, and nothing is factorised up front.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from softbandit.backend import Floats, Ints
from softbandit.gp.anchored import GrowingRows
from softbandit.gp.point_effects import PointEffects

NO_REST = 1e-9  # a rest of a point's variance, relative to all of it, that counts as none


@dataclass(frozen=True, eq=False)
class PivotPosterior:
    """The posterior of one output. Observing returns a new value."""

    model: PointEffects
    points: Floats  # (n, d)
    mean: Floats  # (n,)
    variance: Floats  # (n,)
    S: Floats  # (r, r)
    seen: Ints  # (n,): whether each point has its own row of Phi
    _rows: GrowingRows

    @classmethod
    def prior(cls, model: PointEffects, points: Floats) -> "PivotPosterior":
        n = len(points)
        rows = GrowingRows.from_matrix(np.empty((0, n)))
        blank = np.full(n, model.offset), model.variance(points), np.empty((0, 0)), np.zeros(n, dtype=np.int64)
        return cls(model, points, *blank, rows)

    @property
    def Phi(self) -> Floats:
        return self._rows.buffer[: len(self.S)]

    def predicted(self, i: int) -> tuple[float, float]:
        """Return mean and variance of the next observation at point i."""
        return float(self.mean[i]), float(self.variance[i]) + self.model.noise

    def observe(self, i: int, y: float, count: float = 1.0) -> "PivotPosterior":
        """Return the posterior after observing y at point i; or y as the mean of several observations there."""
        here = self if self.seen[i] else self._with_pivot(i)
        phi = here.Phi[:, i]
        q = here.S @ phi
        d = self.model.noise / count + float(phi @ q)
        c, step = q @ here.Phi, (y - float(here.mean[i])) / d
        variance = np.maximum(here.variance - c * c / d, 0.0)
        return replace(here, mean=here.mean + step * c, variance=variance, S=here.S - np.outer(q, q / d))

    def _with_pivot(self, i: int) -> "PivotPosterior":
        """Return the same posterior with a feature for point i, if those so far leave a rest of it."""
        k = self.model.covariance(self.points[i : i + 1], self.points)[0]
        k[i] += self.model.own
        rest = k - self.Phi[:, i] @ self.Phi
        seen = self.seen.copy()
        seen[i] = 1
        if rest[i] <= NO_REST * k[i]:
            return replace(self, seen=seen)
        r = len(self.S)
        rows = self._rows if self._rows.rows == r else GrowingRows.from_matrix(self.Phi)  # another value grew it
        rows.append(rest / math.sqrt(rest[i]))
        S = np.eye(r + 1)
        S[:r, :r] = self.S
        return replace(self, S=S, seen=seen, _rows=rows)
