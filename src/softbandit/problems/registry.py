"""Problems by name, for the command line and experiment files."""

import inspect
from collections.abc import Callable
from typing import Any

from softbandit.problems.cloud_service import cloud
from softbandit.problems.light_sensors import sensors
from softbandit.problems.power_control import wireless
from softbandit.problems.problem import Problem
from softbandit.problems.stock_prices import stocks
from softbandit.problems.synthetic import rkhs
from softbandit.validation import named

PROBLEMS: dict[str, Callable[..., Problem]] = {
    "rkhs": rkhs,
    "sensors": sensors,
    "stocks": stocks,
    "cloud": cloud,
    "wireless": wireless,
}


def make(name: str, **settings: Any) -> Problem:
    """Build the problem of that name with those settings: `make("rkhs", seed=3)`."""
    build = named("problem", name, PROBLEMS)
    for setting in settings:
        named(f"{name}, setting", setting, inspect.signature(build).parameters)
    return build(**settings)


def accepted(name: str) -> list[str]:
    """Return the names of the settings that a problem accepts."""
    return list(inspect.signature(PROBLEMS[name]).parameters)
