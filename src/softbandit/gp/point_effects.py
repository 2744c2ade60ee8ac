"""A Gaussian process in which every point has an effect of its own besides the smooth function.

    y = offset + f(x) + e_x + noise,    f ~ GP(0, signal k),    e_x ~ N(0, own),    noise ~ N(0, noise)

e_x is the same whenever x is observed, so repeated observations tell it from the noise. A smooth model
that is wrong about a rough function grows sure of itself all the same; with effects of their own,
points that were never tried stay uncertain, by as much as the data show the surface to be rough.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats, Ints
from softbandit.gp.kernel import Kernel

JITTER = 1e-9  # of a point's variance, added to that of its noise
NEARBY = 0.05  # of the range of the points: those nearer than this count as one
ROWS = 128  # of a triangular matrix that are multiplied at a time


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
        return cls(points, counts.astype(float), np.empty(0), 0.0, place.ravel()).with_values(y)

    @property
    def first_rounds(self) -> Ints:
        """The first observation of each point, (k,)."""
        return np.unique(self.place, return_index=True)[1]

    def far_apart(self, most: int) -> Ints:
        """Return the numbers of at most that many points, each as far as possible from those before it.

        Most points that a policy plays are where it is good; these are spread over all that it tried.
        """
        width = np.ptp(self.points, axis=0)
        scaled = self.points / np.where(width > 0, width, 1.0)
        chosen, gap = [0], np.full(len(scaled), np.inf)
        while len(chosen) < min(most, len(scaled)):
            gap = np.minimum(gap, ((scaled - scaled[chosen[-1]]) ** 2).mean(axis=1))
            if gap.max() < NEARBY**2:
                break
            chosen.append(int(gap.argmax()))
        return np.array(chosen)

    def with_values(self, y: Floats) -> "Repeats":
        """Return other observations (t,) of the same points."""
        means = np.bincount(self.place, y) / self.counts
        return self._replace(means=means, within=float(np.sum((y - means[self.place]) ** 2)))


def inverse_lower(L: Floats) -> Floats:
    """Return the inverse of a lower triangular matrix by halves, at a quarter of the cost of a general one."""
    n, h = len(L), len(L) // 2
    if n <= ROWS:
        return np.asarray(np.linalg.inv(L), dtype=np.float64)
    M = np.zeros_like(L)
    M[:h, :h], M[h:, h:] = inverse_lower(L[:h, :h]), inverse_lower(L[h:, h:])
    M[h:, :h] = -M[h:, h:] @ (L[h:, :h] @ M[:h, :h])
    return M


@dataclass(frozen=True, eq=False)
class PointPosterior:
    """The posterior at the observed points, and at any others. Observing returns a new value, in O(k^2).

    | symbol | meaning |
    |---|---|
    | C | covariance of the means: that of the points, plus diag(D) |
    | D | noise / counts, and a little more so that C is not singular |
    | M | L^-1, lower triangular, with L L^T = C and M^T M = C^-1 |
    """

    model: PointEffects
    points: Floats  # (k, d), all different
    counts: Floats  # (k,)
    means: Floats  # (k,)
    M: Floats  # (k, k)

    @classmethod
    def of(cls, model: PointEffects, data: Repeats) -> "PointPosterior":
        C = model.covariance(data.points, data.points)
        C[np.diag_indices(len(C))] += model.own + model.noise / data.counts + JITTER * model.variance(data.points)
        L: Floats = np.asarray(np.linalg.cholesky(C), dtype=np.float64)
        return cls(model, data.points, data.counts, data.means, inverse_lower(L))

    def predicted(self, x: Floats) -> tuple[float, float]:
        """Return mean and variance of the next observation at x (d,)."""
        mean, variance = self.at(x[None])
        return float(mean[0]), float(variance[0]) + self.model.noise

    def observe(self, x: Floats, y: float) -> "PointPosterior":
        """Return the posterior after observing y at x (d,)."""
        places = np.flatnonzero((self.points == x).all(axis=1))
        return self._repeated(int(places[0]), y) if len(places) else self._extended(x, y)

    def _extended(self, x: Floats, y: float) -> "PointPosterior":
        """Return the posterior with one more point: a row of L is M c, and its pivot the root of what is left."""
        k, X = len(self.M), x[None]
        variance = float(self.model.variance(X)[0])
        row = self.M @ self.model.covariance(self.points, X)[:, 0]
        noise = self.model.noise + JITTER * variance
        pivot = np.sqrt(noise + max(variance - float(row @ row), 0.0))  # a negative variance is rounding
        M = np.zeros((k + 1, k + 1))
        M[:k, :k] = self.M
        M[k] = np.append(row @ self.M, -1.0) / -pivot
        points, counts, means = np.append(self.points, X, axis=0), np.append(self.counts, 1.0), np.append(self.means, y)
        return PointPosterior(self.model, points, counts, means, M)

    def _repeated(self, i: int, y: float) -> "PointPosterior":
        """Return the posterior after one more observation of point i.

        D_i falls by delta, so C^-1 = M^T M becomes M^T (I + g u u^T) M, with u = M e_i (Sherman and Morrison). The
        triangular R with R^T R = I + g u u^T has a closed form, and R M is the new M:

            R_jj = sqrt(s_j / s_j+1)    R_jl = g u_j u_l / sqrt(s_j s_j+1), l < j    s_j = 1 + g sum of u_l^2, l >= j
        """
        count = self.counts[i]
        delta = self.model.noise / (count * (count + 1))
        u, rows = self.M[i:, i], self.M[i:]  # u is zero before i
        g = delta / (1 - delta * float(u @ u))  # at least delta, at most 2 delta
        s = np.append(1 + g * np.cumsum((u * u)[::-1])[::-1], 1.0)
        weighted = u[:, None] * rows
        before = np.cumsum(weighted, axis=0) - weighted
        M, counts, means = self.M.copy(), self.counts.copy(), self.means.copy()
        M[i:] = np.sqrt(s[:-1] / s[1:])[:, None] * rows + (g * u / np.sqrt(s[:-1] * s[1:]))[:, None] * before
        counts[i] += 1
        means[i] += (y - means[i]) / counts[i]
        return PointPosterior(self.model, self.points, counts, means, M)

    def moments(self, others: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance at the observed points, then at other points (n, d): (k + n,) each."""
        pairs = zip(self._at_observed(), self.at(others), strict=True)
        mean, variance = (np.concatenate(pair) for pair in pairs)
        return mean, variance

    def _at_observed(self) -> tuple[Floats, Floats]:
        """Return mean and variance at the observed points: means - D C^-1 (means - offset) and D - D C^-1 D."""
        D = self.model.noise / self.counts + JITTER * self.model.variance(self.points)
        mean = self.means - D * (self.whitened @ self.M)
        variance = D - D * D * np.einsum("ij,ij->j", self.M, self.M)
        return mean, np.maximum(variance, 0.0)

    def left_out(self) -> tuple[Floats, Floats]:
        """Return mean and variance of each observed point, as the others alone have it, (k,) each."""
        q = np.einsum("ij,ij->j", self.M, self.M)  # the diagonal of C^-1
        D = self.model.noise / self.counts + JITTER * self.model.variance(self.points)
        return self.means - (self.whitened @ self.M) / q, np.maximum(1 / q - D, 0.0)

    def at(self, X: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance at points (n, d), of which any may have been observed: (n,) each."""
        cross = self.model.covariance(self.points, X)
        cross[self._same(X)] += self.model.own
        mean, variance = np.full(len(X), self.model.offset), self.model.variance(X)
        for first in range(0, len(self.M), ROWS):  # the triangle alone, in blocks of rows
            last = first + ROWS
            V = self.M[first:last, :last] @ cross[:last]
            mean += self.whitened[first:last] @ V
            variance -= np.einsum("tn,tn->n", V, V)
        return mean, np.maximum(variance, 0.0)

    @cached_property
    def whitened(self) -> Floats:
        """M (means - offset), (k,)."""
        return self.M @ (self.means - self.model.offset)

    def _same(self, points: Floats) -> tuple[Ints, Ints]:
        """Return the pairs of an observed point and one of `points` that are the same point."""
        place = {x.tobytes(): i for i, x in enumerate(self.points + 0.0)}  # -0.0 + 0.0 is 0.0
        pairs = [(place[x.tobytes()], j) for j, x in enumerate(points + 0.0) if x.tobytes() in place]
        i, j = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return i, j
