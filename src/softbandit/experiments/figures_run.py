"""The figure of one live run: budget used, bound on the regret, and price, over the rounds."""

from typing import TYPE_CHECKING

import numpy as np

from softbandit.agent import Agent
from softbandit.backend import Floats
from softbandit.drawing import COLOURS, draw_band, finish, new_figure
from softbandit.theory import certify_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 100  # rounds at which certificates are computed


def run_figure(agent: Agent, confidence: float = 0.1) -> "Figure":
    """Draw what an agent's certificates said over time: all bands hold together with probability 1 - confidence."""
    T = len(agent.record)
    rounds = np.unique(np.linspace(1, T, min(POINTS, T)).round().astype(int))
    certified = certify_run(agent.policy, agent.record, confidence, rounds.tolist())
    figure = new_figure(width=11, height=3.4)
    budget, regret, price = figure.subplots(1, 3)
    bands = np.concatenate([certified.observed[0, :, 1:, None], certified.violation[0]], axis=2)  # (k, m, 3)
    for i, (colour, band) in enumerate(zip(COLOURS, np.moveaxis(bands, 1, 0), strict=False)):
        draw_band(budget, rounds, band.T, f"cost {i}", colour)
        _draw_price(price, agent.record.dual[:, i], colour)
    budget.axhline(0, color="black", lw=0.8, ls="--")
    finish(budget, "Total cost: observed, and a band for the truth", "round", r"$\sum_{s \leq t} g(x_s)$")
    _draw_regret(regret, rounds, certified.regret[0])
    finish(price, f"Price of cost, and its mean over {_window(T)} rounds", "round", r"dual $\phi_t$")
    if bands.shape[1] > 1:
        budget.legend(frameon=False, fontsize=8)
    note = f"Together, at all times, with probability {1 - confidence:g}. Dashed: the limit."
    figure.text(0.5, 0.01, note, ha="center", size=8, color="0.35")
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    return figure


def _draw_regret(axes: "Axes", rounds: Floats, bound: Floats) -> None:
    """Draw the bound per round, where it is finite, and shade what it rules out."""
    known = np.isfinite(bound)
    level = bound[known] / rounds[known]
    axes.plot(rounds[known], level, color="black", lw=1.5)
    if len(level):
        top = 1.1 * float(level.max())
        axes.fill_between(rounds[known], level, top, color="0.9", lw=0)
        if level.min() > 0:  # it can be negative: a run may earn more than the optimum may, at a cost
            axes.set_yscale("log")
            axes.set_ylim(0.5 * float(level.min()), top)
    finish(axes, "Regret per round (shaded: ruled out)", "round", "$R_+(t) / t$")


def _draw_price(axes: "Axes", dual: Floats, colour: str) -> None:
    """Draw the dual, which swings around the price, and its mean over some rounds."""
    T, width = len(dual), _window(len(dual))
    axes.plot(np.arange(1, T + 1), dual, color=colour, lw=0.5, alpha=0.3)
    mean = np.convolve(dual, np.full(width, 1 / width), mode="valid")
    axes.plot(np.arange(width, T + 1), mean, color=colour, lw=1.5)


def _window(rounds: int) -> int:
    return max(1, rounds // 20)
