"""Figures of finished experiments. A file's [figures.NAME] says which:

    kind = "curves"   y over rounds, a line a policy;  panels = ["width_scale"]
    kind = "final"    y at the end against a setting;  x = "width_scale"
    kind = "dots"     y at the end, a row a policy
    kind = "heat"     y at the end over the whole grid;  rows = [...], columns = [...]
    kind = "times"    time a round against x, with the slope

y is one metric or a list of them; `per_round` divides it by the round; `log` makes its axis
logarithmic; settings of the grid that a figure does not show are at their primary values.
"""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softbandit.experiments.figures import COLOURS, finish, new_figure
from softbandit.experiments.runner import Outcome
from softbandit.experiments.statistics import curves, exponent, interval, intervals, readable, units
from softbandit.experiments.tables import Table, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito: safe for the colour-blind. The paper's policies look the same in every figure.
LOOKS = {
    "ckb-ucb": ("#0072b2", "-"),
    "ckb-ts": ("#009e73", "-"),
    "ckb-rand": ("#d55e00", "-"),
    "stageopt": ("#7f7f7f", "--"),
    "sgp-ucb": ("#000000", ":"),
    "safeopt": ("#cc79a7", "-."),
    "gp-ucb": ("#e69f00", "--"),
    "gp-ts": ("#56b4e9", "--"),
}
OTHERS = (*COLOURS, "#7f7f7f", "#000000")
WORDS = {
    "regret": "regret against the best arm, $R$",
    "strong_regret": "regret, $R_+$",
    "violation": "violation, $V = [\\sum g]_+$",
    "positive_violation": "sum of positive costs, $\\sum [g]_+$",
    "violated_rounds": "rounds violated, $N$",
    "arms_tried": "different arms played",
    "microseconds": "microseconds a trial-round",
    "width": "width rule",
    "width_scale": "confidence width, x theory",
    "slack_share": "slack, share of the Slater margin",
    "problem.arms": "number of arms",
    "problem.constraints": "number of constraints",
    "problem.kernel": "kernel",
    "problem.noise": "noise",
    "problem.law": "law of the noise",
    "regularisation": "$\\lambda$",
    "maximiser": "unconstrained maximiser",
}
LINEAR_TO = 100  # of a logarithmic axis that also has zero and negative values


def draw(outcome: Outcome, name: str) -> "Figure":
    """The figure of that name in the experiment's file."""
    spec = outcome.spec.figures[name]
    figure: Figure = KINDS[spec["kind"]](outcome, spec)
    width, height = figure.get_size_inches()
    title = textwrap.fill(str(spec.get("title", outcome.spec.title)), int(11 * width))
    note = textwrap.fill(footnote(outcome, spec["kind"]), int(20 * width))
    head = figure.suptitle(title, size=11, x=0.01, y=1 - 0.08 / height, ha="left", va="top", weight="bold")
    head.set_in_layout(False)  # its room is set aside below
    figure.text(0.01, 0.05 / height, note, size=6.5, color="0.35", ha="left", va="bottom")
    top, bottom = 0.15 + 0.2 * (title.count("\n") + 1), 0.1 + 0.12 * (note.count("\n") + 1)  # inches
    figure.tight_layout(rect=(0, bottom / height, 1, 1 - top / height))
    return figure


def footnote(outcome: Outcome, kind: str) -> str:
    """Which data and settings made it."""
    spec = outcome.spec
    what = "; ".join(dict.fromkeys(source["source"] for source in outcome.manifest["data"])).rstrip(".")
    if spec.measure == "time":
        return f"Data: {what}. Least of several repetitions, on {outcome.manifest['machine']['cores']} cores."
    instances = len(np.unique(outcome.table["instance"]))
    several = f" on {instances} instances" if instances > 1 else ""
    shown = "mean" if kind == "heat" else "mean and its 95% interval (bootstrap)"
    return f"Data: {what}. T = {spec.horizon:,}, {spec.trials} trials{several}; {shown}."


def _curves(outcome: Outcome, spec: Mapping[str, Any]) -> "Figure":
    tables = _panels(outcome, spec)
    metrics = _listed(spec["y"])
    figure, grid = _grid(len(metrics), len(tables))
    for row, metric in zip(grid, metrics, strict=True):
        for axes, (title, table) in zip(row, tables, strict=True):
            for name, colour, line in _looks(table, spec):
                rounds, values = curves(table.where(policy=name), metric)
                _band(axes, rounds, values / rounds if spec.get("per_round") else values, name, colour, line)
            finish(axes, title, "round", WORDS[metric] + (" a round" if spec.get("per_round") else ""))
            _scale(axes, spec)
    grid[0][-1].legend(frameon=False, fontsize=8, loc=(1.02, 0.4))
    return figure


def _band(axes: "Axes", x: Any, values: Any, name: str, colour: str, line: str) -> None:
    """Mean over the units, with its interval."""
    mean, low, high = intervals(values)
    axes.plot(x, mean, color=colour, ls=line, label=name, lw=1.5)
    axes.fill_between(x, low, high, color=colour, alpha=0.18, lw=0)


def _final(outcome: Outcome, spec: Mapping[str, Any]) -> "Figure":
    table = outcome.table.where(**_fixed(outcome, [spec["x"]])).final()
    metrics = _listed(spec["y"])
    figure, grid = _grid(1, len(metrics))
    values = table.values(spec["x"])
    numeric = all(_is_number(v) for v in values)
    place = [float(v) for v in values] if numeric else list(range(len(values)))
    for axes, metric in zip(grid[0], metrics, strict=True):
        looks = _looks(table, spec)
        for i, (name, colour, line) in enumerate(looks):
            found = [interval(units(table, metric, **{"policy": name, spec["x"]: v})) for v in values]
            _error_bars(axes, place, np.array(found), name, colour, line, aside=4 * (i - (len(looks) - 1) / 2))
        finish(axes, "", _word(spec["x"]), WORDS[metric])
        if not numeric:
            axes.set_xticks(place, values)
        _scale(axes, spec)
    grid[0][-1].legend(frameon=False, fontsize=8, loc=(1.02, 0.4))
    return figure


def _error_bars(axes: "Axes", x: Any, found: Any, name: str, colour: str, line: str, aside: float) -> None:
    """Means and intervals, `aside` points to the right so that policies do not hide each other."""
    from matplotlib.transforms import ScaledTranslation

    figure = axes.get_figure()
    assert figure is not None
    place = axes.transData + ScaledTranslation(aside / 72, 0, figure.dpi_scale_trans)
    error = np.abs(found[:, 1:].T - found[:, 0])
    looks: dict[str, Any] = {"color": colour, "ls": line, "marker": "o", "ms": 4, "capsize": 2, "lw": 1.4}
    axes.errorbar(x, found[:, 0], yerr=error, label=name, transform=place, **looks)


def _dots(outcome: Outcome, spec: Mapping[str, Any]) -> "Figure":
    table = outcome.table.where(**_fixed(outcome, [])).final()
    metrics = _listed(spec["y"])
    looks = _looks(table, spec)
    figure, grid = _grid(1, len(metrics), height=1.4 + 0.32 * len(looks))
    for i, (axes, metric) in enumerate(zip(grid[0], metrics, strict=True)):
        for y, (name, colour, _) in enumerate(looks):
            found = interval(units(table, metric, policy=name))
            error = [[found.mean - found.low], [found.high - found.mean]]
            axes.errorbar(found.mean, y, xerr=error, color=colour, marker="o", ms=5, capsize=3)
        axes.set_yticks(range(len(looks)), [name for name, *_ in looks] if i == 0 else [])
        axes.set_ylim(len(looks) - 0.5, -0.5)
        axes.grid(axis="x", lw=0.4, color="0.9")
        finish(axes, "", WORDS[metric], "")
    return figure


def _heat(outcome: Outcome, spec: Mapping[str, Any]) -> "Figure":
    """The whole grid: the mean of y in each cell, a panel a policy; the primary setting is framed."""
    table, metric = outcome.table.final(), _listed(spec["y"])[0]
    rows, columns = [list(t.groups(*spec[k])) for t, k in ((table, "rows"), (table, "columns"))]
    names = [name for name, *_ in _looks(table, spec)]
    size = (1.9 + 0.75 * len(columns) * len(names), 1.5 + 0.34 * len(rows))
    figure = new_figure(*size)
    grid = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for axes, name in zip(grid, names, strict=True):
        own = table.where(policy=name)
        cells = np.array([[_cell(own, spec, r, c, metric) for c, _ in columns] for r, _ in rows])
        shade = np.sign(cells) * np.log1p(np.abs(cells))
        image = axes.imshow(shade, cmap="Blues", aspect="auto")
        for (i, j), value in np.ndenumerate(cells):
            ink = "white" if image.norm(shade[i, j]) > 0.6 else "black"
            axes.text(j, i, readable(float(value)), ha="center", va="center", size=7, color=ink)
        axes.set_xticks(range(len(columns)), ["\n".join(map(_short, c)) for c, _ in columns], size=7)
        axes.set_yticks(range(len(rows)), [", ".join(map(_short, r)) for r, _ in rows], size=7)
        _frame_primary(axes, outcome, spec, [r for r, _ in rows], [c for c, _ in columns])
        axes.set_title(f"{name}: {WORDS[metric]}", size=9)
        axes.set_xlabel(", ".join(_word(key) for key in spec["columns"]), size=8)
    grid[0].set_ylabel(", ".join(_word(key) for key in spec["rows"]), size=8)
    return figure


def _cell(table: Table, spec: Mapping[str, Any], row: Any, column: Any, metric: str) -> float:
    chosen = dict(zip([*spec["rows"], *spec["columns"]], [*row, *column], strict=True))
    return float(units(table, metric, **chosen).mean())


def _frame_primary(axes: "Axes", outcome: Outcome, spec: Mapping[str, Any], rows: Any, columns: Any) -> None:
    primary = {key: label(value) for key, value in outcome.spec.primary.items()}
    at = [tuple(primary.get(key, "") for key in spec[part]) for part in ("rows", "columns")]
    if at[0] in rows and at[1] in columns:
        i, j = rows.index(at[0]), columns.index(at[1])
        x, y = [j - 0.5, j + 0.5, j + 0.5, j - 0.5, j - 0.5], [i - 0.5, i - 0.5, i + 0.5, i + 0.5, i - 0.5]
        axes.plot(x, y, color="#d55e00", lw=2, clip_on=False)


def _times(outcome: Outcome, spec: Mapping[str, Any]) -> "Figure":
    from matplotlib.ticker import NullLocator

    table = outcome.table
    figure, grid = _grid(1, 1)
    axes = grid[0][0]
    for name, colour, line in _looks(table, spec):
        own = table.where(policy=name)
        x, y = own[spec["x"]].astype(float), own["microseconds"]
        axes.plot(x, y, color=colour, ls=line, marker="o", ms=4, label=f"{name}: $n^{{{exponent(x, y):.2f}}}$")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(ticks := sorted({float(v) for v in table.values(spec["x"])}), [f"{v:,.0f}" for v in ticks], size=7)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.legend(
        frameon=False, fontsize=8, title="exponent over the upper\nhalf of the range", title_fontsize=8, loc=(1, 0.3)
    )
    finish(axes, "", _word(spec["x"]), WORDS["microseconds"])
    return figure


KINDS = {"curves": _curves, "final": _final, "dots": _dots, "heat": _heat, "times": _times}


def _panels(outcome: Outcome, spec: Mapping[str, Any]) -> list[tuple[str, Table]]:
    """A table for each combination of the panels' settings, with what to write above it."""
    names = list(spec.get("panels", []))
    table = outcome.table.where(**_fixed(outcome, names))
    return [(_heading(names, key, part, outcome.table), part) for key, part in table.groups(*names)]


def _heading(names: Sequence[str], key: Sequence[Any], part: Table, whole: Table) -> str:
    """What a panel shows; and of how many instances, where that is not all."""
    text = ", ".join(f"{_word(name)}: {value}" for name, value in zip(names, key, strict=True))
    instances = len(np.unique(part["instance"]))
    return text if instances == len(np.unique(whole["instance"])) else f"{text} ({instances} instances)"


def _fixed(outcome: Outcome, shown: Sequence[str]) -> dict[str, Any]:
    """The primary values of settings that a figure does not show."""
    return {key: value for key, value in outcome.spec.primary.items() if key not in shown}


def _looks(table: Table, spec: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, colour and line of each policy."""
    names = [name for name in table.values("policy") if name in spec.get("policies", [name])]
    if all(name in LOOKS for name in names):
        return [(name, *LOOKS[name]) for name in names]
    dashes = ("-", "--", "-.", ":")  # so that lines that coincide are both seen
    return [(name, OTHERS[i % len(OTHERS)], dashes[i % len(dashes)]) for i, name in enumerate(names)]


def _grid(rows: int, columns: int, height: float = 3.3) -> tuple["Figure", Any]:
    figure = new_figure(max(4.2 * columns, 5.0), height * rows + 0.3)
    return figure, figure.subplots(rows, columns, squeeze=False)


def _scale(axes: "Axes", spec: Mapping[str, Any]) -> None:
    if spec.get("log") in ("xy", "y"):
        axes.set_yscale("symlog", linthresh=LINEAR_TO)
        axes.set_ylabel(f"{axes.get_ylabel()} (log beyond {LINEAR_TO})")
    if spec.get("log") in ("xy", "x"):
        axes.set_xscale("log")


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _word(key: str) -> str:
    return WORDS.get(key, key)


def _short(text: str) -> str:
    return text if len(text) <= 14 else text[:13] + "…"
