"""Domains and points in a few words, for `repr`."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from softbandit.backend.display import brief, brief_values, counted
from softbandit.domains.spaces import Domain, Space


def extent_in_words(arms: Any) -> str:
    """Return what is chosen from, such as "30 arms in 1 dimension", "box in 2 dimensions", "space of 3 parameters"."""
    if isinstance(arms, Space):
        return f"space of {counted(len(arms.parts), 'parameter')}"
    what, d = ("box", arms.dimension) if isinstance(arms, Domain) else (counted(len(arms), "arm"), arms.shape[1])
    return f"{what} in {counted(d, 'dimension')}"


def point_in_words(arm: int | None, x: ArrayLike, values: Mapping[str, Any] | None) -> str:
    """Return an arm or a point, such as "arm 7", "workers=33", "arm 32, workers=33" or "x = 0.1, 0.52"."""
    names = [] if arm is None else [f"arm {arm}"]
    names += [] if values is None else [brief_values(values)]
    return ", ".join(names) or f"x = {brief(x)}"
