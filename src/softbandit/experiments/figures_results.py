"""Figures of finished experiments. A file's [figures.NAME] table says which:

    kind = "curves"   y over rounds, one line per policy;  panels = ["width_scale"]
    kind = "final"    y at the end against a setting;  x = "width_scale"
    kind = "dots"     y at the end, one row per policy
    kind = "heat"     y at the end over the whole grid;  rows = [...], columns = [...]
    kind = "times"    time per round against x, with the slope

y is one metric or a list of them; `per_round` divides it by the round; `log` makes axes
logarithmic ("x", "y" or "xy"). Settings of the grid that a figure does not show have their
primary values.
"""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softbandit.backend import Floats
from softbandit.drawing import COLOURS, draw_band, finish, new_figure
from softbandit.experiments.runner import Outcome
from softbandit.experiments.spec import FigureSpec, read_figure
from softbandit.experiments.statistics import curves, exponent, interval, intervals, readable, units
from softbandit.experiments.tables import Table, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The paper's policies look the same in every figure.
STYLES = {
    "ckb-ucb": ("#0072b2", "-"),
    "ckb-ts": ("#009e73", "-"),
    "ckb-rand": ("#d55e00", "-"),
    "stageopt": ("#7f7f7f", "--"),
    "sgp-ucb": ("#000000", ":"),
    "safeopt": ("#cc79a7", "-."),
    "gp-ucb": ("#e69f00", "--"),
    "gp-ts": ("#56b4e9", "--"),
}
OTHER_COLOURS = (*COLOURS, "#7f7f7f", "#000000")
DASHES = ("-", "--", "-.", ":")  # of other policies, so that lines that coincide are both visible
TITLES = {
    "regret": "regret against the best arm, $R$",
    "strong_regret": "regret, $R_+$",
    "violation": "violation, $V = [\\sum g]_+$",
    "positive_violation": "sum of positive costs, $\\sum [g]_+$",
    "violated_rounds": "rounds violated, $N$",
    "arms_tried": "different arms played",
    "microseconds": "microseconds per round and trial",
    "width": "width rule",
    "width_scale": "confidence width, x theory",
    "slack_share": "slack, share of the Slater margin",
    "problem.arms": "number of arms",
    "problem.constraints": "number of constraints",
    "problem.law": "law of the noise",
    "regularisation": "$\\lambda$",
    "maximiser": "unconstrained maximiser",
}
LINEAR_UP_TO = 100  # on a logarithmic axis that also has zero and negative values
LEGEND: dict[str, Any] = {"frameon": False, "fontsize": 8, "loc": (1.02, 0.4)}


def draw(outcome: Outcome, name: str) -> "Figure":
    """Draw the figure of that name in the experiment's file."""
    spec = read_figure(outcome.spec, name)
    figure = KINDS[spec.kind](outcome, spec)
    width, height = figure.get_size_inches()
    title = textwrap.fill(spec.title, int(11 * width))
    note = textwrap.fill(footnote(outcome, spec.kind), int(20 * width))
    head = figure.suptitle(title, size=11, x=0.01, y=1 - 0.08 / height, ha="left", va="top", weight="bold")
    head.set_in_layout(False)  # its room is reserved below
    figure.text(0.01, 0.05 / height, note, size=6.5, color="0.35", ha="left", va="bottom")
    top, bottom = 0.15 + 0.2 * (title.count("\n") + 1), 0.1 + 0.12 * (note.count("\n") + 1)  # inches
    figure.tight_layout(rect=(0, bottom / height, 1, 1 - top / height))
    return figure


def footnote(outcome: Outcome, kind: str) -> str:
    """Say which data and settings a figure is of."""
    spec = outcome.spec
    data = "; ".join(outcome.sources).rstrip(".")
    if spec.measure == "time":
        return f"Data: {data}. Shortest of several repetitions, on {outcome.manifest['machine']['cores']} cores."
    instances = len(outcome.table.values("instance"))
    spread = f" on {instances} instances" if instances > 1 else ""
    shown = "mean" if kind == "heat" else "mean and its 95% interval (bootstrap)"
    return f"Data: {data}. T = {spec.horizon:,}, {spec.trials} trials{spread}; {shown}."


def _curves(outcome: Outcome, spec: FigureSpec) -> "Figure":
    panels = list(outcome.table.where(**_fixed(outcome, spec.panels)).groups(*spec.panels))
    figure, grid = _grid(len(spec.y), len(panels))
    for row, metric in zip(grid, spec.y, strict=True):
        for axes, (key, table) in zip(row, panels, strict=True):
            for name, colour, line in _styles(table, spec):
                rounds, values = curves(table.where(policy=name), metric)
                draw_band(axes, rounds, intervals(values / rounds if spec.per_round else values), name, colour, line)
            heading = ", ".join(f"{_title(name)}: {value}" for name, value in zip(spec.panels, key, strict=True))
            if (instances := len(table.values("instance"))) < len(outcome.table.values("instance")):
                heading += f" ({instances} instances)"
            finish(axes, heading, "round", TITLES[metric] + (" per round" if spec.per_round else ""))
            _scale(axes, spec)
    grid[0][-1].legend(**LEGEND)
    return figure


def _final(outcome: Outcome, spec: FigureSpec) -> "Figure":
    table = outcome.table.where(**_fixed(outcome, [spec.x])).final()
    figure, grid = _grid(1, len(spec.y))
    values = table.values(spec.x)
    numeric = all(type(value) in (int, float) for value in outcome.spec.grid.get(spec.x, [""]))
    positions = list(map(float, values if numeric else range(len(values))))
    styles = _styles(table, spec)
    for axes, metric in zip(grid[0], spec.y, strict=True):
        for i, style in enumerate(styles):
            ends = [interval(units(table, metric, **{"policy": style[0], spec.x: value})) for value in values]
            _error_bars(axes, positions, np.array(ends), style, shift=4 * (i - (len(styles) - 1) / 2))
        finish(axes, "", _title(spec.x), TITLES[metric])
        if not numeric:
            axes.set_xticks(positions, values)
        _scale(axes, spec)
    grid[0][-1].legend(**LEGEND)
    return figure


def _error_bars(axes: "Axes", x: Sequence[float], ends: Floats, style: tuple[str, str, str], shift: float) -> None:
    """Draw means and intervals, shifted by that many points so that policies do not hide each other."""
    from matplotlib.transforms import ScaledTranslation

    shifted = axes.transData + ScaledTranslation(shift / 72, 0, axes.figure.dpi_scale_trans)
    error = np.abs(ends[:, 1:].T - ends[:, 0])
    name, colour, line = style
    dots: dict[str, Any] = {"marker": "o", "ms": 4, "capsize": 2, "lw": 1.4}
    axes.errorbar(x, ends[:, 0], yerr=error, label=name, transform=shifted, color=colour, ls=line, **dots)
    axes.update_datalim(np.column_stack([np.repeat(x, 3), ends.ravel()]))  # limits ignore shifted artists
    axes.autoscale_view()


def _dots(outcome: Outcome, spec: FigureSpec) -> "Figure":
    table = outcome.table.where(**_fixed(outcome, [])).final()
    styles = _styles(table, spec)
    figure, grid = _grid(1, len(spec.y), height=1.4 + 0.32 * len(styles))
    for i, (axes, metric) in enumerate(zip(grid[0], spec.y, strict=True)):
        for y, (name, colour, _) in enumerate(styles):
            mean, low, high = interval(units(table, metric, policy=name))
            axes.errorbar(mean, y, xerr=[[mean - low], [high - mean]], color=colour, marker="o", ms=5, capsize=3)
        axes.set_yticks(range(len(styles)), [name for name, *_ in styles] if i == 0 else [])
        axes.set_ylim(len(styles) - 0.5, -0.5)
        axes.grid(axis="x", lw=0.4, color="0.9")
        finish(axes, "", TITLES[metric], "")
    return figure


def _heat(outcome: Outcome, spec: FigureSpec) -> "Figure":
    """Draw the mean of y at every point of the grid, one panel per policy; the primary setting is framed."""
    table, metric = outcome.table.final(), spec.y[0]
    primary = {key: label(value) for key, value in outcome.spec.primary.items()}
    rows, columns = (
        [dict(zip(keys, labels, strict=True)) for labels, _ in table.groups(*keys)]
        for keys in (spec.rows, spec.columns)
    )
    names = [name for name, *_ in _styles(table, spec)]
    figure = new_figure(1.9 + 0.75 * len(columns) * len(names), 1.5 + 0.34 * len(rows))
    panels = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    for axes, name in zip(panels, names, strict=True):
        part = table.where(policy=name)
        means = np.array([[units(part, metric, **row, **column).mean() for column in columns] for row in rows])
        shade = np.sign(means) * np.log1p(np.abs(means))
        image = axes.imshow(shade, cmap="Blues", aspect="auto")
        for (i, j), value in np.ndenumerate(means):
            ink = "white" if image.norm(shade[i, j]) > 0.6 else "black"
            axes.text(j, i, readable(float(value)), ha="center", va="center", size=7, color=ink)
            if {**rows[i], **columns[j]}.items() <= primary.items():
                x, y = np.array([-0.5, 0.5, 0.5, -0.5, -0.5]), np.array([-0.5, -0.5, 0.5, 0.5, -0.5])
                axes.plot(j + x, i + y, color="#d55e00", lw=2, clip_on=False)
        axes.set_xticks(range(len(columns)), ["\n".join(map(_shortened, c.values())) for c in columns], size=7)
        axes.set_yticks(range(len(rows)), [", ".join(map(_shortened, r.values())) for r in rows], size=7)
        axes.set_title(f"{name}: {TITLES[metric]}", size=9)
        axes.set_xlabel(", ".join(map(_title, spec.columns)), size=8)
    panels[0].set_ylabel(", ".join(map(_title, spec.rows)), size=8)
    return figure


def _times(outcome: Outcome, spec: FigureSpec) -> "Figure":
    from matplotlib.ticker import NullLocator

    table = outcome.table
    figure, grid = _grid(1, 1)
    axes = grid[0][0]
    for name, colour, line in _styles(table, spec):
        part = table.where(policy=name)
        x, y = part[spec.x].astype(float), part["microseconds"]
        axes.plot(x, y, color=colour, ls=line, marker="o", ms=4, label=f"{name}: $n^{{{exponent(x, y):.2f}}}$")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(ticks := sorted(map(float, table.values(spec.x))), [f"{v:,.0f}" for v in ticks], size=7)
    axes.xaxis.set_minor_locator(NullLocator())
    title = "exponent over the upper\nhalf of the range"
    axes.legend(frameon=False, fontsize=8, title=title, title_fontsize=8, loc=(1, 0.3))
    finish(axes, "", _title(spec.x), TITLES["microseconds"])
    return figure


KINDS = {"curves": _curves, "final": _final, "dots": _dots, "heat": _heat, "times": _times}


def _fixed(outcome: Outcome, shown: Sequence[str]) -> dict[str, object]:
    """Return the primary values of the settings that a figure does not show."""
    return {key: value for key, value in outcome.spec.primary.items() if key not in shown}


def _styles(table: Table, spec: FigureSpec) -> list[tuple[str, str, str]]:
    """Return the name, colour and line style of each policy."""
    names = [name for name in table.values("policy") if name in spec.policies or not spec.policies]
    if all(name in STYLES for name in names):
        return [(name, *STYLES[name]) for name in names]
    return [(name, OTHER_COLOURS[i % len(OTHER_COLOURS)], DASHES[i % len(DASHES)]) for i, name in enumerate(names)]


def _grid(rows: int, columns: int, height: float = 3.3) -> "tuple[Figure, list[list[Axes]]]":
    figure = new_figure(max(4.2 * columns, 5.0), height * rows + 0.3)
    return figure, figure.subplots(rows, columns, squeeze=False).tolist()


def _scale(axes: "Axes", spec: FigureSpec) -> None:
    if "y" in spec.log:
        axes.set_yscale("symlog", linthresh=LINEAR_UP_TO)
        axes.set_ylabel(f"{axes.get_ylabel()} (log beyond {LINEAR_UP_TO})")
    if "x" in spec.log:
        axes.set_xscale("log")


def _title(key: str) -> str:
    return TITLES.get(key, key.removeprefix("problem."))


def _shortened(text: str) -> str:
    return text if len(text) <= 14 else text[:13] + "…"
