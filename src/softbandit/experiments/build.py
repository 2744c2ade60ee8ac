"""Problems and policies from the settings of an experiment's file.

In addition to a policy's settings, a file may say

    safe = "random"              a feasible arm, different in each instance; or the "median" by cost, or the "safest"
    slack_share = 0.5            slack as a share of the Slater margin
    cap = 1.0                    rho, with the V of the default rho
    width = "without gain"       the theory's width with its information gain left out
    width = "theory x 0.2"       a width with a factor: width = "theory" and width_scale = 0.2
    explore = { law = "uniform", points = 5 }     RandUCB with that distribution
    x = "default"                the default of that setting (useful in a grid)
"""

import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from softbandit import problems, validation
from softbandit.baselines import OPB, POLICIES, make
from softbandit.baselines.safe_seed import Seeded
from softbandit.errors import ArgumentError, Description, SafeSeedError, SoftbanditError
from softbandit.experiments.spec import Settings
from softbandit.model import checked_confidence, explorations
from softbandit.policies import Policy, dual_cap, inverse_step
from softbandit.problems import Problem

LAWS = {
    "gaussian": explorations.Gaussian,
    "uniform": explorations.UniformDiscrete,
    "truncated": explorations.TruncatedGaussian,
}
PROBLEM = "problem."  # prefix of the grid's keys that are settings of the problem


def build_problem(spec: Settings, point: Settings, seed: int | None = None, data: str | None = None) -> Problem:
    """Build the problem at a point of the grid; kinds without a seed or data ignore these arguments."""
    settings = {**spec, **{key.removeprefix(PROBLEM): v for key, v in point.items() if key.startswith(PROBLEM)}}
    kind = str(settings.pop("kind"))
    for key, value in (("seed", seed), ("data", data)):
        if key in problems.accepted(kind) and value is not None:
            settings.setdefault(key, value)
    return cached_problem(kind, json.dumps(_without_defaults(settings), sort_keys=True))


@lru_cache(maxsize=64)
def cached_problem(kind: str, settings: str) -> Problem:
    """Build a problem once for all policies: some take seconds."""
    return problems.make(kind, **json.loads(settings))


def build_policy(label: str, policy_settings: Settings, problem: Problem, common: Settings, seed: int = 0) -> Policy:
    """Build a policy for a problem; its settings override the common ones, and the seed draws a safe arm."""
    settings = _without_defaults({**common, **policy_settings})
    name = str(settings.pop("policy", label))
    settings.pop("only", None)
    try:
        return make(name, **problem.settings() | _translated(name, settings, problem, seed))
    except SoftbanditError as error:
        raise ArgumentError(f"policy {label}: {error}") from error


def _translated(name: str, settings: dict[str, Any], problem: Problem, seed: int) -> dict[str, Any]:
    """Replace the settings that only a file has by what they mean for this problem."""
    kind = validation.named("policy", name, POLICIES)[0]
    if isinstance(kind, type) and issubclass(kind, Seeded):
        settings["safe"] = safe_arm(problem, settings.get("safe", "median"), seed)
    if kind is OPB and "safe_cost" not in settings:
        settings["safe_cost"] = problem.costs[np.atleast_1d(settings["safe"])].max(axis=0).tolist()
    if name == "autopilot":
        settings.setdefault("contexts", problem.contexts)  # it can tell them apart
    if "slack_share" in settings:
        settings["slack"] = validation.nonnegative("slack_share", settings.pop("slack_share")) * problem.slater
    if "cap" in settings:
        default_rho = dual_cap(None, problem.reward_bound, problem.slater, True)
        settings["V"] = inverse_step(None, np.atleast_1d(problem.cost_bound), settings["horizon"], default_rho)
        settings["rho"] = validation.positive("cap", settings.pop("cap"))
    if scaled := re.fullmatch(r"(\w+) x (\d+(?:\.\d+)?)", str(settings.get("width"))):
        settings |= {"width": scaled[1], "width_scale": float(scaled[2])}
    if settings.get("width") == "without gain":
        settings["width"] = width_without_gain(problem, checked_confidence(settings.get("confidence", 0.1)))
    if isinstance(settings.get("explore"), Mapping):
        settings["explore"] = _rand_ucb(settings["explore"])
    return settings


def _rand_ucb(settings: Settings) -> explorations.RandUCB:
    law = validation.named("explore.law", settings.get("law"), LAWS)
    parameters: dict[str, Any] = {key: value for key, value in settings.items() if key != "law"}
    try:
        return explorations.RandUCB(law(**parameters))
    except TypeError as error:
        raise ArgumentError.of("explore", f"settings of the {law.__name__} law", parameters, f"{error}.") from None


def safe_arm(problem: Problem, which: object, seed: int = 0) -> object:
    """Return a feasible arm: the "safest", the "median" by cost, a "random" one, or the numbers that are passed."""
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
    """Return B + R sqrt(2 (1 + ln((m + 1) / alpha))) for the reward, and the same with G_i and R_i for each cost."""
    bounds = np.append(problem.reward_bound, np.broadcast_to(problem.cost_bound, problem.constraints))
    widths = bounds + problem.noises * math.sqrt(2 * (1 + math.log(len(bounds) / confidence)))
    return [float(width) for width in widths]


def _without_defaults(settings: Settings) -> dict[str, object]:
    return {key: value for key, value in settings.items() if not (isinstance(value, str) and value == "default")}
