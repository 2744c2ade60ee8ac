"""The posterior in data space in arrays of a fixed shape, which can be compiled.

The formulas are those of data_space.py, with a row for each round, whether its arm is new or not. Rows of rounds to
come are zero and are read all the same, so a round costs O(n T) in a run of T rounds. The kernel's matrix is computed
up front.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softbandit.backend import (
    ArmIndex,
    Floats,
    HostOnly,
    OutputsPerArm,
    PerArm,
    PerOutput,
    PerTrial,
    Traced,
    at_arm,
    namespace,
    operations,
)
from softbandit.gp.weight_space import plus_outer


@dataclass(frozen=True, eq=False)
class KernelMatrix:
    """A kernel between all arms, for runs of up to T rounds."""

    matrix: Traced[Floats]  # (n, n)
    rounds: HostOnly[int]  # T

    @property
    def diag(self) -> Floats:
        """k(x, x) of every arm: (n,)."""
        return np.diagonal(self.matrix)

    def prior(self, outputs: int, trials: int) -> "RowPosterior":
        """Return mu_0 = 0, k_0 = k."""
        n = len(self.matrix)
        mu, var = np.zeros((trials, outputs, n)), np.tile(self.diag, (trials, 1))
        return RowPosterior(np.zeros((trials, self.rounds, n)), np.int64(0), mu, var, np.zeros(trials))


class RowPosterior(NamedTuple):
    """The posterior of k outputs over the arms, for b trials."""

    W: Floats  # (b, T, n)
    t: np.int64  # rows that are in use
    mu: OutputsPerArm
    var: PerArm
    gain: PerTrial

    def condition(self, K: Floats, regularisation: float, arm: ArmIndex, y: PerOutput) -> "RowPosterior":
        """Return the posterior after observing y (b, k) at each trial's arm."""
        xp = namespace(self.W)
        k = K[arm] - xp.vecmat(at_arm(self.W, arm), self.W)
        s = xp.maximum(at_arm(k, arm), 0.0)
        root_d = xp.sqrt(regularisation + s)[:, None]
        w = k / root_d
        mu = plus_outer(self.mu, (y - at_arm(self.mu, arm)) / root_d, w)
        gain = self.gain + 0.5 * xp.log1p(s / regularisation)
        W = operations(self.W).with_row(self.W, self.t, w)
        return RowPosterior(W, self.t + 1, mu, xp.maximum(self.var - w * w, 0.0), gain)

    def covariance(self, K: Floats, columns: slice) -> Floats:
        """Return k_t(x, x') for all x and some x': (b, n, columns)."""
        return K[:, columns] - namespace(self.W).matrix_transpose(self.W) @ self.W[:, :, columns]
