"""A Gaussian process in which every point has an effect of its own besides the smooth function.

    y = offset + f(x) + e_x + noise,    f ~ GP(0, signal k),    e_x ~ N(0, own),    noise ~ N(0, noise)

e_x is the same whenever x is observed, so repeated observations tell it from the noise. A smooth model
that is wrong about a rough function grows sure of itself all the same; with effects of their own,
points that were never tried stay uncertain, by as much as the data show the surface to be rough.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats, Ints
from softbandit.gp.kernel import Kernel


@dataclass(frozen=True, eq=False)
class PointEffects:
    """The model of one output. `signal`, `own` and `noise` are variances."""

    kernel: Kernel
    offset: float
    signal: float
    own: float
    noise: float

    def variance(self, X: Floats) -> Floats:
        """Return that of points before any was observed."""
        return np.asarray(self.signal * self.kernel.diag(X) + self.own)

    def covariance(self, X: Floats, Y: Floats) -> Floats:
        """Return the covariance between different points: the smooth part alone."""
        return self.signal * self.kernel(X, Y)


class Repeats(NamedTuple):
    """Observations, put together by point."""

    points: Floats  # (k, d), all different
    counts: Floats  # (k,)
    means: Floats  # (k,)
    within: float  # sum of squared differences from the means
    place: Ints  # (t,): the point of each observation

    @classmethod
    def of(cls, X: Floats, y: Floats) -> "Repeats":
        points, place, counts = np.unique(X, axis=0, return_inverse=True, return_counts=True)
        place = place.ravel()
        means = np.bincount(place, y) / counts
        return cls(points, counts.astype(float), means, float(np.sum((y - means[place]) ** 2)), place)


@dataclass(frozen=True, eq=False)
class PointPosterior:
    """The posterior at the observed points, and at any others."""

    model: PointEffects
    data: Repeats
    inverse: Floats  # L^-1, with L L^T the covariance of the means
    whitened: Floats  # L^-1 (means - offset)

    @classmethod
    def of(cls, model: PointEffects, data: Repeats) -> "PointPosterior":
        C = model.covariance(data.points, data.points)
        C[np.diag_indices(len(C))] += model.own + model.noise / data.counts + 1e-9 * model.variance(data.points)
        inverse = np.linalg.inv(np.linalg.cholesky(C))
        return cls(model, data, inverse, inverse @ (data.means - model.offset))

    def moments(self, others: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance at the observed points, then at other points (n, d): (k + n,) each."""
        points = np.concatenate([self.data.points, others])
        cross = self.model.covariance(self.data.points, points)
        cross[self._same(points)] += self.model.own
        V = self.inverse @ cross
        variance = self.model.variance(points) - np.einsum("tn,tn->n", V, V)
        return self.model.offset + self.whitened @ V, np.maximum(variance, 0.0)

    def _same(self, points: Floats) -> tuple[Ints, Ints]:
        """Return the pairs of an observed point and one of `points` that are the same point."""
        place = {x.tobytes(): i for i, x in enumerate(self.data.points + 0.0)}  # -0.0 + 0.0 is 0.0
        pairs = [(place[x.tobytes()], j) for j, x in enumerate(points + 0.0) if x.tobytes() in place]
        i, j = np.array(pairs).T
        return i, j
