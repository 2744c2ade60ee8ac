"""From an experiment's words to problems and policies.

Beyond a policy's own settings, a file may say

    safe = "median"              the feasible arm of median cost, or "safest": for methods that need one
    slack_share = 0.5            slack as a share of the Slater margin
    width = "without gain"       the theory's width with its information gain left out
    explore = { law = "uniform", points = 5 }     RandUCB with that distribution
    x = "default"                the default of that setting (useful in a grid)
"""

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from softbandit import checks, explore
from softbandit.baselines import POLICIES, make
from softbandit.baselines.seeded import Seeded
from softbandit.checks import named
from softbandit.errors import ArgumentError, SafeSeedError, SoftbanditError, Words
from softbandit.policy import Policy
from softbandit.problems import registry
from softbandit.problems.problem import Problem

LAWS = {
    "gaussian": explore.Gaussian,
    "uniform": explore.UniformDiscrete,
    "truncated": explore.TruncatedGaussian,
}
PROBLEM = "problem."  # begins the grid's keys that are the problem's


def build_problem(
    spec: Mapping[str, Any], point: Mapping[str, Any], seed: int | None = None, data: str | None = None
) -> Problem:
    """The problem at a point of the grid; with a seed, or a place for its data, where it takes one."""
    settings = {**spec, **{key.removeprefix(PROBLEM): v for key, v in point.items() if key.startswith(PROBLEM)}}
    kind = settings.pop("kind")
    named("problem", kind, registry.PROBLEMS)
    for key, value in (("seed", seed), ("data", data)):
        if value is not None and key in registry.accepted(kind):
            settings.setdefault(key, value)
    return _made(kind, json.dumps(_without_defaults(settings), sort_keys=True))


@lru_cache(maxsize=64)
def _made(kind: str, settings: str) -> Problem:
    """A problem, kept for the next policy: some take seconds to make."""
    return registry.make(kind, **json.loads(settings))


def forget_problems() -> None:
    """Make problems anew: their data may have changed."""
    _made.cache_clear()


def build_policy(label: str, own: Mapping[str, Any], problem: Problem, settings: Mapping[str, Any]) -> Policy:
    """The policy of that label on a problem, with settings common to all and its own."""
    chosen = _without_defaults({**settings, **own})
    name = chosen.pop("policy", label)
    chosen.pop("only", None)
    try:
        return make(name, **problem.settings() | _worked_out(name, chosen, problem))
    except SoftbanditError as error:
        raise ArgumentError(f"policy {label}: {error}") from error


def _worked_out(name: str, settings: dict[str, Any], problem: Problem) -> dict[str, Any]:
    """The settings, with words replaced by what they stand for on this problem."""
    kind = named("policy", name, POLICIES)[0]
    if isinstance(kind, type) and issubclass(kind, Seeded):
        settings["safe"] = safe_arm(problem, settings.get("safe", "median"))
    if "slack_share" in settings:
        settings["slack"] = checks.nonnegative("slack_share", settings.pop("slack_share")) * problem.slater
    if settings.get("width") == "without gain":
        settings["width"] = width_without_gain(problem, settings.get("confidence", 0.1))
    if isinstance(settings.get("explore"), Mapping):
        law = dict(settings["explore"])
        kind = named("explore.law", law.pop("law", None), LAWS)
        try:
            settings["explore"] = explore.RandUCB(kind(**law))
        except TypeError as error:
            raise ArgumentError.of("explore", f"settings of the {kind.__name__} law", law, f"{error}.") from None
    return settings


def safe_arm(problem: Problem, which: Any) -> Any:
    """An arm that is feasible: "safest", the "median" one by cost, or the numbers given."""
    if not isinstance(which, str):
        return which
    checks.named("safe", which, dict.fromkeys(["median", "safest"]))
    worst = problem.costs.max(axis=1)
    order = np.argsort(worst, kind="stable")
    feasible = order[worst[order] <= 0]
    if not len(feasible):
        raise SafeSeedError.of("safe", "an arm that is feasible", Words("none"), "Leave this policy out.")
    return int(feasible[0 if which == "safest" else len(feasible) // 2])


def width_without_gain(problem: Problem, confidence: float) -> list[float]:
    """B + R sqrt(2 (1 + ln((m + 1) / alpha))) for the reward, and with G_i for each cost."""
    bounds = [problem.reward_bound, *np.atleast_1d(problem.cost_bound)]
    return [float(b + problem.noise * math.sqrt(2 * (1 + math.log(len(bounds) / confidence)))) for b in bounds]


def _without_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if not (isinstance(value, str) and value == "default")}
