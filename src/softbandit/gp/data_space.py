"""The exact posterior over finite arms in data space: a row over the arms for each observation.

    w_t = k_{t-1}(., x_t) / sqrt(lambda + k_{t-1}(x_t, x_t))         k_t(x, x') = k(x, x') - W[:, x].W[:, x']

Nothing is factorised up front, and a round costs O(n r) for n arms and r rows W. That is for kernels whose rank is
close to n, such as Matern in 3 dimensions.

Several observations of an arm equal one of their mean, with less noise. So when there are twice as many rows as
observed arms, they are replaced by one per arm, which explain as much: r stays below twice the number of
*different* arms observed. Each trial has rows of its own.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend import ArmIndex, Floats, Ints, OutputsPerArm, PerArm, PerOutput, PerTrial, at_arm
from softbandit.errors import Description, KernelError
from softbandit.gp.anchored import GrowingRows
from softbandit.gp.kernel import Kernel
from softbandit.gp.pivoted_cholesky import Features, checked_diag, features
from softbandit.gp.weight_space import plus_outer

FEW_ARMS = 256  # for which weight space is as fast: it computes all trials at once
SAMPLE = 256, 512  # arms by which a rank is judged, at least and at most: as many as there are rounds
HIGH_RANK = 0.75  # of the sample
LEAST_LAMBDA = 1e-4  # with less, rounding errors of k are too large beside the noise: weight space has smaller ones
FEW_ROWS = 32  # that are not worth replacing
NOT_FACTORISED = np.array([-1])  # in place of pivots


def has_high_rank(kernel: Kernel, arms: Floats, tolerance: float, rounds: int) -> bool:
    """Return whether the kernel has about as many features as there are rounds or arms, judged by some of the arms."""
    if len(arms) <= FEW_ARMS:
        return False
    sample = some_arms(arms, max(SAMPLE[0], min(rounds, SAMPLE[1])))
    factor = features(kernel, sample, tolerance, largest_rank=int(HIGH_RANK * len(sample)))
    return factor.residual > tolerance * float(factor.diag.max())


def some_arms(arms: Floats, most: int) -> Floats:
    """Return random arms, the same each time; all of them if there are no more."""
    return arms if len(arms) <= most else arms[np.random.default_rng(0).choice(len(arms), most, replace=False)]


@dataclass(frozen=True, eq=False)
class ArmKernel:
    """A kernel on finite arms, of which rows are computed when they are needed."""

    kernel: Kernel
    arms: Floats
    tolerance: float  # of its features
    diag: Floats = field(init=False)  # (n,)

    def __post_init__(self) -> None:
        validation.store(self, diag=checked_diag(self.kernel, self.arms))

    @cached_property
    def features(self) -> Features:
        """The kernel factorised, for those who need all of its features."""
        return features(self.kernel, self.arms, self.tolerance)

    @cached_property
    def matrix(self) -> Floats:
        """The kernel between all arms (n, n), for those who need rows of all of them."""
        return self.kernel(self.arms, self.arms)

    @property
    def pivots(self) -> Ints:
        """A mark in place of the pivots of `Features`, in a file."""
        return NOT_FACTORISED

    @property
    def shape(self) -> tuple[int, int]:
        """The largest rank that there may be, and the number of arms."""
        return len(self.arms), len(self.arms)

    def rows(self, arms: Ints) -> Floats:
        """Return k(x, .) of some arms: (arms, n)."""
        return self.kernel(self.arms[arms], self.arms)

    def prior(self, regularisation: float, outputs: int, trials: int) -> "DataPosterior":
        """Return mu_0 = 0, k_0 = k."""
        mu = np.zeros((trials, outputs, len(self.arms)))
        blank = tuple(ObservedArms.none(self, regularisation) for _ in range(trials))
        return DataPosterior(blank, mu, np.tile(self.diag, (trials, 1)), np.zeros(trials))


class DataPosterior(NamedTuple):
    """The posterior of k outputs over the arms, for b trials."""

    trials: tuple["ObservedArms", ...]
    mu: OutputsPerArm
    var: PerArm
    gain: PerTrial

    def condition(self, regularisation: float, arm: ArmIndex, y: PerOutput) -> "DataPosterior":
        """Return the posterior after observing y (b, k) at each trial's arm."""
        after = [trial.observe(int(i)) for trial, i in zip(self.trials, arm, strict=True)]
        trials, rows, variances = zip(*after, strict=True)
        w, s = np.stack(rows), np.array(variances)
        error = (y - at_arm(self.mu, arm)) / np.sqrt(regularisation + s)[:, None]
        gain = self.gain + 0.5 * np.log1p(s / regularisation)
        return DataPosterior(trials, plus_outer(self.mu, error, w), np.maximum(self.var - w * w, 0.0), gain)

    def covariance(self, columns: slice) -> Floats:
        """Return k_t(x, x') for all x and some x': (b, n, columns)."""
        return np.stack([trial.covariance(columns) for trial in self.trials])


@dataclass(frozen=True, eq=False)
class ObservedArms:
    """One trial's rows. Observing returns a new value.

    The new value shares the buffer of its rows with the old one, and appends to it in place. A second new value
    from the same old one gets a copy.
    """

    prior: ArmKernel
    regularisation: float  # lambda
    arms: Ints  # (r,): the arm of each row
    counts: Ints  # (c,): the observations that each of the first c rows stands for; later ones stand for one each
    _rows: GrowingRows  # W

    @classmethod
    def none(cls, prior: ArmKernel, regularisation: float) -> "ObservedArms":
        """Return the value before the first round."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(prior, regularisation, nothing, nothing, GrowingRows.from_matrix(np.empty((0, len(prior.arms)))))

    @property
    def W(self) -> Floats:
        return self._rows.buffer[: len(self.arms)]

    def observe(self, i: int) -> tuple["ObservedArms", PerArm, float]:
        """Return the value after an observation of arm i, the row of it, and k_{t-1}(x, x)."""
        W = self.W
        k = self.prior.rows(np.array([i]))[0] - W[:, i].copy() @ W
        s = max(float(k[i]), 0.0)
        row = k / math.sqrt(self.regularisation + s)
        shared = self._rows.rows > len(W)  # another value has appended to it
        rows = GrowingRows.from_matrix(W) if shared else self._rows
        rows.append(row)
        after = replace(self, arms=np.append(self.arms, i), _rows=rows)
        return after._compressed() if i in self.arms else after, row, s

    def covariance(self, columns: slice) -> Floats:
        """Return k_t(x, x') for all x and some x': (n, columns)."""
        arms = self.prior.arms
        return self.prior.kernel(arms, arms[columns]) - self.W.T @ self.W[:, columns]

    def arrays(self) -> Iterator[Ints]:
        """Return what determines the rows, for a file."""
        yield from (self.arms, self.counts)

    def refilled(self, values: Iterator[Ints]) -> "ObservedArms":
        """Return the value with the state that `arrays` returned."""
        arms, counts = next(values), next(values)
        valid = arms.ndim == counts.ndim == 1 and len(counts) <= len(arms) and (counts > 0).all()
        if not valid or ((arms < 0) | (arms >= len(self.prior.arms))).any():
            raise ValueError("rows of arms that there are not, or of no observations")
        filled = self._of_means(arms[: len(counts)], counts)
        for i in arms[len(counts) :].tolist():
            filled, *_ = filled.observe(i)
        return filled

    def _compressed(self) -> "ObservedArms":
        """Return the same posterior with one row per arm, if there are twice as many."""
        if len(self.arms) < max(FEW_ROWS, 2 * len(set(self.arms.tolist()))):
            return self
        arms, places = np.unique(self.arms, return_inverse=True)
        counts = np.bincount(places)
        counts[places[: len(self.counts)]] += self.counts - 1
        return self._of_means(arms, counts)

    def _of_means(self, arms: Ints, counts: Ints) -> "ObservedArms":
        """Return the value after observing the mean of so many observations at each of these arms."""
        K = self.prior.rows(arms)
        try:
            L = np.linalg.cholesky(K[:, arms] + np.diag(self.regularisation / counts))
        except np.linalg.LinAlgError:
            got = Description(f"one with a negative eigenvalue on {len(arms)} arms")
            raise KernelError.of("kernel", "a positive semi-definite function", got, "Check its formula.") from None
        return replace(self, arms=arms, counts=counts, _rows=GrowingRows.from_matrix(np.linalg.solve(L, K)))
