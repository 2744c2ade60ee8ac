"""The exact posterior over finite arms, in features that are added when an arm is first observed.

| symbol | meaning | shape |
|---|---|---|
| Phi | features of the arms: K's Cholesky factorisation, with the observed arms as pivots | n x r |
| U | square root of the weights' covariance U^T U, whose prior is I | r x r |

An observed arm is a combination of the features without rest, so nothing is approximated: this is the posterior
of weight_space.py, in another basis. Nothing is factorised up front, and a round costs O(n r + r^2) with r the
number of *different* arms that a trial has observed. That is for kernels whose rank is close to n, such as Matern in
3 dimensions. Each trial has features of its own, so many trials take more memory than with features for all.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend import ArmIndex, Floats, Ints, OutputsPerArm, PerArm, PerOutput, PerTrial, at_arm
from softbandit.gp.anchored import GrowingRows
from softbandit.gp.kernel import Kernel
from softbandit.gp.pivoted_cholesky import Features, checked_diag, features, residual_after
from softbandit.gp.weight_space import plus_outer, refresh_is_due

HIGH_RANK = 128  # features, beyond which a kernel is not factorised up front
SAMPLE = 256  # arms at most, by which its rank is judged
BLOCK = 1024  # arms per product: the second product with a block then finds it in the cache
NOT_FACTORISED = np.array([-1])  # in place of pivots


def has_high_rank(kernel: Kernel, arms: Floats, tolerance: float) -> bool:
    """Return whether the kernel has more than HIGH_RANK features, judged by some of the arms."""
    if len(arms) <= HIGH_RANK:
        return False
    sample = features(kernel, some_arms(arms, SAMPLE), tolerance, largest_rank=HIGH_RANK)
    return sample.residual > tolerance * float(sample.diag.max())


def some_arms(arms: Floats, most: int) -> Floats:
    """Return random arms, the same each time; all of them if there are no more."""
    return arms if len(arms) <= most else arms[np.random.default_rng(0).choice(len(arms), most, replace=False)]


@dataclass(frozen=True, eq=False)
class ArmKernel:
    """A kernel on finite arms, of which rows are computed when they are needed."""

    kernel: Kernel
    arms: Floats
    tolerance: float  # as that of `features`
    diag: Floats = field(init=False)  # (n,)
    largest: float = field(init=False)  # of the diagonal

    def __post_init__(self) -> None:
        diag = checked_diag(self.kernel, self.arms)
        validation.store(self, diag=diag, largest=float(diag.max()))

    @cached_property
    def features(self) -> Features:
        """The kernel factorised, for those who need all of its features."""
        return features(self.kernel, self.arms, self.tolerance)

    @property
    def pivots(self) -> Ints:
        """A mark in place of the pivots of `Features`, in a file."""
        return NOT_FACTORISED

    @property
    def shape(self) -> tuple[int, int]:
        """The largest rank that there may be, and the number of arms."""
        return len(self.arms), len(self.arms)

    def row(self, i: int) -> PerArm:
        return self.kernel(self.arms, self.arms[i : i + 1])[:, 0]

    def prior(self, outputs: int, trials: int) -> "DataPosterior":
        """Return mu_0 = 0, k_0 = k."""
        mu = np.zeros((trials, outputs, len(self.arms)))
        blank = tuple(ObservedArms.none(self) for _ in range(trials))
        return DataPosterior(blank, mu, np.tile(self.diag, (trials, 1)), np.zeros(trials))


class DataPosterior(NamedTuple):
    """The posterior of k outputs over the arms, for b trials."""

    trials: tuple["ObservedArms", ...]
    mu: OutputsPerArm
    var: PerArm
    gain: PerTrial

    def condition(self, regularisation: float, arm: ArmIndex, y: PerOutput) -> "DataPosterior":
        """Return the posterior after observing y (b, k) at each trial's arm."""
        after = [trial.observe(int(i), regularisation) for trial, i in zip(self.trials, arm, strict=True)]
        trials, rows, variances = zip(*after, strict=True)
        s = np.array(variances)  # k_{t-1}(x, x)
        root_d = np.sqrt(regularisation + s)[:, None]
        k = np.stack(rows) / root_d  # k_{t-1}(., x) / sqrt(d), over all arms
        mu = plus_outer(self.mu, (y - at_arm(self.mu, arm)) / root_d, k)
        gain = self.gain + 0.5 * np.log1p(s / regularisation)
        return DataPosterior(trials, mu, np.maximum(self.var - k * k, 0.0), gain)

    def refreshed(self, t: int) -> "DataPosterior":
        """Return the posterior after round t, with var computed from the root where that is due."""
        due = [refresh_is_due(t, trial.rank) for trial in self.trials]
        if not any(due):
            return self
        fresh = [trial.variance() if now else var for trial, now, var in zip(self.trials, due, self.var, strict=True)]
        return self._replace(var=np.stack(fresh))

    def covariance(self, columns: slice) -> Floats:
        """Return k_t(x, x') for all x and some x': (b, n, columns)."""
        return np.stack([trial.covariance(columns) for trial in self.trials])


@dataclass(frozen=True, eq=False)
class ObservedArms:
    """One trial's features and the square root of their weights' covariance. Observing returns a new value.

    The new value shares the buffer of its features with the old one, and appends to it in place. A second new value
    from the same old one gets a copy.
    """

    prior: ArmKernel
    pivots: Ints  # (r,): the arms that have their own feature
    root: Floats  # (r, r): U
    residual: PerArm  # k(x, x) - |phi(x)|^2
    _rows: GrowingRows  # Phi^T

    @classmethod
    def none(cls, prior: ArmKernel) -> "ObservedArms":
        """Return the value before the first round."""
        rows = GrowingRows.from_matrix(np.empty((0, len(prior.arms))))
        return cls(prior, np.empty(0, dtype=np.int64), np.empty((0, 0)), prior.diag, rows)

    @property
    def rank(self) -> int:
        return len(self.pivots)

    @property
    def basis(self) -> Floats:
        """Phi^T: (r, n)."""
        return self._rows.buffer[: self.rank]

    def observe(self, i: int, regularisation: float) -> tuple["ObservedArms", PerArm, float]:
        """Return the value after an observation of arm i, k_{t-1}(., x) over the arms, and k_{t-1}(x, x)."""
        phi = self.basis[:, i].copy()
        v = self.root @ phi
        q = v @ self.root  # U^T v
        if self._spans(i):
            after, (k,) = self, _over_arms([q], self.basis)
        else:
            explained, k = _over_arms([phi, q], self.basis)
            after, row = self._with_pivot(i, explained)
            k += row[i] * row
            v, q = np.append(v, row[i]), np.append(q, row[i])
        s = float(v @ v)
        root_d = math.sqrt(regularisation + s)
        root = np.outer(v / (-math.sqrt(regularisation) - root_d), q / root_d)  # as weight_space.condition
        root[: self.rank, : self.rank] += self.root
        root[self.rank :, self.rank :] += 1.0  # the weight of a new feature is ~ N(0, 1)
        return replace(after, root=root), k, s

    def variance(self) -> PerArm:
        """Return k_t(x, x) over the arms, from the root: |U phi(x)|^2, and what the features do not explain."""
        halves = map(self._half, _blocks(len(self.residual)))
        explained: PerArm = np.concatenate([np.square(half).sum(axis=0) for half in halves])
        return self.residual + explained

    def covariance(self, columns: slice) -> Floats:
        """Return k_t(x, x') for all x and some x': (n, columns)."""
        basis, arms, half = self.basis, self.prior.arms, self._half(slice(None))
        unexplained = self.prior.kernel(arms, arms[columns]) - basis.T @ basis[:, columns]
        return unexplained + half.T @ half[:, columns]

    def arrays(self) -> Iterator[Ints | Floats]:
        """Return all that observations changed, for a file: the pivots determine the features."""
        yield from (self.pivots, self.root)

    def refilled(self, values: Iterator[Ints | Floats]) -> "ObservedArms":
        """Return the value with the state that `arrays` returned."""
        pivots, root = next(values), next(values)
        r = pivots.size
        if pivots.shape != (r,) or root.shape != (r, r) or np.isnan(root).any():
            raise ValueError(f"pivots of shape {pivots.shape} with a root of shape {root.shape}, or NaN in it")
        filled = ObservedArms.none(self.prior)
        for i in pivots.tolist():
            if not 0 <= i < len(self.prior.arms) or filled._spans(i):
                raise ValueError(f"arm {i} as a pivot")
            (explained,) = _over_arms([filled.basis[:, i].copy()], filled.basis)
            filled, _ = filled._with_pivot(i, explained)
        return replace(filled, root=np.asarray(root))

    def _half(self, arms: slice) -> Floats:
        """Return U phi(x) of some arms: (r, arms)."""
        return self.root @ self.basis[:, arms]

    def _spans(self, i: int) -> bool:
        """Return whether arm i is a combination of the features."""
        return bool(self.residual[i] <= self.prior.tolerance * self.prior.largest)

    def _with_pivot(self, i: int, explained: PerArm) -> tuple["ObservedArms", PerArm]:
        """Return the value with a feature for arm i and no root for it yet, and that feature.

        `explained` is phi(x_i).phi(.) over the arms.
        """
        row = (self.prior.row(i) - explained) / math.sqrt(self.residual[i])
        residual = residual_after(self.residual, row, i, self.prior.largest)
        grown = self._rows.rows > self.rank  # by another value
        rows = GrowingRows.from_matrix(self.basis) if grown else self._rows
        rows.append(row)
        return replace(self, pivots=np.append(self.pivots, i), residual=residual, _rows=rows), row


def _over_arms(weights: list[Floats], basis: Floats) -> list[PerArm]:
    """Return functions over the arms by their weights (r,), reading the basis (r, n) from memory once."""
    functions = np.empty((len(weights), basis.shape[1]))
    for arms in _blocks(basis.shape[1]):
        block = basis[:, arms]
        for function, w in zip(functions, weights, strict=True):
            function[arms] = w @ block
    return list(functions)


def _blocks(n: int) -> list[slice]:
    return [slice(first, first + BLOCK) for first in range(0, n, BLOCK)]
