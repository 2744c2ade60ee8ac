"""The former name of the policy that learns everything from the data."""

import warnings

from softbandit.domains import Domain
from softbandit.gp import Kernel
from softbandit.model import Exploration
from softbandit.policies.autopilot import Autopilot


def Practical(
    space: Domain,
    kernel: Kernel,
    horizon: int,
    constraints: int = 1,
    explore: str | Exploration = "ucb",
    explore_cost: str | Exploration | None = None,
    relearn: str | int = "doubling",
    initial: int | None = None,
    width_scale: float = 0.1,
    slater: float | None = None,
    confidence: float = 0.1,
    dual: str = "projected",
) -> Autopilot:
    """Return an `Autopilot`. Deprecated, and removed in the next version: use `Autopilot`.

    Parameters
    ----------
    space, kernel, horizon, constraints
        As for `Autopilot`: where to search, the kernel's form, and the numbers of rounds and of costs.
    explore, explore_cost, relearn, initial, width_scale, slater, confidence, dual
        Ignored: `Autopilot` has a rule of its own, and learns what the rule needs.
    """
    remedy = "use sb.Autopilot(space, horizon=...), which needs no kernel and keeps its limits better"
    warnings.warn(f"Practical is deprecated; {remedy}.", DeprecationWarning, stacklevel=2)
    return Autopilot(space, constraints=constraints, horizon=horizon, kernel=kernel)
