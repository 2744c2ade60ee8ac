"""The posterior as an exploration sees it: over finite arms, or at points of a continuous domain."""

from dataclasses import dataclass
from typing import Protocol

from softbandit.backend.shapes import Floats, OutputsPerArm
from softbandit.backend.vocabulary import namespace
from softbandit.errors import ArgumentError, Description
from softbandit.gp import weight_space
from softbandit.gp.pivoted_cholesky import Features
from softbandit.gp.weight_space import ArmPosterior, Posterior


class Belief(Protocol):
    """The posterior of k outputs: (trials, outputs, arms)."""

    @property
    def mean(self) -> OutputsPerArm:
        """mu."""

    @property
    def std(self) -> OutputsPerArm:
        """sigma, which the outputs share: (trials, 1, arms)."""

    def correlated(self, z: Floats) -> OutputsPerArm:
        """Turn standard normal z (trials, outputs, rank) into functions ~ N(0, k_t)."""

    def sample(self, z: Floats) -> OutputsPerArm:
        """Return mean + correlated(z)."""


@dataclass(frozen=True, eq=False, slots=True)
class ArmBelief:
    """The belief over finite arms."""

    features: Features
    posterior: Posterior
    outputs: slice

    @property
    def mean(self) -> OutputsPerArm:
        return weight_space.mean(self.features, self.posterior)[:, self.outputs]

    @property
    def std(self) -> OutputsPerArm:
        var = weight_space.variance(self.features, self.posterior)
        return namespace(var).sqrt(var)[:, None, :]

    def correlated(self, z: Floats) -> OutputsPerArm:
        return self.features.over_arms(z @ self.posterior.root)

    def sample(self, z: Floats) -> OutputsPerArm:
        """Weights take one pass over the features, where mean + correlated(z) would take two."""
        if isinstance(self.posterior, ArmPosterior):
            return self.mean + self.correlated(z)
        return self.features.over_arms(self.posterior.mean[:, self.outputs] + z @ self.posterior.root)


@dataclass(frozen=True, eq=False)
class PointBelief:
    """The belief about one output at some points: (1, 1, n) each."""

    mean: Floats
    std: Floats

    def correlated(self, z: Floats) -> OutputsPerArm:
        remedy = "Use sb.Thompson, which samples functions on a continuous domain."
        raise ArgumentError.of("explore", "one that uses mean and std only", Description("one that samples"), remedy)

    sample = correlated
