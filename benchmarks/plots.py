"""The figures of docs/performance.md, drawn from rows of results."""

import report
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from softbandit.experiments.figures import finish, new_figure

COLOURS = {"NumPy": "#0072b2", "JAX": "#d55e00"}  # Okabe & Ito, as in the other figures
OTHERS = ("#009e73", "#cc79a7", "#e69f00")  # accelerators
MISSING = "Where there is no dot the run was not made, or would take more memory or time than the benchmark allows."


def engines(rows, policies):
    """Time a trial-round against arms: a row a policy, a panel a number of trials, a line an engine."""
    columns = report.distinct(rows, "trials")
    figure = new_figure(width=9.5, height=2.75 * len(policies) + 0.75)
    grid = figure.subplots(len(policies), len(columns), sharex=True, sharey=True, squeeze=False)
    for policy, line in zip(policies, grid, strict=True):
        for trials, axes in zip(columns, line, strict=True):
            chosen = [row for row in rows if row["policy"] == policy and int(row["trials"]) == trials]
            lines(axes, chosen, "us_per_trial_round")
            last = policy == policies[-1]
            title = f"{policy.upper()}, {report.several(trials)}"
            finish(axes, title, "arms" if last else "", "microseconds a trial-round" if axes is line[0] else "")
    return finished(figure, rows, "Time a round and trial, by the number of arms", MISSING)


def policies(rows, trials):
    """Time a trial-round of every policy: a panel a number of arms, a dot an engine."""
    own = [row for row in rows if int(row["trials"]) == trials]
    names, columns = list(dict.fromkeys(row["policy"] for row in own))[::-1], report.distinct(own, "arms")
    figure = new_figure(width=11, height=0.22 * len(names) + 1.6)
    panels = figure.subplots(1, len(columns), sharex=True, sharey=True, squeeze=False)[0]
    for arms, axes in zip(columns, panels, strict=True):
        for row in own:
            if int(row["arms"]) == arms and not row["note"]:
                at = float(row["us_per_trial_round"]), names.index(row["policy"])
                axes.plot(*at, "o", ms=5, color=colour(rows, report.label(row)), clip_on=False)
        axes.set_xscale("log")
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(-0.6, len(names) - 0.4)
        axes.grid(color="0.92", lw=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(axis="y", length=0)
        ticks(axes.xaxis, every=2)
        finish(axes, f"{arms:,} arms", "microseconds a trial-round" if axes is panels[len(panels) // 2] else "", "")
        axes.spines["left"].set_visible(False)
    return finished(figure, rows, f"Every policy, {report.several(trials)} at a time", MISSING)


def bandwidth(rows):
    """The share of the copy bandwidth that CKB-UCB reaches: a panel a number of trials, a line an engine."""
    own = [row for row in rows if row["engine"]]
    columns = report.distinct(own, "trials")
    figure = new_figure(width=9.5, height=3.5)
    panels = figure.subplots(1, len(columns), sharex=True, sharey=True, squeeze=False)[0]
    for trials, axes in zip(columns, panels, strict=True):
        chosen = [row | {"share": share(row)} for row in own if int(row["trials"]) == trials]
        lines(axes, chosen, "share")
        axes.axhline(100, color="black", lw=0.8)
        axes.set_ylim(top=250)
        finish(axes, f"CKB-UCB, {report.several(trials)}", "arms", "of copy bandwidth" if axes is panels[0] else "")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
    panels[-1].annotate(
        "as fast as a copy", (0.02, 103), xycoords=panels[-1].get_yaxis_transform(), va="bottom", size=8
    )
    note = f"Open circles: all of it fits in the caches. {'. '.join(report.copies_of(rows))}.\n{MISSING}"
    return finished(figure, rows, "Bytes that a round must move, against a copy", note)


def share(row):
    return "" if row["note"] else 100 * float(row["share_of_copy"])


def lines(axes, rows, column):
    """A line an engine over the arms, both axes logarithmic."""
    for name in report.labels(rows):
        own = sorted((int(row["arms"]), row) for row in rows if report.label(row) == name and not row["note"])
        shade = colour(rows, name)
        axes.plot([n for n, _ in own], [float(row[column]) for _, row in own], color=shade, lw=1.8)
        for n, row in own:
            fill = "white" if row.get("in_caches") == "yes" else shade
            axes.plot(n, float(row[column]), "o", ms=5, mec=shade, mfc=fill, mew=1.3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(color="0.92", lw=0.8)
    axes.set_axisbelow(True)
    ticks(axes.xaxis)
    ticks(axes.yaxis)


def colour(rows, name):
    others = [each for each in report.labels(rows) if each not in COLOURS]
    return COLOURS.get(name) or OTHERS[others.index(name) % len(OTHERS)]


def ticks(axis, every=1):
    """One a power of ten, or of so many tens, written out."""
    axis.set_major_locator(LogLocator(base=10.0**every, numticks=12))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def short(value):
    """0.1, 100, 10k, 1M."""
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
    """Title, what there is to know, and where it was measured."""
    height = figure.get_size_inches()[1]
    where = "; ".join(dict.fromkeys(report.where(row).split(";")[0] for row in rows))
    head = figure.suptitle(title, size=11, x=0.01, y=1 - 0.08 / height, ha="left", va="top", weight="bold")
    head.set_in_layout(False)  # its room is set aside below
    legend(figure, rows)
    figure.text(0.01, 0.06 / height, f"{note}\n{where}.", size=6.5, color="0.35", ha="left", va="bottom")
    foot = 0.1 + 0.1 * (2 + note.count("\n"))
    figure.tight_layout(rect=(0, foot / height, 1, 1 - 0.34 / height))
    return figure
