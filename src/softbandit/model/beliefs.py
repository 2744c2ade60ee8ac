"""The posterior as an exploration sees it: over finite arms, or at points of a continuous domain."""

from dataclasses import dataclass
from typing import TypeAlias

from softbandit.backend import Floats, OutputsPerArm
from softbandit.errors import ArgumentError, Description
from softbandit.gp import ArmPosterior, Features, Posterior, weight_space


@dataclass(frozen=True, eq=False, slots=True)
class ArmBelief:
    """The belief over finite arms: the posterior of k outputs, (trials, outputs, arms)."""

    features: Features
    posterior: Posterior
    outputs: slice

    @property
    def mean(self) -> OutputsPerArm:
        """mu."""
        return weight_space.mean(self.features, self.posterior)[:, self.outputs]

    @property
    def std(self) -> OutputsPerArm:
        """sigma, which the outputs share: (trials, 1, arms)."""
        return weight_space.deviation(self.features, self.posterior)[:, None, :]

    def correlated(self, z: Floats) -> OutputsPerArm:
        """Turn standard normal z (trials, outputs, rank) into functions ~ N(0, k_t)."""
        return self.features.over_arms(z @ self.posterior.root)

    def sample(self, z: Floats) -> OutputsPerArm:
        """Return mean + correlated(z)."""
        if isinstance(self.posterior, ArmPosterior):
            return self.mean + self.correlated(z)
        # Weights take one pass over the features; the sum above would take two.
        return self.features.over_arms(self.posterior.mean[:, self.outputs] + z @ self.posterior.root)


@dataclass(frozen=True, eq=False)
class PointBelief:
    """The belief by mean and std alone: at some points, (1, 1, n) each, or over arms as above."""

    mean: Floats
    std: Floats

    def correlated(self, z: Floats) -> OutputsPerArm:
        remedy = "Use sb.Thompson; or, on finite arms, do not declare the exploration pointwise."
        raise ArgumentError.of("explore", "one that uses mean and std only", Description("one that samples"), remedy)

    sample = correlated


Belief: TypeAlias = ArmBelief | PointBelief
