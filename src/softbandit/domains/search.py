"""The maximiser of a function on a continuous or mixed domain, such as a round's pseudo-acquisition.

1. Evaluate low-discrepancy points (Sobol), promising points, and perturbed copies of those.
2. From the best of them that are some distance apart, run L-BFGS-B with gradients: all
   starts as one problem, so that every evaluation is one batch; then the best point alone.
3. In a mixed space, step 2 moves the continuous coordinates only. Then step to the best
   neighbouring discrete values, moving the continuous ones again, until nothing improves.

Without gradients, step 2 samples ever smaller neighbourhoods of the best points.

The paper asks for a maximiser within C / sqrt(t) in round t, which adds 2 C sqrt(T) to the
regret. The joint search stops when a step gains less than a hundredth of that, and the search
from the best point runs to convergence. Nothing proves that the global maximum was reached.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from softbandit.backend import Floats
from softbandit.domains.spaces import Domain

ACCURACY = 0.01  # C, in units of the reward's bound B: the search aims at z within 0.01 B / sqrt(t) of its maximum
CANDIDATES = 512
STARTS = 8
PROMISING = 16  # promising points that are candidates,
CENTRES = 4  # of which the first ones are perturbed
COPIES = 8  # into this many points per centre
JOINT_STEPS, ALONE_STEPS = 30, 100  # evaluations allowed in step 2
START_DISTANCE = 0.1  # between two starts, relative to the domain's diagonal
RADII = (0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4)  # of neighbourhoods, without gradients
DISCRETE_STEPS = 8


class Evaluations(NamedTuple):
    """Points, and the objective's values there."""

    points: Floats  # (n, d)
    values: Floats  # (n,)

    @property
    def best(self) -> Floats:
        return np.asarray(self.points[int(self.values.argmax())])

    def plus(self, more: "Evaluations") -> "Evaluations":
        return Evaluations(*map(np.concatenate, zip(self, more, strict=True)))


@dataclass(frozen=True, eq=False)
class Objective:
    """A function to maximise; `unit` is its order of magnitude."""

    value: Callable[[Floats], Floats]  # (n, d) -> (n,)
    slope: Callable[[Floats], tuple[Floats, Floats]] | None  # -> (n,) and the gradients (n, d)
    unit: float = 1.0

    def at(self, X: Floats) -> Evaluations:
        return Evaluations(X, self.value(X))


def maximise(
    objective: Objective, space: Domain, promising: Floats, rng: Generator, accuracy: float = 1e-9
) -> Evaluations:
    """Search for a maximiser to the given accuracy, and return all evaluations on the way.

    `promising` holds points (n, d) to start from, best first.
    """
    evaluated = _refine(objective, space, objective.at(candidates(space, promising, rng)), rng, accuracy)
    return evaluated if space.free.all() else _step_discrete(objective, space, evaluated, accuracy)


def accuracy(t: int, bound: float) -> float:
    """Return C / sqrt(t), with C = 0.01 B."""
    return ACCURACY * bound / math.sqrt(t)


def candidates(space: Domain, promising: Floats, rng: Generator) -> Floats:
    """Return Sobol points, promising points, and perturbed copies of the first of those."""
    from scipy.stats.qmc import Sobol

    spread = space.at(Sobol(space.dimension, rng=rng).random(CANDIDATES))
    promising = promising[:PROMISING]
    copies = np.repeat(promising[:CENTRES], COPIES, axis=0)
    step = 0.1 * rng.random((len(copies), 1)) ** 2 * rng.standard_normal(copies.shape)
    return np.concatenate([spread, promising, space.snap(copies + step * (space.upper - space.lower))])


def _refine(objective: Objective, space: Domain, known: Evaluations, rng: Generator, accuracy: float) -> Evaluations:
    """Add points found by moving the continuous coordinates of the best ones."""
    if not space.free.any():
        return known
    starts = _starts(known, space)
    if objective.slope is None:
        return _sample_neighbourhoods(objective, space, known, starts, rng)
    known = known.plus(_climb(objective, space, starts, accuracy, JOINT_STEPS))
    return known.plus(_climb(objective, space, known.best[None], 1e-7 * accuracy, ALONE_STEPS))


def _starts(evaluated: Evaluations, space: Domain) -> Floats:
    """Return the best points that are START_DISTANCE from one another, best first."""
    width = (space.upper - space.lower) * math.sqrt(space.dimension)
    order = np.argsort(-evaluated.values, kind="stable")
    U = evaluated.points[order] / width
    chosen: list[int] = []
    far = np.ones(len(U), dtype=bool)  # from all that are chosen
    while far.any() and len(chosen) < STARTS:
        i = int(far.argmax())
        chosen.append(i)
        far &= ((U - U[i]) ** 2).sum(axis=1) > START_DISTANCE**2
    return np.asarray(evaluated.points[order[chosen]])


def _climb(objective: Objective, space: Domain, starts: Floats, accuracy: float, steps: int) -> Evaluations:
    """Return the points at which L-BFGS-B ends from all starts at once, on the sum of their values."""
    from scipy.optimize import minimize

    slope, free = objective.slope, space.free
    assert slope is not None
    low, width = space.lower[free], (space.upper - space.lower)[free]

    def place(u: Floats) -> Floats:
        X = starts.copy()
        X[:, free] = low + u.reshape(len(starts), -1) * width
        return X

    def loss(u: Floats) -> tuple[float, Floats]:
        z, dz = slope(place(u))
        return -float(z.sum()) / objective.unit, (-dz[:, free] * width / objective.unit).ravel()

    u = ((starts[:, free] - low) / width).ravel()
    options = {"maxfun": steps, "ftol": 0.01 * accuracy / objective.unit, "gtol": 1e-9}
    optimum = minimize(loss, u, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * len(u), options=options)
    return objective.at(space.snap(place(optimum.x)))


def _sample_neighbourhoods(
    objective: Objective, space: Domain, evaluated: Evaluations, starts: Floats, rng: Generator
) -> Evaluations:
    """Add samples of ever smaller neighbourhoods of the best point and of the other starts."""
    free = space.free
    for radius in RADII:
        centres = np.concatenate([evaluated.best[None], starts[: CENTRES - 1]])
        X = np.repeat(centres, 4 * COPIES, axis=0)
        X[:, free] += radius * ((space.upper - space.lower) * rng.standard_normal(X.shape))[:, free]
        evaluated = evaluated.plus(objective.at(space.snap(X)))
    return evaluated


def _step_discrete(objective: Objective, space: Domain, evaluated: Evaluations, accuracy: float) -> Evaluations:
    """Step to the best neighbour in the discrete parameters while that improves the value."""
    for _ in range(DISCRETE_STEPS):
        before = evaluated.values.max()
        neighbours = objective.at(space.neighbours(evaluated.best))
        evaluated = evaluated.plus(neighbours)
        if objective.slope is not None and space.free.any():
            starts = neighbours.points[np.argsort(-neighbours.values)[:CENTRES]]
            evaluated = evaluated.plus(_climb(objective, space, starts, accuracy, JOINT_STEPS))
        if not evaluated.values.max() > before + 1e-12 * objective.unit:
            break
    return evaluated
