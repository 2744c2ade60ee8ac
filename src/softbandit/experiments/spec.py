"""An experiment as a TOML file: what to run, how often, and what to draw.

title = "Regret on synthetic data"
horizon = 10000
trials = 50                      # in total, spread over the instances
instances = 25                   # problems with seeds seed, seed + 1, ...

[problem]
kind = "rkhs"                    # any of problems.PROBLEMS, with its settings
noise = 0.1

[settings]                       # of every policy, in addition to those that the problem provides
confidence = 0.1

[policies.ckb-ucb]               # a name from `softbandit policies`, or a label
[policies.queue]
policy = "ckb-ucb"               # the policy behind the label, then settings of this policy alone
dual = "queue"

[grid]                           # every combination is run; "problem.noise" is a setting of the problem
width_scale = [1.0, 0.2]

[primary]                        # the combination on which claims are judged
width_scale = 1.0

[figures.fig1a]                  # see figures_results.py for the kinds
kind = "curves"
y = "strong_regret"

[quick]                          # replacements for a quick run
trials = 10
"""

import itertools
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from softbandit import validation
from softbandit.baselines import POLICIES
from softbandit.errors import ArgumentError, Description, FileError, SoftbanditError
from softbandit.experiments.tables import METRICS, label
from softbandit.problems import PROBLEMS

Settings: TypeAlias = Mapping[str, object]  # A TOML table

REQUIRED = ("title", "problem", "policies", "horizon")
RESERVED = {"policy", "only", "instance", "trial", "round", "maximiser", "guaranteed", "horizon", "seed", *METRICS}
MAX_CELLS = 100_000  # a cell is one policy on one instance at one point of the grid
MAX_TRIALS, MAX_ROUNDS = 10**6, 10**9  # of an experiment; of all trials of a cell, which are in memory together
LARGEST_WHOLE = 10**20
TABLES = ("problem", "settings", "policies", "grid", "primary", "figures")

FIGURE_KINDS = {"curves": ["y"], "final": ["x", "y"], "dots": ["y"], "heat": ["y", "rows", "columns"], "times": ["x"]}
"""The keys that each kind of figure must have."""


@dataclass(frozen=True)
class Experiment:
    """A checked specification."""

    name: str
    title: str
    problem: Settings
    policies: Mapping[str, Mapping[str, Any]]
    horizon: int
    trials: int = 1
    instances: int = 1
    seed: int = 0
    points: int = 60  # of a curve, spaced evenly; and as many spaced geometrically
    engine: str = "auto"  # per policy: JAX if it is installed and saves time over all cells of the policy
    measure: str = "scores"  # or "time": microseconds per round and trial
    about: str = ""
    settings: Settings = field(default_factory=dict)
    grid: Mapping[str, list[object]] = field(default_factory=dict)
    primary: Settings = field(default_factory=dict)
    figures: Settings = field(default_factory=dict)

    def combinations(self) -> Iterator[dict[str, object]]:
        """Yield the points of the grid: a single empty one if there is no grid."""
        for values in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))


@dataclass(frozen=True)
class FigureSpec:
    """A checked [figures.NAME] table."""

    kind: str
    title: str
    x: str
    log: str
    per_round: bool
    y: list[str]
    panels: list[str]
    rows: list[str]
    columns: list[str]
    policies: list[str]  # all of the experiment's, if empty


def load(path: Path, quick: bool = False, trials: int | None = None) -> Experiment:
    """Read and check a specification."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: expected an experiment as a TOML file, got {error}. Check the path.") from None
    try:
        return parse(tomllib.loads(text), path.stem, quick, trials)
    except RecursionError:
        raise ArgumentError.of(str(path), "a TOML file", Description("one nested too deeply"), "Flatten it.") from None
    except SoftbanditError:
        raise
    except ValueError as error:  # also of numbers with thousands of digits
        raise ArgumentError.of(str(path), "a TOML file", Description(str(error)), "Correct that line.") from None


def parse(content: Settings, name: str, quick: bool = False, trials: int | None = None) -> Experiment:
    """Return the experiment that a file's content describes, or raise an error that names the line at fault."""
    where = f"{name}.toml"
    if not name.isprintable() or name.startswith("."):
        remedy = "Rename it: results go to a folder of that name."
        raise ArgumentError.of("file", "a name that does not start with a dot, of printable characters", name, remedy)
    _check_values(where, content)
    known = [f.name for f in fields(Experiment) if f.name != "name"]
    replacements = _table(where, content.get("quick", {}), "quick")
    for section, names in ((content, [*known, "quick"]), (replacements, known)):
        for key in section:
            _one_of(where, key, names)
    chosen: dict[str, Any] = {**content, **(replacements if quick else {})}
    chosen.pop("quick", None)
    if trials is not None:
        chosen["trials"] = trials
    for key in REQUIRED:
        if key not in chosen:
            raise ArgumentError.of(where, f"a {key}", Description("none"), f"Write {key} = ..., or [{key}].")
    spec = Experiment(name, **chosen)
    _check(where, spec)
    if spec.measure == "time":  # times are compared over their whole grid
        return spec
    return replace(spec, primary={**next(spec.combinations()), **spec.primary})


def _check(where: str, spec: Experiment) -> None:
    for key in TABLES:
        _table(where, getattr(spec, key), key)
    for key in ("title", "about"):
        _text(f"{where}, {key}", getattr(spec, key))
    for key in ("horizon", "trials", "instances", "points"):
        most = MAX_TRIALS if key == "trials" else MAX_ROUNDS
        validation.whole(f"{where}, {key}", getattr(spec, key), least=1, most=most)
    validation.whole(f"{where}, seed", spec.seed, least=0, most=2**64 - 1 - MAX_ROUNDS)
    rounds = spec.horizon * math.ceil(spec.trials / min(spec.instances, spec.trials))
    if rounds > MAX_ROUNDS:
        expected, got = f"at most {MAX_ROUNDS:,} rounds of a policy on an instance", Description(f"{rounds:,}")
        raise ArgumentError.of(where, expected, got, "Use a shorter horizon, or more instances.")
    _one_of(f"{where}, measure", spec.measure, ("scores", "time"))
    _one_of(f"{where}, engine", spec.engine, ("numpy", "jax", "auto"))
    _one_of(f"{where}, [problem] kind", spec.problem.get("kind"), PROBLEMS)
    if "seed" in spec.problem and spec.instances > 1:
        remedy = "Write seed at the top: the instances' problems have seeds seed, seed + 1, ..."
        raise ArgumentError.of(f"{where}, [problem] seed", "none with several instances", spec.problem, remedy)
    for table in ("problem", "settings", "grid"):
        for key, value in getattr(spec, table).items():
            _check_entry(f"{where}, [{table}]", table, key, value)
    _check_grid(where, spec.grid, spec.primary)
    _check_policies(where, spec.policies, spec.grid)
    cells = math.prod(map(len, spec.grid.values())) * len(spec.policies) * min(spec.instances, spec.trials)
    if cells > MAX_CELLS:
        remedy = "Make the grid smaller."
        raise ArgumentError.of(where, f"at most {MAX_CELLS:,} runs of a policy", Description(f"{cells:,}"), remedy)
    for name in spec.figures:
        read_figure(spec, name)


def _check_values(where: str, value: object) -> None:
    """Refuse what no setting takes: dates and times, and whole numbers that are no float."""
    parts = value if isinstance(value, list) else value.values() if isinstance(value, Mapping) else ()
    for part in parts:
        _check_values(where, part)
    if not isinstance(value, (str, int, float, list, Mapping)):
        raise ArgumentError.of(where, "text, numbers or true and false", value, "Write one of them.")
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        raise ArgumentError.of(where, f"whole numbers up to {LARGEST_WHOLE:.0e}", value, "Write a smaller one.")


def _check_entry(where: str, table: str, key: str, value: object) -> None:
    """Refuse keys that clash with the columns of the results, and lists of lists."""
    if table != "problem" and key in RESERVED:
        remedy = "It is a column of the results, or belongs to one policy: write it under [policies.NAME]."
        raise ArgumentError.of(where, "the name of a setting", key, remedy)
    parts = value if isinstance(value, list) else value.values() if isinstance(value, Mapping) else [value]
    for part in parts:
        if not isinstance(part, (str, int, float)):
            raise ArgumentError.of(f"{where} {key}", "text, numbers or true and false", part, "Write one of them.")


def _check_grid(where: str, grid: Settings, primary: Settings) -> None:
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise ArgumentError.of(f"{where}, [grid] {key}", "a list of values", values, "Write it in brackets.")
        if len(set(map(label, values))) < len(values):
            raise ArgumentError.of(f"{where}, [grid] {key}", "different values", values, "Remove the duplicates.")
    for key, value in primary.items():
        values = validation.named(f"{where}, [primary]", key, grid)
        if isinstance(values, list) and value not in values:
            raise ArgumentError.of(f"{where}, [primary] {key}", f"one of {values}", value, "Choose one.")


def _check_policies(where: str, policies: Settings, grid: Mapping[str, list[object]]) -> None:
    if not policies:
        raise ArgumentError.of(f"{where}, policies", "at least one", Description("none"), "Write [policies.ckb-ucb].")
    for name, content in policies.items():
        settings = _table(where, content, f"policies.{name}")
        place = f"{where}, [policies.{name}]"
        _one_of(f"{place} policy", settings.get("policy", name), POLICIES)
        for key, values in _table(place, settings.get("only", {}), "only").items():
            options = validation.named(f"{place} only", key, grid)
            if not isinstance(values, list) or not set(map(label, values)) & set(map(label, options)):
                raise ArgumentError.of(f"{place} only {key}", f"some of {options}", values, "List some of them.")


def read_figure(spec: Experiment, name: str) -> FigureSpec:
    """Check a figure's table, and fill in what it leaves out."""
    content = _table(f"{spec.name}.toml", spec.figures[name], f"figures.{name}")
    where = f"{spec.name}.toml, [figures.{name}]"
    if not re.fullmatch(r"[\w-]+", name):
        raise ArgumentError.of(where, "a name of letters, digits, - and _", name, "It becomes a file's name.")
    for key in content:
        _one_of(where, key, [field.name for field in fields(FigureSpec)])
    kind = _one_of(f"{where} kind", content.get("kind"), FIGURE_KINDS)
    if (spec.measure == "time") is not (kind == "times"):
        raise ArgumentError.of(f"{where} kind", f"one for measure = {spec.measure!r}", kind, "Choose another.")
    for key in FIGURE_KINDS[kind]:
        if not content.get(key):
            expected = f"{key} for a figure of this kind"
            raise ArgumentError.of(where, expected, Description("none"), f"Write {key} = ....")
    settings = [*spec.grid, "maximiser"]
    if kind == "times":
        _check_numeric(f"{where} x", content["x"], spec.grid)
    lists = {"y": METRICS, "panels": settings, "rows": settings, "columns": settings, "policies": spec.policies}
    names = {key: _names(f"{where} {key}", content.get(key, []), options) for key, options in lists.items()}
    if both := set(names["rows"]) & set(names["columns"]):
        raise ArgumentError.of(where, "rows and columns that differ", sorted(both), "Leave it out of one of them.")
    return FigureSpec(
        kind,
        _text(f"{where} title", content.get("title", spec.title)),
        _one_of(f"{where} x", content.get("x", settings[0]), settings),
        _one_of(f"{where} log", content.get("log", "none"), ("none", "x", "y", "xy")),
        bool(content.get("per_round")),
        **names,
    )


def _check_numeric(where: str, key: object, grid: Mapping[str, list[object]]) -> None:
    """Refuse an axis of times that is not of positive numbers: it is logarithmic."""
    values = validation.named(where, key, grid)
    if not all(type(value) in (int, float) and 0 < cast(float, value) < math.inf for value in values):
        raise ArgumentError.of(where, "a setting of the grid whose values are numbers above 0", values, "Choose one.")


def _table(where: str, value: object, header: str) -> Settings:
    if not isinstance(value, Mapping):
        raise ArgumentError.of(f"{where}, {header}", "a table", value, f"Write it as [{header}].")
    return value


def _text(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise ArgumentError.of(where, "text", value, "Write it in quotes.")
    return value


def _one_of(where: str, value: object, options: Iterable[str]) -> str:
    return validation.named(where, value, {option: option for option in options})


def _names(where: str, value: object, options: Iterable[str]) -> list[str]:
    """Return a list of names; a file may write a single one without brackets."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list):
        raise ArgumentError.of(where, "a name, or a list of names", value, "Write it in quotes.")
    return [_one_of(where, name, options) for name in names]
