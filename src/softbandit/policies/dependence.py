"""The parameters that an output depends on, by what was learned of it.

The total effect of a parameter (Sobol's, by Jansen's formula) is the share of the variance of the posterior mean mu
over the domain that the parameter causes, alone or together with others:

    E[(mu(x) - mu(x'))^2] / E[(mu(x) - mu(y))^2],    x and y independent, x' = x with the parameter's value at y

The denominator is twice the variance.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from softbandit.backend import Floats
from softbandit.domains import Space
from softbandit.gp import PointPosterior, subset

if TYPE_CHECKING:
    from softbandit.policies.autopilot_knowledge import Knowledge

PAIRS = 512  # of points, over which means are taken
FLAT = 0.01  # variance of mu in units of what was observed: an output that varies less depends on no parameter


def influences(known: "Knowledge", i: int) -> dict[str, float]:
    """Return the total effect of each parameter on output i."""
    units, effects, _ = known.models[i]
    fit = PointPosterior.of(effects, subset(known.by_point(i).with_values(units.inside(known.counted[:, i]))))
    alpha = fit.whitened @ fit.M

    def mean(X: Floats) -> Floats:
        """Return that of the smooth part, less a constant."""
        return np.asarray(fit.model.covariance(X, fit.points) @ alpha)

    return total_effects(mean, *_pairs(known), _places(known))


def total_effects(
    mean: Callable[[Floats], Floats], X: Floats, others: Floats, places: dict[str, slice]
) -> dict[str, float]:
    """Return the total effect of the parameters at these places, from independent points X and others (n, d)."""
    at_X = mean(X)

    def change(place: slice) -> float:
        """Return the mean square of the change if the values there are those of the other points."""
        moved = X.copy()
        moved[:, place] = others[:, place]
        return float(np.mean((at_X - mean(moved)) ** 2))

    most = change(slice(None))
    flat = most < 2 * FLAT
    return {name: 0.0 if flat else min(change(place) / most, 1.0) for name, place in places.items()}


def _pairs(known: "Knowledge") -> tuple[Floats, Floats]:
    """Return two independent samples of the domain."""
    policy, rng = known.policy, np.random.default_rng(0)
    if policy.continuous:
        points = policy.arms.at(rng.random((2 * PAIRS, policy.dimension)))
    else:
        points = policy.arms[rng.integers(len(policy.arms), size=2 * PAIRS)]
    return points[:PAIRS], points[PAIRS:]


def _places(known: "Knowledge") -> dict[str, slice]:
    """Return the columns of each parameter that varies."""
    space = known.policy.space
    if isinstance(space, Space):
        return {name: place for name, parameter, place in space.parts if parameter.width}
    return {f"x[{j}]": slice(j, j + 1) for j in range(known.policy.dimension)}
