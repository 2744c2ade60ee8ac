"""An experiment as a TOML file: what is run, how often, and what is drawn of it.

title = "Regret on synthetic data"
horizon = 10000
trials = 50                      # in all, spread over the instances
instances = 25                   # problems with seeds seed, seed + 1, ...

[problem]
kind = "rkhs"                    # any of problems.PROBLEMS, with its settings
noise = 0.1

[settings]                       # of every policy, beyond what the problem tells it
confidence = 0.1

[policies.ckb-ucb]               # a name of `softbandit policies`, or a label
[policies.queue]
policy = "ckb-ucb"               # with the policy it stands for, and its own settings
dual = "queue"

[grid]                           # every combination is run; "problem.noise" is the problem's
width_scale = [1.0, 0.2]

[primary]                        # the combination that claims are judged on
width_scale = 1.0

[figures.fig1a]                  # see figures.py for the kinds
kind = "curves"
y = "strong_regret"

[quick]                          # what is replaced in a quick run
trials = 10
"""

import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from softbandit import validation
from softbandit.baselines import POLICIES
from softbandit.errors import ArgumentError, Description, FileError, UnknownNameError
from softbandit.experiments.tables import METRICS, label
from softbandit.problems import PROBLEMS

MEASURES = ("scores", "time")
ENGINES = ("numpy", "jax", "auto")
RESERVED = {"policy", "only", "instance", "trial", "round", "maximiser", "horizon", "seed", *METRICS}
MOST_PARTS = 100_000  # a part is a policy on an instance at a point of the grid
TABLES = ("problem", "settings", "policies", "grid", "primary", "figures", "quick")


@dataclass(frozen=True)
class Experiment:
    """A checked specification."""

    name: str
    title: str
    problem: Mapping[str, Any]
    policies: Mapping[str, Mapping[str, Any]]
    horizon: int
    trials: int = 1
    instances: int = 1
    seed: int = 0
    points: int = 60  # of a curve, spaced evenly; and as many spaced geometrically
    engine: str = "auto"  # JAX where it is installed and pays: the cells share what is compiled
    measure: str = "scores"  # or "time": microseconds a trial-round
    about: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, list[Any]] = field(default_factory=dict)
    primary: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def combinations(self) -> Iterator[dict[str, Any]]:
        """The points of the grid; one, empty, where there is none."""
        for values in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))


def load(path: Path, quick: bool = False, trials: int | None = None) -> Experiment:
    """Read and check a specification."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: expected an experiment as a TOML file, got {error}. Check the path.") from None
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError.of(str(path), "a TOML file", Description(str(error)), "Mend that line.") from None
    return parse(content, path.stem, quick, trials)


def parse(content: Mapping[str, Any], name: str, quick: bool = False, trials: int | None = None) -> Experiment:
    """The experiment that a file's content describes, or an error that names the place."""
    where = f"{name}.toml"
    known = {f.name for f in fields(Experiment)} - {"name"}
    short = _table(where, content, "quick")
    for section, names in ((content, known | {"quick"}), (short, known)):
        for key in section:
            if key not in names:
                raise UnknownNameError.among(where, key, names)
    chosen = {**content, **(short if quick else {})}
    chosen.pop("quick", None)
    if trials is not None:
        chosen["trials"] = trials
    for key in ("title", "problem", "policies", "horizon"):
        if key not in chosen:
            raise ArgumentError.of(where, f"a {key}", Description("none"), f"Write {key} = ..., or [{key}].")
    for key in TABLES:
        _table(where, chosen, key)
    _check(where, chosen)
    scores = chosen.get("measure", "scores") == "scores"  # times are compared over their whole grid
    firsts = {key: values[0] for key, values in chosen.get("grid", {}).items() if scores}
    return Experiment(name=name, **{**chosen, "primary": {**firsts, **chosen.get("primary", {})}})


def _table(where: str, content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = content.get(key, {})
    if not isinstance(found, Mapping):
        raise ArgumentError.of(f"{where}, {key}", "a table", found, f"Write it as [{key}].")
    return found


def _check(where: str, chosen: Mapping[str, Any]) -> None:
    for key in ("title", "about"):
        if not isinstance(chosen.get(key, ""), str):
            raise ArgumentError.of(f"{where}, {key}", "text", chosen[key], "Write it in quotes.")
    for key in ("horizon", "trials", "instances", "points"):
        validation.whole(f"{where}, {key}", chosen.get(key, 1), least=1, most=10**9)
    validation.whole(f"{where}, seed", chosen.get("seed", 0), least=0)
    validation.named(f"{where}, measure", chosen.get("measure", "scores"), dict.fromkeys(MEASURES))
    validation.named(f"{where}, engine", chosen.get("engine", "auto"), dict.fromkeys(ENGINES))
    validation.named(f"{where}, [problem] kind", chosen["problem"].get("kind"), PROBLEMS)
    if "seed" in chosen["problem"] and chosen.get("instances", 1) > 1:
        remedy = "Write seed at the top: the instances' problems have seeds seed, seed + 1, ..."
        raise ArgumentError.of(f"{where}, [problem] seed", "none with several instances", chosen["problem"], remedy)
    for table in ("problem", "settings", "grid"):
        for key, value in chosen.get(table, {}).items():
            _check_entry(f"{where}, [{table}]", table, key, value)
    _check_grid(where, chosen.get("grid", {}), chosen.get("primary", {}))
    _check_policies(where, chosen["policies"], chosen.get("grid", {}))
    combinations = math.prod(map(len, chosen.get("grid", {}).values()))
    parts = combinations * len(chosen["policies"]) * min(chosen.get("instances", 1), chosen.get("trials", 1))
    if parts > MOST_PARTS:
        raise ArgumentError.of(
            where, f"at most {MOST_PARTS:,} parts", Description(f"{parts:,}"), "Make the grid smaller."
        )


def _check_entry(where: str, table: str, key: str, value: Any) -> None:
    """Keys that would clash with a table's columns, and values that TOML has and settings have not."""
    if table != "problem" and key in RESERVED:
        remedy = "It is a column of the results, or belongs to one policy: write it under [policies.NAME]."
        raise ArgumentError.of(where, "the name of a setting", key, remedy)
    parts = value if isinstance(value, list) else value.values() if isinstance(value, Mapping) else [value]
    for part in parts:
        if not isinstance(part, (str, int, float)):
            raise ArgumentError.of(f"{where} {key}", "text, numbers or true and false", part, "Write one of them.")


def _check_grid(where: str, grid: Mapping[str, Any], primary: Mapping[str, Any]) -> None:
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise ArgumentError.of(f"{where}, [grid] {key}", "a list of values", values, "Write it in brackets.")
        if len(set(map(label, values))) < len(values):
            raise ArgumentError.of(f"{where}, [grid] {key}", "different values", values, "Remove one of the same.")
    for key, value in primary.items():
        if key not in grid:
            raise UnknownNameError.among(f"{where}, [primary]", key, grid)
        if value not in grid[key]:
            raise ArgumentError.of(f"{where}, [primary] {key}", f"one of {grid[key]}", value, "Choose one.")


def _check_policies(where: str, policies: Mapping[str, Any], grid: Mapping[str, Any]) -> None:
    if not policies:
        raise ArgumentError.of(f"{where}, policies", "at least one", Description("none"), "Write [policies.ckb-ucb].")
    for name, own in policies.items():
        place = f"{where}, [policies.{name}]"
        if not isinstance(own, Mapping):
            raise ArgumentError.of(place, "a table", own, f"Write it as [policies.{name}].")
        validation.named(f"{place} policy", own.get("policy", name), POLICIES)
        for key, values in _table(place, own, "only").items():
            validation.named(f"{place} only", key, grid)
            if not isinstance(values, list) or not set(map(label, values)) & set(map(label, grid[key])):
                raise ArgumentError.of(f"{place} only {key}", f"some of {grid[key]}", values, "List some of them.")
