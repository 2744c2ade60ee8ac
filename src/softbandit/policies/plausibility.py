"""Observations that a policy's settings rule out, all but surely."""

import numpy as np

from softbandit.backend import Floats
from softbandit.policies.base import StepPolicy, Steps

BEYOND = 6  # standard deviations of the noise: Gaussian noise exceeds them once in 5e8 rounds


def surprises(step: Steps, observed: Floats) -> list[str]:
    """Return a text for each output (1 + m,) that is further beyond its bound than noise explains.

    Policies that learn the bounds and the noise have no such outputs.
    """
    if not isinstance(step, StepPolicy):
        return []
    most = step.bounds[:, 0] + BEYOND * step.model.noise
    return [_text(int(i), observed, most) for i in np.flatnonzero(np.abs(observed) > most)]


def _text(i: int, observed: Floats, most: Floats) -> str:
    name, cost = ("cost" if i else "reward"), ("cost_" if i else "")
    what = f"{name}[{i - 1}]" if i and len(observed) > 2 else name
    rule = f"{name}_bound + {BEYOND} {cost}noise"
    return (
        f"{what}: expected between {-most[i]:.4g} and {most[i]:.4g} ({rule}), got {observed[i]:.4g}. "
        f"If it is an error, agent.forget(decision) removes it; if not, the policy needs a larger {name}_bound or "
        f"{cost}noise."
    )
