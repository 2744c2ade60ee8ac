"""Figures of docs/performance.md, drawn from rows of results."""

import report
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from softbandit.drawing import finish, new_figure

COLOURS = {"NumPy": "#0072b2", "JAX": "#d55e00"}  # Okabe & Ito, as in the other figures
OTHERS = ("#009e73", "#cc79a7", "#e69f00")  # accelerators
MISSING = "Missing dots: not run, or more memory or time than the benchmark allows."


def engines(rows, policies):
    """Draw the time per trial-round against arms: one row per policy, panel per number of trials, line per engine."""
    columns = report.distinct(rows, "trials")
    figure = new_figure(width=9.5, height=2.75 * len(policies) + 0.75)
    grid = figure.subplots(len(policies), len(columns), sharex=True, sharey=True, squeeze=False)
    for policy, line in zip(policies, grid, strict=True):
        for trials, axes in zip(columns, line, strict=True):
            chosen = [row for row in rows if row["policy"] == policy and int(row["trials"]) == trials]
            lines(axes, chosen, "us_per_trial_round")
            last = policy == policies[-1]
            title = f"{policy.upper()}, {report.trials_text(trials)}"
            finish(axes, title, "arms" if last else "", "microseconds per trial-round" if axes is line[0] else "")
    return finished(figure, rows, "Time per round and trial, by number of arms", MISSING)


def policies(rows, trials):
    """Draw the time per trial-round of every policy: one panel per number of arms, one dot per engine."""
    chosen = [row for row in rows if int(row["trials"]) == trials]
    names, columns = list(dict.fromkeys(row["policy"] for row in chosen))[::-1], report.distinct(chosen, "arms")
    figure = new_figure(width=11, height=0.22 * len(names) + 1.6)
    panels = figure.subplots(1, len(columns), sharex=True, sharey=True, squeeze=False)[0]
    for arms, axes in zip(columns, panels, strict=True):
        for row in chosen:
            if int(row["arms"]) == arms and not row["note"]:
                point = float(row["us_per_trial_round"]), names.index(row["policy"])
                axes.plot(*point, "o", ms=5, color=colour(rows, report.label(row)), clip_on=False)
        axes.set_xscale("log")
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.grid(color="0.92", lw=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(axis="y", length=0)
        ticks(axes.xaxis, every=2)
        finish(axes, f"{arms:,} arms", "microseconds per trial-round" if axes is panels[len(panels) // 2] else "", "")
        axes.spines["left"].set_visible(False)
    return finished(figure, rows, f"Every policy, {report.trials_text(trials)} at a time", MISSING)


def bandwidth(rows):
    """Draw CKB-UCB's share of the copy bandwidth: one panel per number of trials, one line per engine."""
    rounds = [row for row in rows if row["engine"]]
    columns = report.distinct(rounds, "trials")
    figure = new_figure(width=9.5, height=3.5)
    panels = figure.subplots(1, len(columns), sharex=True, sharey=True, squeeze=False)[0]
    for trials, axes in zip(columns, panels, strict=True):
        chosen = [row | {"share": share(row)} for row in rounds if int(row["trials"]) == trials]
        lines(axes, chosen, "share")
        axes.axhline(100, color="black", lw=0.8)
        axes.set_ylim(top=250)
        finish(axes, f"CKB-UCB, {report.trials_text(trials)}", "arms", "of copy bandwidth" if axes is panels[0] else "")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
    panels[-1].annotate(
        "as fast as a copy", (0.02, 103), xycoords=panels[-1].get_yaxis_transform(), va="bottom", size=8
    )
    note = f"Open circles: all of it fits in the caches. {'. '.join(report.copy_speeds(rows))}.\n{MISSING}"
    return finished(figure, rows, "Bytes that a round must move, against a copy", note)


def share(row):
    return "" if row["note"] else 100 * float(row["share_of_copy"])


def lines(axes, rows, column):
    """Draw one line per engine over the arms, on logarithmic axes."""
    for name in report.labels(rows):
        points = sorted((int(row["arms"]), row) for row in rows if report.label(row) == name and not row["note"])
        shade = colour(rows, name)
        axes.plot([n for n, _ in points], [float(row[column]) for _, row in points], color=shade, lw=1.8)
        for n, row in points:
            fill = "white" if row.get("in_caches") == "yes" else shade
            axes.plot(n, float(row[column]), "o", ms=5, mec=shade, mfc=fill, mew=1.3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(color="0.92", lw=0.8)
    axes.set_axisbelow(True)
    ticks(axes.xaxis)
    ticks(axes.yaxis)


def colour(rows, name):
    others = [label for label in report.labels(rows) if label not in COLOURS]
    return COLOURS.get(name) or OTHERS[others.index(name) % len(OTHERS)]


def ticks(axis, every=1):
    """Place one tick per `every` powers of ten, written out."""
    axis.set_major_locator(LogLocator(base=10.0**every, numticks=12))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def short(value):
    """Return a number in short form: 0.1, 100, 10k, 1M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def legend(figure, rows):
    names = report.labels(rows)
    keys = [Line2D([], [], color=colour(rows, name), marker="o", lw=0) for name in names]
    place = {"loc": "upper right", "bbox_to_anchor": (0.995, 1 - 0.02 / figure.get_size_inches()[1])}
    figure.legend(keys, names, ncols=len(names), frameon=False, fontsize=9, handletextpad=0, **place)


def finished(figure, rows, title, note):
    """Add the title, the legend, a note and the machines."""
    height = figure.get_size_inches()[1]
    where = "; ".join(dict.fromkeys(report.where(row).split(";")[0] for row in rows))
    head = figure.suptitle(title, size=11, x=0.01, y=1 - 0.08 / height, ha="left", va="top", weight="bold")
    head.set_in_layout(False)  # tight_layout gets its height below
    legend(figure, rows)
    figure.text(0.01, 0.06 / height, f"{note}\n{where}.", size=6.5, color="0.35", ha="left", va="bottom")
    foot = 0.1 + 0.1 * (2 + note.count("\n"))
    figure.tight_layout(rect=(0, foot / height, 1, 1 - 0.34 / height))
    return figure
