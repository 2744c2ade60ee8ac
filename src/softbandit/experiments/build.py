"""From an experiment's words to problems and policies.

Beyond a policy's own settings, a file may say

    safe = "random"              a feasible arm, another in each instance; or "median" by cost, or "safest"
    slack_share = 0.5            slack as a share of the Slater margin
    cap = 1.0                    rho, with the V that goes with the usual rho
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

from softbandit import problems, validation
from softbandit.baselines import POLICIES, make
from softbandit.baselines.safe_seed import Seeded
from softbandit.errors import ArgumentError, Description, SafeSeedError, SoftbanditError
from softbandit.model import explorations as explore
from softbandit.model.widths import checked_confidence
from softbandit.policies.base import Policy
from softbandit.policies.dual_settings import dual_cap, inverse_step
from softbandit.problems.problem import Problem
from softbandit.validation import named

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
    for key, value in (("seed", seed), ("data", data)):
        if key in problems.accepted(kind) and value is not None:
            settings.setdefault(key, value)
    return _made(kind, json.dumps(_without_defaults(settings), sort_keys=True))


@lru_cache(maxsize=64)
def _made(kind: str, settings: str) -> Problem:
    """A problem, kept for the next policy: some take seconds to make."""
    return problems.make(kind, **json.loads(settings))


def forget_problems() -> None:
    """Make problems anew: their data may have changed."""
    _made.cache_clear()


def build_policy(
    label: str, own: Mapping[str, Any], problem: Problem, settings: Mapping[str, Any], seed: int = 0
) -> Policy:
    """The policy of that label on a problem, with settings common to all and its own; the seed draws a safe arm."""
    chosen = _without_defaults({**settings, **own})
    name = chosen.pop("policy", label)
    chosen.pop("only", None)
    try:
        return make(name, **problem.settings() | _worked_out(name, chosen, problem, seed))
    except SoftbanditError as error:
        raise ArgumentError(f"policy {label}: {error}") from error


def _worked_out(name: str, settings: dict[str, Any], problem: Problem, seed: int) -> dict[str, Any]:
    """The settings, with words replaced by what they stand for on this problem."""
    kind = named("policy", name, POLICIES)[0]
    if isinstance(kind, type) and issubclass(kind, Seeded):
        settings["safe"] = safe_arm(problem, settings.get("safe", "median"), seed)
    if "slack_share" in settings:
        settings["slack"] = validation.nonnegative("slack_share", settings.pop("slack_share")) * problem.slater
    if "cap" in settings:
        usual = dual_cap(None, problem.reward_bound, problem.slater, True)
        settings["V"] = inverse_step(None, np.atleast_1d(problem.cost_bound), settings["horizon"], usual)
        settings["rho"] = validation.positive("cap", settings.pop("cap"))
    if settings.get("width") == "without gain":
        settings["width"] = width_without_gain(problem, checked_confidence(settings.get("confidence", 0.1)))
    if isinstance(settings.get("explore"), Mapping):
        law = dict(settings["explore"])
        kind = named("explore.law", law.pop("law", None), LAWS)
        try:
            settings["explore"] = explore.RandUCB(kind(**law))
        except TypeError as error:
            raise ArgumentError.of("explore", f"settings of the {kind.__name__} law", law, f"{error}.") from None
    return settings


def safe_arm(problem: Problem, which: Any, seed: int = 0) -> Any:
    """An arm that is feasible: the "safest", the "median" one by cost, a "random" one, or the numbers given."""
    if not isinstance(which, str):
        return which
    worst = problem.costs.max(axis=1)
    order = np.argsort(worst, kind="stable")
    feasible = order[worst[order] <= 0]
    if not len(feasible):
        raise SafeSeedError.of("safe", "an arm that is feasible", Description("none"), "Leave this policy out.")
    drawn = int(np.random.default_rng([seed, 1]).integers(len(feasible)))
    return int(feasible[validation.named("safe", which, {"safest": 0, "median": len(feasible) // 2, "random": drawn})])


def width_without_gain(problem: Problem, confidence: float) -> list[float]:
    """B + R sqrt(2 (1 + ln((m + 1) / alpha))) for the reward, and with G_i for each cost."""
    bounds = [problem.reward_bound, *np.atleast_1d(problem.cost_bound)]
    return [float(b + problem.noise * math.sqrt(2 * (1 + math.log(len(bounds) / confidence)))) for b in bounds]


def _without_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if not (isinstance(value, str) and value == "default")}
