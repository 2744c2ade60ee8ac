"""The table of all methods in docs/baselines.md, from the experiments' tables:

softbandit reproduce --only methods --only methods-wireless --only methods-cloud
python benchmarks/methods.py out/reproduce
"""

import sys
from pathlib import Path

from softbandit.experiments.statistics import guaranteed, interval, units
from softbandit.experiments.tables import Table

EXPERIMENTS = {
    "methods": "50 instances of `rkhs`, T = 10,000; noise floor R sqrt(T) = 10",
    "methods-wireless": "`wireless`, 20 trials, T = 3,000; noise floor 2.7",
    "methods-cloud": "`cloud`, 20 trials, T = 3,000; noise floor 1.2",
}
WIDTHS = ("theory", "theory x 0.2", "tight")


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/reproduce")
    for name, caption in EXPERIMENTS.items():
        if (folder / name / "results.csv").exists():
            print(f"\n{caption}:\n")
            print_table(Table.read(folder / name / "results.csv").final())


def print_table(table):
    print("| method | " + " | ".join(f"{width}: R_+ | V" for width in WIDTHS) + " |")
    print("|---|" + "---|---|" * len(WIDTHS))
    for policy in table.values("policy"):
        cells = []
        for width in WIDTHS:
            rows = table.where(policy=policy, width=width)
            mark = {"yes": " *", "no": ""}.get(guaranteed(rows), " (*)")
            regret, violation = (interval(units(rows, metric)) for metric in ("strong_regret", "violation"))
            cells += [rounded(regret) + mark, rounded(violation)]
        print(f"| {policy} | " + " | ".join(cells) + " |")


def rounded(estimate):
    """Return the mean and its 95% interval in whole numbers, or with one digit if small."""
    digits = 1 if abs(estimate.mean) < 10 else 0
    mean, low, high = (f"{value:,.{digits}f}" for value in estimate)
    return f"{mean} [{low}, {high}]" if low != high else mean


if __name__ == "__main__":
    main()
