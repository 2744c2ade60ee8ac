"""Effects of single parameters: what is expected if one of them is changed, and the others stay as they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from softbandit.backend import Floats
from softbandit.domains import Space

STEPS = 25  # values of a parameter that has more


@dataclass(frozen=True, eq=False)
class Effect:
    """The expected outputs at some values of one parameter, each with an interval, in the user's units."""

    parameter: str
    values: list[Any]
    estimates: Floats  # (1 + m, k, 3): of the metric, then of what each limit is on: value, low, high


def varied(space: Space, x: Floats) -> dict[str, Floats]:
    """Return configurations (k, d) that differ from x in one parameter, by its name."""
    rows = {}
    for name, parameter, place in space.parts:
        if parameter.width:
            features = _features(parameter)
            rows[name] = np.tile(x, (len(features), 1))
            rows[name][:, place] = features
    return rows


def _features(parameter: Any) -> Floats:
    """Return the features of all values of a parameter, or of STEPS of them, end to end."""
    if parameter.size <= STEPS:
        return np.asarray(parameter.every())
    if parameter.width == 1:
        return np.unique(parameter.snap(np.linspace(0, 1, STEPS)[:, None]), axis=0)
    if np.isinf(parameter.size):  # around a circle
        return np.array([parameter.encode("", parameter.period * i / STEPS) for i in range(STEPS)])
    return np.asarray(parameter.every())[:STEPS]
