"""Kernel regression on all rounds of a run at once, at any points: the posterior now, and after every round.

The posterior after each round is a prefix of the same sums, so one factorisation serves all rounds.
"""

from dataclasses import dataclass

import numpy as np

from softbandit.backend import Floats
from softbandit.gp import Kernel
from softbandit.model import LEAST_RATIO
from softbandit.policies import StepPolicy
from softbandit.theory.run_model import replay_model

LEAST_LAMBDA = 1e-10  # relative to k(x, x): less would be lost in rounding


@dataclass(frozen=True, eq=False)
class Regression:
    """The posterior of one output, given y at X with noise of variance lam: L L^T = k(X, X) + diag(lam)."""

    kernel: Kernel
    X: Floats  # (t, d)
    inverse: Floats  # L^-1
    whitened: Floats  # L^-1 y
    gain: Floats  # (t,): after each row

    @classmethod
    def of(cls, kernel: Kernel, lam: Floats, X: Floats, y: Floats) -> "Regression":
        lam = np.maximum(lam, LEAST_LAMBDA * kernel.diag(X))
        L = np.linalg.cholesky(kernel(X, X) + np.diag(lam))
        inverse = np.linalg.inv(L)
        return cls(kernel, X, inverse, inverse @ y, np.cumsum(np.log(np.diagonal(L)) - 0.5 * np.log(lam)))

    def projection(self, points: Floats) -> Floats:
        """Return L^-1 k(X, points), (t, n): mu and the explained covariance are its products."""
        return np.asarray(self.inverse @ self.kernel(self.X, points))

    def moments(self, points: Floats) -> tuple[Floats, Floats]:
        """Return mu and sigma at points (n, d)."""
        V = self.projection(points)
        variance = self.kernel.diag(points) - np.einsum("tn,tn->n", V, V)
        return self.whitened @ V, np.sqrt(np.maximum(variance, 0.0))

    def covariance(self, points: Floats) -> Floats:
        """Return k_t over all pairs of points, (n, n)."""
        V = self.projection(points)
        return np.asarray(self.kernel(points, points) - V.T @ V)

    def paths(self, points: Floats) -> tuple[Floats, Floats]:
        """Return mu and sigma at points after each row: (t, n) each."""
        V = self.projection(points)
        variance = self.kernel.diag(points) - np.cumsum(V * V, axis=0)
        return np.cumsum(self.whitened[:, None] * V, axis=0), np.sqrt(np.maximum(variance, 0.0))


@dataclass(frozen=True, eq=False)
class RunPosterior:
    """The posterior of every output from all rounds of one trial: noise of variance R^2, prior of (R^2 / lambda) k.

    With the tight width's lambda that is a prior of B^2 k over the effective dimension.
    """

    regressions: list[Regression]  # in units of `scale`
    scale: Floats  # (1 + m,)

    @classmethod
    def of(cls, step: StepPolicy, X: Floats, Y: Floats) -> "RunPosterior":
        """Return it for rounds at points X (t, d); those at one point count as their mean, with less noise."""
        priors = [prior for prior, _ in replay_model(step, alpha=0.1).by_output()]  # its widths are not used
        lambdas = np.array([prior.regularisation for prior in priors])
        scale = np.maximum(step.model.noise, LEAST_RATIO * step.bounds[:, 0]) / np.sqrt(lambdas)
        distinct, where, count = np.unique(X, axis=0, return_inverse=True, return_counts=True)
        means = np.array([np.bincount(where.ravel(), y, len(distinct)) / count for y in (Y / scale).T])
        triples = zip(priors, lambdas, means, strict=True)
        return cls([Regression.of(prior.kernel, lam / count, distinct, y) for prior, lam, y in triples], scale)

    def moments(self, points: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation at points (n, d): (1 + m, n) each."""
        mean, std = map(np.array, zip(*(fit.moments(points) for fit in self.regressions), strict=True))
        return mean * self.scale[:, None], std * self.scale[:, None]

    def covariance(self, points: Floats) -> Floats:
        """Return the covariance over all pairs of points: (1 + m, n, n)."""
        return np.array([s**2 * fit.covariance(points) for s, fit in zip(self.scale, self.regressions, strict=True)])
