"""Every problem by name, for the command line and experiment files."""

import inspect
from collections.abc import Callable
from typing import Any

from softbandit.checks import named
from softbandit.errors import UnknownNameError
from softbandit.problems.cloud import cloud
from softbandit.problems.problem import Problem
from softbandit.problems.rkhs import rkhs
from softbandit.problems.sensors import sensors
from softbandit.problems.stocks import stocks
from softbandit.problems.wireless import wireless

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
