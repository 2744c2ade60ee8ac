"""Figures of docs/decisions.md."""

import numpy as np
from decision_problems import FAMILY_OF
from decision_results import BOUND
from matplotlib.ticker import NullLocator

from softbandit.drawing import COLOURS, draw_band, finish, new_figure

WORST = 32  # times the best: the end of the colour scale


def ratios(results):
    """Draw P relative to the best method of each cell: one row per method, one column per problem and length."""
    methods = [m for m in sorted(results.methods, key=lambda m: typical(results, m)) if m != BOUND]
    grid = np.array([[results.ratio(cell, method) for cell in results.cells] for method in methods])
    figure = new_figure(width=2.2 + 0.2 * len(results.cells), height=1.6 + 0.2 * len(methods))
    axes = figure.subplots()
    axes.set_facecolor("0.9")  # not run
    image = axes.imshow(np.log2(grid), cmap="viridis_r", vmin=0, vmax=np.log2(WORST), aspect="auto")
    axes.set_yticks(range(len(methods)), methods, size=8)
    problems = results.problems()
    places = [[i for i, cell in enumerate(results.cells) if cell[0] == problem] for problem in problems]
    axes.set_xticks([np.mean(place) for place in places], problems, rotation=90, size=8)
    for problem, place, following in zip(problems, places, [*problems[1:], problems[-1]], strict=True):
        same = FAMILY_OF[problem] == FAMILY_OF[following]
        axes.axvline(place[-1] + 0.5, color="white", lw=1 if same else 4)
    axes.tick_params(length=0)
    bar = figure.colorbar(image, ax=axes, pad=0.01, aspect=30)
    bar.set_ticks(range(6), labels=["1", "2", "4", "8", "16", "32 and more"], size=8)
    lengths = ", ".join(f"{rounds:,}" for rounds in sorted({rounds for _, rounds in results.cells}))
    finish(
        axes, f"P(T) relative to the best method of the cell (T = {lengths} from left to right; grey: not run)", "", ""
    )
    axes.spines[:].set_visible(False)
    figure.tight_layout()
    return figure


def typical(results, method):
    """Return the mean of the logarithms of the ratios."""
    return np.nanmean(np.log([results.ratio(cell, method) for cell in results.cells]))


def curves(rows):
    """Draw the running means of cost (limit 0) and gap: one column per problem, one line per method."""
    problems, methods = (list(dict.fromkeys(row[name] for row in rows)) for name in ("problem", "method"))
    figure = new_figure(width=3 * max(len(problems), 1) + 0.5, height=6.2)
    grid = figure.subplots(2, max(len(problems), 1), squeeze=False, sharex=True)
    for problem, (cost, gap) in zip(problems, grid.T, strict=False):
        for method, colour in zip(methods, COLOURS, strict=False):
            chosen = [row for row in rows if (row["problem"], row["method"]) == (problem, method)]
            if chosen:
                draw_runs(cost, chosen, "mean_cost", method, colour)
                draw_runs(gap, chosen, "gap", method, colour)
        cost.axhline(0, color="black", lw=0.8, ls="--")
        cost.set_yscale("symlog", linthresh=0.1)
        gap.set_yscale("log")
        gap.set_xscale("log")
        for axes in (cost, gap):
            axes.yaxis.set_minor_locator(NullLocator())
        finish(cost, problem, "", "mean cost so far, in spreads" if cost is grid[0, 0] else "")
        finish(gap, "", "round", "regret per round so far, in spreads" if gap is grid[1, 0] else "")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    if rows:
        figure.legend(*grid[0, -1].get_legend_handles_labels(), loc="lower center", ncols=len(methods), frameon=False)
    return figure


def draw_runs(axes, rows, column, label, colour):
    """Draw the median over the seeds, and the middle half of them."""
    runs = {(int(row["round"]), row["seed"]): float(row[column]) for row in rows}  # the last row of a cell counts
    rounds = sorted({t for t, _ in runs})
    at = [[value for (round, _), value in runs.items() if round == t] for t in rounds]
    band = np.array([np.quantile(values, [0.5, 0.25, 0.75]) for values in at]).T
    draw_band(axes, np.array(rounds), band, label, colour)
