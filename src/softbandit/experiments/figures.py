"""The overview that `softbandit demo` draws."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from softbandit.backend import Floats
from softbandit.drawing import COLOURS, draw_band, finish, new_figure
from softbandit.problems import Problem
from softbandit.simulation.scores import score
from softbandit.simulation.trace import Trace
from softbandit.theory import randomized_optimum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 400  # per line: more cannot be distinguished


def overview(problem: Problem, traces: Mapping[str, Trace], note: str) -> "Figure":
    """Draw the problem (one feature, one constraint), and each policy's regret and average cost over time."""
    figure = new_figure(width=11, height=3.6)
    functions, regret, cost = figure.subplots(1, 3)
    _draw_problem(functions, problem)
    for colour, (name, trace) in zip(COLOURS, traces.items(), strict=False):
        trials, rounds = trace.arms.shape
        _draw_deviation(regret, score(trace, problem).strong_regret, name, colour)
        _draw_deviation(cost, np.cumsum(problem.cost[trace.arms], axis=1) / np.arange(1, rounds + 1), name, colour)
    finish(regret, "Regret against the best mixture", "round", "$R_+(t)$")
    regret.legend(frameon=False)
    cost.axhline(0, color="black", lw=0.8, ls="--")
    cost.set_xscale("log")
    finish(cost, "Average cost so far (soft limit: 0)", "round", r"$\frac{1}{t}\sum_{s \leq t} g(x_s)$")
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


def _draw_deviation(axes: "Axes", curves: Floats, label: str, colour: str) -> None:
    """Draw the mean over trials, and one standard deviation on either side."""
    rounds = curves.shape[1]
    pick = np.unique(np.geomspace(1, rounds, POINTS).astype(int)) - 1
    pick = np.union1d(pick, np.linspace(0, rounds - 1, min(POINTS, rounds)).astype(int))
    mean, std = curves.mean(axis=0)[pick], curves.std(axis=0)[pick]
    draw_band(axes, pick + 1, np.stack([mean, mean - std, mean + std]), label, colour)
