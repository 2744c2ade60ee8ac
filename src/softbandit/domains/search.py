"""The maximiser of a function on a continuous or mixed domain, such as a round's pseudo-acquisition.

1. Low-discrepancy candidates (Sobol), the best points so far, and points around those.
2. From the best of them, some distance apart, L-BFGS-B with gradients: all starts as one
   problem, so that every evaluation is one batch; then the best start alone.
3. In a mixed space that moves the continuous coordinates only; then steps to neighbouring
   discrete values, with the continuous ones moved again, until none is better.

Without gradients step 2 samples ever smaller neighbourhoods of the best points.

The paper asks for a maximiser within C / sqrt(t) in round t, which adds C sqrt(T) to the
regret. A local search stops when a step gains less than a hundredth of that, and the last
one to the end. That the best hill was climbed is not proved: `gap` measures it against a grid.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from softbandit.backend.shapes import Floats
from softbandit.domains.spaces import Domain

ACCURACY = 0.01
"""C, in units of the reward's bound B: the search aims at z within 0.01 B / sqrt(t) of its maximum."""

CANDIDATES = 512
STARTS = 8
NEAR = 16  # best points so far
AROUND = 4  # of them get company,
COMPANY = 8  # this many points each
JOINT_STEPS, ALONE_STEPS = 30, 100  # evaluations allowed of step 2
APART = 0.1  # of two starts, relative to the domain's diagonal
RADII = (0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4)  # of neighbourhoods where there are no gradients
ROUNDS = 8  # of discrete steps


class Found(NamedTuple):
    """The points that a search has seen, and their values."""

    points: Floats  # (n, d)
    values: Floats  # (n,)

    @property
    def best(self) -> Floats:
        return np.asarray(self.points[int(self.values.argmax())])

    def more(self, points: Floats, values: Floats) -> "Found":
        return Found(np.concatenate([self.points, points]), np.concatenate([self.values, values]))


@dataclass(frozen=True, eq=False)
class Objective:
    """What is maximised on a domain, divided by `unit` so that it is of the order of one."""

    value: Callable[[Floats], Floats]  # (n, d) -> (n,)
    slope: Callable[[Floats], tuple[Floats, Floats]] | None  # -> (n,) and the gradients (n, d)
    unit: float = 1.0


def search(
    objective: Objective, space: Domain, near: Floats, rng: np.random.Generator, accuracy: float = 1e-9
) -> Found:
    """Everything seen on the way to a maximiser that is meant to be accurate to `accuracy`."""
    X = candidates(space, near, rng)
    found = Found(X, objective.value(X))
    found = _refined(objective, space, found, rng, accuracy)
    return found if space.free.all() else _discrete(objective, space, found, accuracy)


def accuracy(t: int, bound: float) -> float:
    """C / sqrt(t), with C = 0.01 B."""
    return ACCURACY * bound / math.sqrt(t)


def candidates(space: Domain, near: Floats, rng: np.random.Generator) -> Floats:
    """Sobol points, the points that were good so far, and some around the first of those."""
    from scipy.stats.qmc import Sobol

    spread = space.at(Sobol(space.dimension, rng=rng).random(CANDIDATES))
    near = near[:NEAR]
    around = np.repeat(near[:AROUND], COMPANY, axis=0)
    step = 0.1 * rng.random((len(around), 1)) ** 2 * rng.standard_normal(around.shape)
    return np.concatenate([spread, near, space.snap(around + step * (space.upper - space.lower))])


def _refined(objective: Objective, space: Domain, found: Found, rng: np.random.Generator, accuracy: float) -> Found:
    starts = _apart(found, space)
    if not space.free.any():
        return found
    if objective.slope is None:
        return _zoomed(objective, space, found, starts, rng)
    ends = _climb(objective, space, starts, accuracy, JOINT_STEPS)
    found = found.more(ends, objective.value(ends))
    end = _climb(objective, space, found.best[None], 1e-7 * accuracy, ALONE_STEPS)
    return found.more(end, objective.value(end))


def _apart(found: Found, space: Domain) -> Floats:
    """The best points that are some distance from one another (the best of all first)."""
    width = (space.upper - space.lower) * math.sqrt(space.dimension)
    order = np.argsort(-found.values, kind="stable")
    U = found.points[order] / width
    chosen: list[int] = []
    left = np.ones(len(U), dtype=bool)
    while left.any() and len(chosen) < STARTS:
        i = int(left.argmax())
        chosen.append(i)
        left &= ((U - U[i]) ** 2).sum(axis=1) > APART**2
    return np.asarray(found.points[order[chosen]])


def _climb(objective: Objective, space: Domain, starts: Floats, accuracy: float, steps: int) -> Floats:
    """L-BFGS-B from all starts at once, on the sum of their values."""
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

    enough = 0.01 * accuracy / objective.unit
    u = ((starts[:, free] - low) / width).ravel()
    options = {"maxfun": steps, "ftol": enough, "gtol": 1e-9}
    found = minimize(loss, u, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * len(u), options=options)
    return space.snap(place(found.x))


def _zoomed(objective: Objective, space: Domain, found: Found, starts: Floats, rng: np.random.Generator) -> Found:
    """Ever smaller neighbourhoods of the best point and of the other starts."""
    free = space.free
    for radius in RADII:
        centres = np.concatenate([found.best[None], starts[: AROUND - 1]])
        X = np.repeat(centres, 4 * COMPANY, axis=0)
        X[:, free] += radius * ((space.upper - space.lower) * rng.standard_normal(X.shape))[:, free]
        X = space.snap(X)
        found = found.more(X, objective.value(X))
    return found


def _discrete(objective: Objective, space: Domain, found: Found, accuracy: float) -> Found:
    """Steps to the best neighbour in the discrete parameters while that is better."""
    for _ in range(ROUNDS):
        steps = space.neighbours(found.best)
        before = found.values.max()
        values = objective.value(steps)
        found = found.more(steps, values)
        if objective.slope is not None and space.free.any():
            ends = _climb(objective, space, steps[np.argsort(-values)[:AROUND]], accuracy, JOINT_STEPS)
            found = found.more(ends, objective.value(ends))
        if not found.values.max() > before + 1e-12 * objective.unit:
            break
    return found


def gap(value: Callable[[Floats], Any], x: Floats, grid: Floats) -> float:
    """How far value(x) is below the largest on a grid of points: at most 0 where the search did better."""
    return float(np.max(value(grid)) - value(x[None])[0])
