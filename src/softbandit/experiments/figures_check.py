"""The figures that an experiment's file asks for, checked before the work."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields

from softbandit import validation
from softbandit.errors import ArgumentError, Description
from softbandit.experiments.spec import Experiment, Settings, check_table, check_text
from softbandit.experiments.tables import METRICS

REQUIRED = {
    "curves": ("y",),
    "final": ("x", "y"),
    "dots": ("y",),
    "heat": ("y", "rows", "columns"),
    "times": ("x",),
}
"""The keys that each kind of figure must have."""


@dataclass(frozen=True)
class FigureSpec:
    """A checked [figures.NAME] table."""

    kind: str
    title: str
    x: str
    y: list[str]
    panels: list[str]
    rows: list[str]
    columns: list[str]
    policies: list[str]
    log: str
    per_round: bool


def check_figures(spec: Experiment) -> None:
    """Refuse a figure that could not be drawn, before the work."""
    for name in spec.figures:
        read_figure(spec, name)


def read_figure(spec: Experiment, name: str) -> FigureSpec:
    """Check a figure's table, and fill in what it leaves out."""
    content = check_table(f"{spec.name}.toml", spec.figures[name], f"figures.{name}")
    where = f"{spec.name}.toml, [figures.{name}]"
    if not re.fullmatch(r"[\w-]+", name):
        raise ArgumentError.of(where, "a name of letters, digits, - and _", name, "It becomes a file's name.")
    for key in content:
        _one_of(where, key, [field.name for field in fields(FigureSpec)])
    kind = _one_of(f"{where} kind", content.get("kind"), REQUIRED)
    if (spec.measure == "time") is not (kind == "times"):
        raise ArgumentError.of(f"{where} kind", f"one for measure = {spec.measure!r}", kind, "Choose another.")
    for key in REQUIRED[kind]:
        if not content.get(key):
            raise ArgumentError.of(
                where, f"{key} for a figure of this kind", Description("none"), f"Write {key} = ...."
            )
    settings = [*spec.grid, "maximiser"]
    return FigureSpec(
        kind=kind,
        title=check_text(f"{where} title", content.get("title", spec.title)),
        x=_one_of(f"{where} x", content.get("x", settings[0]), settings),
        y=_names(where, content, "y", METRICS),
        panels=_names(where, content, "panels", settings),
        rows=_names(where, content, "rows", settings),
        columns=_names(where, content, "columns", settings),
        policies=_names(where, content, "policies", spec.policies) or list(spec.policies),
        log=_one_of(f"{where} log", content.get("log", "none"), ("none", "x", "y", "xy")),
        per_round=bool(content.get("per_round")),
    )


def _names(where: str, content: Settings, key: str, options: Iterable[str]) -> list[str]:
    """Return the names under a key, where a file may write a single one without brackets."""
    value = content.get(key, [])
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list):
        raise ArgumentError.of(f"{where} {key}", "a name, or a list of names", value, "Write it in quotes.")
    return [_one_of(f"{where} {key}", name, options) for name in names]


def _one_of(where: str, value: object, options: Iterable[str]) -> str:
    return validation.named(where, value, {option: option for option in options})
