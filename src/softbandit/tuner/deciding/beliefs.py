"""Beliefs of a tuner: models of reward and costs, learned from its evidence, and posteriors from its newest part.

What is learned is a function of the first `fitted` measurements, and the posteriors of the first `synced`. Both grow
in steps that depend on the number of measurements alone, so they do not depend on who learned them or when. Those
since then are taken into account in one block in each decision.

The cost is bounded: posteriors are those of the newest KEPT different points if a round looks at all configurations
of a finite space, and of the newest KEPT_ANYWHERE otherwise, since then each round has candidates of its own. If old
data count less and less, each measurement is a point of its own, and those older than FORGOTTEN half-lives are left
out.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats, Ints
from softbandit.domains import FINITE_LIMIT
from softbandit.gp import CandidatePosterior, Drifting, Kernel, Matern, PointEffects, PointPosterior, Repeats
from softbandit.policies.autopilot_knowledge import INITIAL, RELEARN
from softbandit.policies.output_models import OutputModel, as_counted, learn_outputs
from softbandit.policies.output_units import Units
from softbandit.tuner.deciding.evidence import Evidence
from softbandit.tuner.words.description import Description

BASELINE_ROUNDS = 4  # at the baseline, to learn the noise
KEPT = 1000  # different points
KEPT_ANYWHERE = 500
SYNC = 64  # measurements after which posteriors are built again
FORGOTTEN = 8  # half-lives after which data are left out: their correlation with now is 0.4%
RECENT = 250  # measurements to learn from, if old data count less
RELEARN_WITHIN = 4  # half-lives


class Steps(NamedTuple):
    """The numbers of measurements that models were learned from, and posteriors built from."""

    fitted: int
    synced: int

    @classmethod
    def of(cls, count: int, description: Description) -> "Steps":
        """Return the steps at a number of measurements; zeros while there are too few."""
        longest = math.inf if half_life(description) is None else RELEARN_WITHIN * (half_life(description) or 0)
        fitted, following = 0, first_fit(description)
        while following <= count:
            fitted, following = following, math.ceil(min(RELEARN * following, following + max(longest, SYNC)))
        return cls(fitted, fitted + SYNC * ((count - fitted) // SYNC) if fitted else 0)


def first_fit(description: Description) -> int:
    """Return the number of measurements from which models are learned first."""
    return INITIAL + (0 if description.baseline is None else BASELINE_ROUNDS)


def half_life(description: Description) -> int | None:
    """Return the rounds after which old data count half, if that is given."""
    return description.forget if isinstance(description.forget, int) else None


# -- Learning. --


def kernel_form(evidence: Evidence) -> Kernel:
    """Return the form of the functions: a length scale for each feature, and drift if data are to be forgotten."""
    smooth, N = Matern([1.0] * evidence.dimension), half_life(evidence.description)
    return smooth if N is None else Drifting(smooth, N)


def points(evidence: Evidence, first: int, last: int) -> Floats:
    """Return measured points as kernels see them: with their time, if the functions drift."""
    X = evidence.X[first:last]
    return X if half_life(evidence.description) is None else np.c_[X, evidence.times[first:last]]


def learn_models(evidence: Evidence, start: int, fitted: int) -> tuple[OutputModel, ...]:
    """Return the models learned from measurements `start` to `fitted`."""
    drifts = half_life(evidence.description) is not None
    X, Y = points(evidence, start, fitted), evidence.Y[start:fitted]
    if drifts:
        X, Y = X[-RECENT:], Y[-RECENT:]
    noises = evidence.description.output_noise
    models = learn_outputs(kernel_form(evidence), Repeats.of(X, Y[:, 0]), Y, [None] * len(noises), noises)
    return tuple(map(without_own_effects, models)) if drifts else models


def without_own_effects(model: OutputModel) -> OutputModel:
    """Return the same model with effects of points as noise: it makes no difference if all points are different."""
    e = model.effects
    return model._replace(effects=PointEffects(e.kernel, e.offset, e.signal, 0.0, e.own + e.noise))


def table_of(models: tuple[OutputModel, ...]) -> Floats:
    """Return models as an array, one row per output."""
    return np.array([model.row for model in models])


def models_of(table: Floats, evidence: Evidence) -> tuple[OutputModel, ...]:
    """Return the models in an array."""
    models = tuple(OutputModel.from_row(row, kernel_form(evidence)) for row in table)
    return models if half_life(evidence.description) is None else tuple(map(without_own_effects, models))


# -- Posteriors. --


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Models, and posteriors from the measurements up to `synced`."""

    models: tuple[OutputModel, ...]
    posteriors: tuple[PointPosterior, ...]
    spreads: Floats  # (1 + m,): of each output over the points
    means: Floats  # (1 + m, k): of each output at the points, in the user's units
    synced: int

    @classmethod
    def of(cls, models: tuple[OutputModel, ...], evidence: Evidence, start: int, synced: int) -> "Beliefs":
        X, Y = points(evidence, start, synced), evidence.Y[start:synced]
        kept = newest(X, evidence.description)
        data = Repeats.of(X[kept], Y[kept, 0])
        counted = as_counted(models, data, Y[kept]).T
        posteriors = tuple(
            PointPosterior.of(model.effects, data.with_values(model.units.inside(y)))
            for model, y in zip(models, counted, strict=True)
        )
        means = np.array([data.with_values(y).means for y in counted])
        # Just after a shift there are too few points to tell the spread.
        spreads = [Units.of(y).spread for y in (means if len(data.points) >= INITIAL else evidence.Y[:synced].T)]
        return cls(models, posteriors, np.array(spreads), means, synced)

    @property
    def points(self) -> Floats:
        return self.posteriors[0].points

    def at(self, X: Floats) -> tuple[CandidatePosterior, ...]:
        """Return the posterior of each output at candidates (n, d)."""
        return tuple(CandidatePosterior.of(posterior, X) for posterior in self.posteriors)

    @cached_property
    def without_candidates(self) -> tuple[CandidatePosterior, ...]:
        return self.at(self.points[:0])


def has_fixed_candidates(description: Description) -> bool:
    """Return whether every round looks at the same points: all configurations."""
    return description.space.size <= FINITE_LIMIT and description.context is None and half_life(description) is None


def newest(X: Floats, description: Description) -> Ints:
    """Return the measurements of the newest different points, in order; with a half-life, the newest ones."""
    N, most = half_life(description), KEPT if has_fixed_candidates(description) else KEPT_ANYWHERE
    if N is not None:
        return np.arange(max(0, len(X) - min(most, FORGOTTEN * N)), len(X))
    _, place = np.unique(X, axis=0, return_inverse=True)
    place = place.ravel()
    last = np.zeros(place.max() + 1, dtype=np.int64)
    np.maximum.at(last, place, np.arange(len(X)))
    oldest = np.sort(last)[-most:][0]
    return np.flatnonzero(last[place] >= oldest)
