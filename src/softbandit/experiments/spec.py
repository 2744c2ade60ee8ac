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
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from softbandit import checks
from softbandit.baselines import POLICIES
from softbandit.errors import ArgumentError, FileError, UnknownNameError, Words
from softbandit.problems.registry import PROBLEMS

MEASURES = ("scores", "time")
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
    engine: str = "numpy"
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
        raise ArgumentError.of(str(path), "a TOML file", Words(str(error)), "Mend that line.") from None
    return parse(content, path.stem, quick, trials)


def parse(content: Mapping[str, Any], name: str, quick: bool = False, trials: int | None = None) -> Experiment:
    """The experiment that a file's content describes, or an error that names the place."""
    known = {f.name for f in fields(Experiment)} - {"name"} | {"quick"}
    for section in (content, content.get("quick", {})):
        for key in section:
            if key not in known:
                raise UnknownNameError.among(f"{name}.toml", key, known)
    chosen = {**content, **(content.get("quick", {}) if quick else {})}
    chosen.pop("quick", None)
    if trials is not None:
        chosen["trials"] = trials
    for key in ("title", "problem", "policies", "horizon"):
        if key not in chosen:
            raise ArgumentError.of(f"{name}.toml", f"a {key}", Words("none"), f"Write {key} = ..., or [{key}].")
    for key in TABLES:
        if not isinstance(chosen.get(key, {}), Mapping):
            raise ArgumentError.of(f"{name}.toml, {key}", "a table", chosen[key], f"Write it as [{key}].")
    return _checked(Experiment(name=name, **chosen))


def _checked(spec: Experiment) -> Experiment:
    where = f"{spec.name}.toml"
    for key in ("horizon", "trials", "instances", "points"):
        checks.whole(f"{where}, {key}", getattr(spec, key), least=1)
    checks.whole(f"{where}, seed", spec.seed, least=0)
    checks.named(f"{where}, measure", spec.measure, dict.fromkeys(MEASURES))
    checks.named(f"{where}, [problem] kind", spec.problem.get("kind"), PROBLEMS)
    if not spec.policies:
        raise ArgumentError.of(f"{where}, policies", "at least one", Words("none"), "Write [policies.ckb-ucb].")
    for label, own in spec.policies.items():
        if not isinstance(own, Mapping):
            raise ArgumentError.of(f"{where}, {label}", "a table", own, f"Write it as [policies.{label}].")
        checks.named(f"{where}, [policies.{label}] policy", own.get("policy", label), POLICIES)
        for key in own.get("only", {}):
            checks.named(f"{where}, [policies.{label}] only", key, spec.grid)
    for key, values in spec.grid.items():
        if not isinstance(values, list) or not values:
            raise ArgumentError.of(f"{where}, [grid] {key}", "a list of values", values, "Write it in brackets.")
    for key, value in spec.primary.items():
        if key not in spec.grid:
            raise UnknownNameError.among(f"{where}, [primary]", key, spec.grid)
        if value not in spec.grid[key]:
            raise ArgumentError.of(f"{where}, [primary] {key}", f"one of {spec.grid[key]}", value, "Choose one.")
    return spec
