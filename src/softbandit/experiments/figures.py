"""Figures. Each function returns a matplotlib Figure; nothing here touches a display."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softbandit.backend.shapes import Floats
from softbandit.errors import ArgumentError, MissingExtraError
from softbandit.experiments.comparison import Result
from softbandit.problems.problem import Problem
from softbandit.theory.optimum import randomized_optimum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe & Ito: safe for the colour-blind
POINTS = 400  # a line: more cannot be told apart


def overview(problem: Problem, results: Sequence[Result], note: str) -> "Figure":
    """The problem (one feature, one constraint), and each policy's regret and average cost over time."""
    figure = new_figure(width=11, height=3.6)
    functions, regret, cost = figure.subplots(1, 3)
    _draw_problem(functions, problem)
    for colour, (name, trace, scores) in zip(COLOURS, results, strict=False):
        _band(regret, scores.strong_regret, name, colour)
        t = np.arange(1, trace.arms.shape[1] + 1)
        _band(cost, np.cumsum(problem.cost[trace.arms], axis=1) / t, name, colour)
    finish(regret, "Regret against the best mixture", "round", "$R_+(t)$")
    regret.legend(frameon=False)
    cost.axhline(0, color="black", lw=0.8, ls="--")
    cost.set_xscale("log")
    finish(cost, "Average cost so far (soft limit: 0)", "round", r"$\frac{1}{t}\sum_{s \leq t} g(x_s)$")
    trials = results[0].trace.arms.shape[0]
    figure.text(0.5, 0.01, f"{note}; mean and standard deviation of {trials} trials", ha="center", size=8, color="0.35")
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    return figure


def _draw_problem(axes: "Axes", problem: Problem) -> None:
    x = problem.arms[:, 0]
    axes.plot(x, problem.reward, color="black", label="reward $f$")
    axes.plot(x, problem.cost, color="0.5", ls="--", label="cost $g$")
    axes.fill_between(x, 0, 1, where=list(problem.cost > 0), transform=axes.get_xaxis_transform(), color="0.92", lw=0)
    weights = randomized_optimum(problem.reward, problem.cost).weights
    best = np.flatnonzero(weights)
    axes.scatter(
        x[best], problem.reward[best], 30 + 90 * weights[best], color="black", zorder=3, label=r"optimum $\pi^*$"
    )
    axes.axhline(0, color="black", lw=0.5)
    axes.legend(frameon=False, fontsize=8, markerscale=0.6)
    finish(axes, "The problem (shaded: cost above 0)", "arm $x$", "")


def _band(axes: "Axes", curves: Floats, label: str, colour: str) -> None:
    """Mean over trials, with one standard deviation either side."""
    rounds = curves.shape[1]
    pick = np.unique(np.geomspace(1, rounds, POINTS).astype(int)) - 1
    pick = np.union1d(pick, np.linspace(0, rounds - 1, min(POINTS, rounds)).astype(int))
    mean, std = curves.mean(axis=0)[pick], curves.std(axis=0)[pick]
    axes.plot(pick + 1, mean, color=colour, label=label)
    axes.fill_between(pick + 1, mean - std, mean + std, color=colour, alpha=0.18, lw=0)


def finish(axes: "Axes", title: str, xlabel: str, ylabel: str) -> None:
    """Title and labels, without a box."""
    axes.set_title(title, size=10)
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.spines[["top", "right"]].set_visible(False)


FORMATS = (".png", ".pdf", ".svg")


def figure_path(path: Path, name: str) -> Path:
    """Where a figure will go: a file of a known kind, or that name in a folder. Checked before the work."""
    _matplotlib()
    if path.is_dir():
        return path / name
    if path.suffix.lower() not in FORMATS:
        raise ArgumentError.of("figure", f"a name ending in {', '.join(FORMATS)}", str(path), "Name it so.")
    return path


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure, in inches."""
    return _matplotlib()(figsize=(width, height), dpi=150)


def _matplotlib() -> type["Figure"]:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtraError.of_extra("matplotlib", "plot") from None
    return Figure
