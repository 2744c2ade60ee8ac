"""A posterior over fixed candidates, and the same after further points in one block.

| symbol | meaning | shape |
|---|---|---|
| X | the candidates | n x d |
| V | M Cov(points, X), with M of `PointPosterior` | k x n |
| P | further points: some observed, the others pending | p x d |
| C | Cov(P, X) given the observed points: k(P, X) - V_P^T V | p x n |
| A | Cov(P, P) given the observed points, plus noise | p x p |

    mean = mu(X) + C^T A^-1 (y - mu(P))        variance = var(X) - diag(C^T A^-1 C)

A pending point counts as observed at its mean, which changes no mean and reduces the variance as an observation would.
A further point costs O(k n + k^2) once, and all of them together O(p^2 n).
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from softbandit.backend import Bools, Floats
from softbandit.gp.outliers import in_turn
from softbandit.gp.point_effects import JITTER, ROWS, PointEffects, PointPosterior, inverse_lower


class Further(NamedTuple):
    """A further point, given the observed ones."""

    v: Floats  # (k,)
    mean: float
    variance: float  # of an observation
    cross: Floats  # (n,): its row of C


@dataclass(frozen=True, eq=False)
class CandidatePosterior:
    """Mean and variance of one output at the candidates. Rows of C are kept, since points return."""

    posterior: PointPosterior
    X: Floats  # (n, d)
    V: Floats  # (k, n)
    mean: Floats  # (n,)
    variance: Floats  # (n,)
    _further: dict[bytes, Further] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, posterior: PointPosterior, X: Floats) -> "CandidatePosterior":
        model, V = posterior.model, whitened_cross(posterior, X)
        mean = model.offset + posterior.whitened @ V
        variance = np.maximum(model.variance(X) - np.einsum("kn,kn->n", V, V), 0.0)
        return cls(posterior, X, V, mean, variance)

    def given(self, P: Floats, y: Floats, outliers: bool = False) -> tuple[Floats, Floats]:
        """Return mean and variance after observing y (o,) at the first o of P; the other points are pending.

        If there may be `outliers`, observations far from what is expected count as less far.
        """
        if not len(P):
            return self.mean, self.variance
        further, R = self._block(P)
        W = R @ np.stack([row.cross for row in further])  # A^-1 = R^T R
        mean, variance = np.array([[row.mean, row.variance] for row in further[: len(y)]]).reshape(-1, 2).T
        rest = R[: len(y), : len(y)] @ ((in_turn(y, mean, variance) if outliers else y) - mean)
        variance = np.maximum(self.variance - np.einsum("pn,pn->n", W, W), 0.0)
        return self.mean + rest @ W[: len(y)], variance

    def mean_at(self, P: Floats, y: Floats) -> Floats:
        """Return the mean at all of P after observing y at the first of them, (p,)."""
        further, R = self._block(P)
        mean, o = np.array([row.mean for row in further]), len(y)
        among = self._covariance(P, further)
        return np.asarray(mean + among[:, :o] @ (R[:o, :o].T @ (R[:o, :o] @ (y - mean[:o]))))

    def residual(self, P: Floats, y: Floats) -> float:
        """Return the last of y (p,) minus its mean given all the others."""
        further, R = self._block(P)
        return float(R[-1] @ (y - [row.mean for row in further]) / R[-1, -1])

    def _block(self, P: Floats) -> tuple[list[Further], Floats]:
        """Return the further points, and R = L^-1 with L L^T = A."""
        model, further = self.posterior.model, [self._at(x) for x in P]
        A = self._covariance(P, further)
        A[np.diag_indices(len(P))] += model.noise + JITTER * model.variance(P)
        return further, inverse_lower(np.asarray(np.linalg.cholesky(A), dtype=np.float64))

    def _covariance(self, P: Floats, further: list[Further]) -> Floats:
        v = np.stack([row.v for row in further])
        return prior_covariance(self.posterior.model, P, P) - v @ v.T

    def _at(self, x: Floats) -> Further:
        """Return one further point: alone, so that rounding does not depend on which others there are."""
        key = x.tobytes()
        if key not in self._further:
            model, v = self.posterior.model, whitened_cross(self.posterior, x[None])[:, 0]
            mean = model.offset + float(self.posterior.whitened @ v)
            variance = max(float(model.variance(x[None])[0] - v @ v), 0.0) + model.noise
            self._further[key] = Further(v, mean, variance, prior_covariance(model, x[None], self.X)[0] - v @ self.V)
        return self._further[key]


def whitened_cross(posterior: PointPosterior, X: Floats) -> Floats:
    """Return M Cov(points, X), (k, n): the triangle alone, in blocks of rows."""
    cross, M = prior_covariance(posterior.model, posterior.points, X), posterior.M
    V = np.empty_like(cross)
    for first in range(0, len(M), ROWS):
        last = first + ROWS
        V[first:last] = M[first:last, :last] @ cross[:last]
    return V


def prior_covariance(model: PointEffects, X: Floats, Y: Floats) -> Floats:
    """Return the covariance of any points, of which some may be the same, (n, m)."""
    K = model.covariance(X, Y)
    if model.own:
        K += model.own * same_rows(X, Y)
    return K


def same_rows(X: Floats, Y: Floats) -> Bools:
    """Return which rows of X and Y are equal, (n, m)."""
    same = np.ones((len(X), len(Y)), dtype=bool)
    for x, y in zip(X.T, Y.T, strict=True):
        same &= x[:, None] == y
    return same
