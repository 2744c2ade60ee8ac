"""Tables and figures of docs/performance.md, from the files in benchmarks/results: `python benchmarks/report.py`

The page's text between <!-- name --> and <!-- /name --> is replaced by the results of that name; the rest is not
touched. A test checks that no number in such a part was edited by hand.
"""

import re
from pathlib import Path

import tables

DOCS = Path(__file__).parent.parent / "docs"
TEXTS = (  # outputs of benchmarks, shown unchanged
    "precision",
    "memory",
    "engines",
    "cores",
    "compile",
    "core",
    "peers",
    "arms",
    "high_rank",
    "high_rank_numpy",
    "high_rank_jax",
    "high_rank_gpu",
    "continuous",
    "autopilot_times",
    "curves",
    "gpu",
)
MAIN = ("ckb-ucb", "ckb-ts")
TRIALS = 50  # in the figure of all policies


def main():
    import plots

    grid, bandwidth = read("grid"), read("bandwidth")
    plots.engines(grid, MAIN).savefig(DOCS / "performance.png")
    plots.policies(grid, TRIALS).savefig(DOCS / "policies.png")
    plots.bandwidth(bandwidth).savefig(DOCS / "bandwidth.png")
    path = DOCS / "performance.md"
    path.write_text(page(path.read_text()))
    print(path)


def read(kind, folder=tables.RESULTS):
    """Return the rows of all machines, CPUs first."""
    rows = [row for path in sorted(folder.glob(f"{kind}-*.csv")) for row in tables.read(path)]
    return sorted(rows, key=lambda row: row["device"] != "CPU")


def page(text, folder=tables.RESULTS):
    """Return the page with its parts replaced by the current results."""
    grid, bandwidth = read("grid", folder), read("bandwidth", folder)
    parts = {"grid": main_table(grid), "policies": all_tables(grid), "bandwidth": bandwidth_table(bandwidth)}
    parts |= {name: verbatim((folder / f"{name}.txt").read_text()) for name in TEXTS}
    return replace_parts(text, parts)


def replace_parts(text, parts):
    """Return a page whose text between <!-- name --> and <!-- /name --> is that part, for every name."""
    for name, part in parts.items():
        between = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", flags=re.DOTALL)
        text, count = between.subn(lambda _, part=part: part, text)
        assert count == 1, f"the page needs one part <!-- {name} --> ... <!-- /{name} -->"
    return text


def main_table(rows):
    """Return rounds per second of the main policies on every engine."""
    arms = distinct(rows, "arms")
    head = ["policy", "engine", "trials", *(f"{n:,} arms" for n in arms)]
    lines = [
        [policy, name, f"{trials:,}", *figures(rows, policy, name, trials, arms)]
        for policy in MAIN
        for name in labels(rows)
        for trials in distinct(rows, "trials")
    ]
    return markdown(head, lines, left=2) + sources(rows)


def all_tables(rows):
    """Return rounds per second of every policy: one collapsed table per engine and number of trials."""
    arms = distinct(rows, "arms")
    parts = []
    for name in labels(rows):
        for trials in distinct(rows, "trials"):
            policies = dict.fromkeys(row["policy"] for row in rows)
            lines = [[policy, *figures(rows, policy, name, trials, arms)] for policy in policies]
            table = markdown(["policy", *(f"{n:,} arms" for n in arms)], lines, left=1)
            parts.append(f"<details><summary>{name}, {trials_text(trials)}</summary>\n\n{table}\n</details>\n")
    return "\n".join(parts) + sources(rows)


def bandwidth_table(rows):
    """Return bytes, times and shares of CKB-UCB, after the speeds of copies."""
    copies = "".join(f"- {copy}\n" for copy in copy_speeds(rows))
    head = ["engine", "arms", "trials", "MB per round", "us per round", "GB/s", "of a copy"]
    lines = [
        [
            label(row),
            f"{int(row['arms']):,}",
            f"{int(row['trials']):,}",
            number(int(row["bytes_per_round"]) / 1e6),
            *([reason(row), "", ""] if row["note"] else speeds(row)),
        ]
        for name in labels(rows)
        for trials in distinct(rows, "trials")
        for row in rows
        if row["engine"] and (label(row), int(row["trials"])) == (name, trials)
    ]
    return copies + "\n" + markdown(head, lines, left=1) + "\n\\*: all of it fits in the caches.\n" + sources(rows)


def copy_speeds(rows):
    """Return how fast each device copies, in words."""
    copies = [row for row in rows if not row["engine"]]
    return [f"{row['device']}, {row['what']}: {float(row['gb_per_second']):,.0f} GB/s" for row in copies]


def speeds(row):
    """Return time per round, bandwidth and share of a copy's bandwidth."""
    star = "\\*" if row["in_caches"] == "yes" else ""
    share = f"{100 * float(row['share_of_copy']):.2g}%"
    return [number(row["us_per_round"]), number(row["gb_per_second"]), share + star]


def figures(rows, policy, name, trials, arms):
    """Return rounds per second for each number of arms, or why there are none."""
    key = policy, name, trials
    by_arms = {int(row["arms"]): row for row in rows if (row["policy"], label(row), int(row["trials"])) == key}
    return [
        reason(by_arms[n]) or number(by_arms[n]["rounds_per_second"]) if n in by_arms else "*not run*" for n in arms
    ]


def reason(row):
    """Return the first word of a note."""
    return f"*{row['note'].split(':')[0]}*" if row["note"] else ""


def number(value):
    """Return three significant digits without an exponent: 1,230,000, 12.3."""
    value = float(f"{float(value):.3g}")
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def label(row):
    """Return the engine, and the accelerator if it ran on one."""
    engine = {"numpy": "NumPy", "jax": "JAX"}[row["engine"]]
    return engine if row["device"] == "CPU" else f"{engine}, {row['device'].removeprefix('NVIDIA ')}"


def labels(rows):
    return list(dict.fromkeys(label(row) for row in rows if row["engine"]))


def distinct(rows, column):
    return sorted({int(row[column]) for row in rows if row[column]})


def trials_text(trials):
    return "1 trial" if trials == 1 else f"{trials:,} trials"


def sources(rows):
    """Return the commands and where they ran."""
    ran = dict.fromkeys((row["command"], where(row)) for row in rows)
    return "\n" + "".join(f"`{command}`<br>{place}\n\n" for command, place in ran)


def where(row):
    device = "" if row["device"] == "CPU" else f"{row['device']}, on a machine with "
    return f"{device}{row['machine']}; {row['versions'].replace(';', ',')}"


def verbatim(text):
    """Return what a benchmark printed, and the command."""
    command, place, _, printed = text.split("\n", 3)
    return f"```text\n{printed}```\n\n`{command}`<br>{place.replace(';', ',')}\n\n"


def markdown(head, lines, left):
    """Return a table with its first columns aligned left and the numbers right."""
    rule = ["---"] * left + ["--:"] * (len(head) - left)
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *lines))


if __name__ == "__main__":
    main()
