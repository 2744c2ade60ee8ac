"""Problems: the functions to optimise, the noise on them, and the constants that a policy may know."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from softbandit.problems.cloud_service import cloud, cloud_configurations
from softbandit.problems.measured_systems import measured
from softbandit.problems.measurements import sensors, stocks
from softbandit.problems.noise import GaussianNoise, Noise, ResampledNoise, StudentNoise, UniformNoise
from softbandit.problems.power_control import channel_gains, wireless
from softbandit.problems.problem import Problem
from softbandit.problems.space_problem import SpaceProblem
from softbandit.problems.standard_functions import STANDARD, Standard, standard
from softbandit.problems.synthetic import rkhs, rkhs_on
from softbandit.validation import named

__all__ = [
    "STANDARD",
    "GaussianNoise",
    "Noise",
    "Problem",
    "ResampledNoise",
    "SpaceProblem",
    "Standard",
    "StudentNoise",
    "UniformNoise",
    "channel_gains",
    "cloud",
    "cloud_configurations",
    "measured",
    "rkhs",
    "rkhs_on",
    "sensors",
    "standard",
    "stocks",
    "wireless",
]

PROBLEMS: dict[str, Callable[..., Problem]] = {
    build.__name__: build for build in (rkhs, sensors, stocks, cloud, wireless, measured)
}


def accepted(name: str) -> Mapping[str, inspect.Parameter]:
    """Return the settings that the problem of that name accepts."""
    return inspect.signature(named("problem", name, PROBLEMS)).parameters


def make(name: str, /, **settings: Any) -> Problem:
    """Build the problem of that name with those settings: `make("rkhs", seed=3)`."""
    for setting in settings:
        named(f"{name}, setting", setting, accepted(name))
    return named("problem", name, PROBLEMS)(**settings)
