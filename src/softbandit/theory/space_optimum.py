"""Points that stand for a continuous or mixed domain in the linear program over mixtures, by column generation."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats
from softbandit.domains import Domain, Objective, maximise
from softbandit.theory.optimum import optimal_dual

INITIAL_POINTS = 4096  # that a search starts with
MAX_ROUNDS = 20  # of column generation
TARGET_RESOLUTION = 1e-7  # relative to the size of f - phi . g; the linear program is no more accurate
STEP = 1e-6  # of a difference quotient, relative to the domain's width

Function = Callable[[Floats], Floats]  # (n, d) -> (n, 1 + m)


class Candidates(NamedTuple):
    """Points that represent the domain: pi* over them is within `resolution` of pi* over the whole domain."""

    points: Floats  # (n, d)
    values: Floats  # (n, 1 + m)
    resolution: float


def generate_candidates(function: Function, space: Domain, witnesses: Floats | None) -> Candidates:
    """Column generation: find pi* over the points and its prices phi*, add the domain's best points at phi*, repeat.

    By duality E_pi*[f] over the whole domain is at most max_x f(x) - phi* . g(x). The resolution
    is the excess of that maximum, as found by a search, over the value on the candidates.
    """
    rng = np.random.default_rng(0)
    X = initial_points(space, witnesses, rng)
    h = function(X)
    resolution = np.inf
    for _ in range(MAX_ROUNDS):
        phi, value = optimal_dual(h[:, 0], h[:, 1:]) if h.shape[1] > 1 else (np.zeros(0), h[:, 0].max())
        z = _lagrangian(function, space, phi)
        best_first = X[np.argsort(-(h[:, 0] - h[:, 1:] @ phi))]
        maximum = maximise(z, space, best_first, rng, 1e-12 * z.unit)
        resolution = min(resolution, max(0.0, float(maximum.values.max()) - value))
        added = maximum.points[np.argsort(-maximum.values)[:4]]
        X, h = np.concatenate([X, added]), np.concatenate([h, function(added)])
        if resolution <= TARGET_RESOLUTION * z.unit:
            break
    return Candidates(X, h, resolution)


def initial_points(space: Domain, witnesses: Floats | None, rng: np.random.Generator) -> Floats:
    """Return points that cover the domain, its corners, and the witnesses."""
    d, n = space.dimension, INITIAL_POINTS
    cube = np.linspace(0, 1, n + 1)[:, None] if d == 1 else rng.random((n, d))
    X = np.concatenate([space.at(cube), space.corners()])
    return X if witnesses is None else np.concatenate([X, witnesses])


def _lagrangian(function: Function, space: Domain, phi: Floats) -> Objective:
    """Return f - phi . g, with difference quotients for its gradient."""
    weights, step = np.append(1.0, -phi), STEP * (space.upper - space.lower)

    def value(X: Floats) -> Floats:
        return np.asarray(function(X) @ weights)

    def slope(X: Floats) -> tuple[Floats, Floats]:
        low, high = np.maximum(X - step, space.lower), np.minimum(X + step, space.upper)
        columns = []
        for j, along in enumerate(np.eye(space.dimension, dtype=bool)):
            up, down = np.where(along, high, X), np.where(along, low, X)
            columns.append((value(up) - value(down)) / (high[:, j] - low[:, j]))
        return value(X), np.stack(columns, axis=1)

    size = float(np.abs(function(space.corners())).max(axis=0) @ np.abs(weights))
    return Objective(value, slope, unit=size or 1.0)
