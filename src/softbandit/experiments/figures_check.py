"""What an experiment's file may say of its figures: refused before the work, if it could not be drawn."""

import re
from collections.abc import Mapping
from typing import Any

from softbandit import validation
from softbandit.errors import ArgumentError, Description
from softbandit.experiments.spec import Experiment
from softbandit.experiments.tables import METRICS

KEYS = ("kind", "y", "x", "title", "panels", "rows", "columns", "per_round", "log", "policies")
NEEDS = {
    "curves": ("y",),
    "final": ("x", "y"),
    "dots": ("y",),
    "heat": ("y", "rows", "columns"),
    "times": ("x",),
}
"""What each kind of figure cannot do without."""


def check_figures(spec: Experiment) -> None:
    """Refuse a figure that could not be drawn, before the work."""
    for name, figure in spec.figures.items():
        where = f"{spec.name}.toml, [figures.{name}]"
        if not isinstance(figure, Mapping):
            raise ArgumentError.of(where, "a table", figure, f"Write it as [figures.{name}].")
        if not re.fullmatch(r"[\w-]+", name):
            raise ArgumentError.of(where, "a name of letters, digits, - and _", name, "It becomes a file's name.")
        validation.named(f"{where} kind", figure.get("kind"), NEEDS)
        for key in figure:
            validation.named(where, key, dict.fromkeys(KEYS))
        _check_figure(where, figure, spec)


def _check_figure(where: str, figure: Mapping[str, Any], spec: Experiment) -> None:
    times = spec.measure == "time"
    if times is not (figure["kind"] == "times"):
        raise ArgumentError.of(
            f"{where} kind", f"one for measure = {spec.measure!r}", figure["kind"], "Choose another."
        )
    if not isinstance(figure.get("title", ""), str):
        raise ArgumentError.of(f"{where} title", "text", figure["title"], "Write it in quotes.")
    validation.named(f"{where} log", figure.get("log", "none"), dict.fromkeys(["none", "x", "y", "xy"]))
    for key in NEEDS[figure["kind"]]:
        if not figure.get(key):
            raise ArgumentError.of(
                where, f"{key} for a figure of this kind", Description("none"), f"Write {key} = ...."
            )
    columns = dict.fromkeys([*spec.grid, "maximiser"])
    for key, options in (
        ("y", dict.fromkeys(METRICS)),
        ("policies", spec.policies),
        *((key, columns) for key in ("x", "panels", "rows", "columns")),
    ):
        given = figure.get(key, [])
        if not isinstance(given, (str, list)) or (key == "x" and not isinstance(given, str) and "x" in figure):
            raise ArgumentError.of(f"{where} {key}", "a name, or a list of names", given, "Write it in quotes.")
        for one in [given] if isinstance(given, str) else given:
            validation.named(f"{where} {key}", one, options)
