"""Every problem by name, for the command line and experiment files."""

import inspect
from collections.abc import Callable
from typing import Any

from softbandit.errors import UnknownNameError
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
    """The problem of that name with those settings: `make("rkhs", seed=3)`."""
    build = named("problem", name, PROBLEMS)
    for setting in settings:
        if setting not in accepted(name):
            raise UnknownNameError.among(f"{name}, setting", setting, accepted(name))
    return build(**settings)


def accepted(name: str) -> list[str]:
    """The settings that a problem takes."""
    return list(inspect.signature(PROBLEMS[name]).parameters)
