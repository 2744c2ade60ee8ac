"""The comparison of decisions: every method on every kind of problem, by what its decisions cost.

`python benchmarks/decisions.py run [--jobs 16] [--methods ...] [--problems ...] [--rounds ...] [--seeds 10]`
`python benchmarks/decisions.py report [DIR] [--subject autopilot]`

A cell is one run: (problem, method, rounds, seed). Its measures are a row of DIR/cells.csv, and its course, for the
problems of the figures, rows of DIR/curves.csv. DIR is benchmarks/results/decisions, or given by `run --out`.
Finished cells are skipped, so that a run can be stopped and continued. `report` writes the tables and figures of
docs/decisions.md.
"""

import argparse
import os
import sys
import time
from itertools import chain
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one cell per core
os.environ.setdefault("OMP_NUM_THREADS", "1")

import tables
from decision_methods import METHODS
from decision_problems import FAMILIES, FAMILY_OF, PROBLEMS
from decision_runs import COLUMNS, CURVE_COLUMNS, Cell, results, sharing
from joblib import Parallel, delayed

ROUNDS, SPACE_ROUNDS = (100, 300, 2000), (100, 300)
FOLDER = tables.RESULTS / "decisions"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    runner = commands.add_parser("run")
    runner.add_argument("--out", type=Path, default=FOLDER)
    runner.add_argument("--jobs", type=int, default=1)
    runner.add_argument("--methods", nargs="+", choices=METHODS, default=[*METHODS])
    runner.add_argument("--problems", nargs="+", choices=[*PROBLEMS, *FAMILIES], default=[*PROBLEMS])
    runner.add_argument("--rounds", nargs="+", type=int, default=ROUNDS)
    runner.add_argument("--seeds", type=int, default=10, help="how many")
    runner.add_argument("--first", type=int, default=0, help="the first seed")
    runner.add_argument("--again", action="store_true", help="run finished cells again; the last row of a cell counts")
    runner.set_defaults(command=run)
    reporter = commands.add_parser("report")
    reporter.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    reporter.add_argument("--subject", choices=METHODS, default="autopilot", help="method whose targets are checked")
    reporter.set_defaults(command=report)
    options = parser.parse_args()
    options.command(options)


def report(options):
    import decision_report

    decision_report.write(options.folder, options.subject)


def run(options):
    """Run the cells that are not finished, and append their rows as they come."""
    cells, curves = options.out / "cells.csv", options.out / "curves.csv"
    for path, columns in ((cells, COLUMNS), (curves, CURVE_COLUMNS)):
        if not path.exists():
            tables.start(path, columns)
    finished = {Cell(row["problem"], row["method"], int(row["rounds"]), int(row["seed"])) for row in tables.read(cells)}
    todo = [cell for cell in wanted(options) if options.again or cell not in finished]
    print(f"{len(todo)} cells, {len(finished)} finished before", flush=True)
    jobs = (delayed(results)(cells) for cells in sharing(todo))
    started = time.perf_counter()
    finishing = chain.from_iterable(Parallel(options.jobs, return_as="generator_unordered")(jobs))
    for n, (cell, row, curve) in enumerate(finishing, start=1):
        spent = time.perf_counter() - started
        if isinstance(row, str):
            print(f"{cell} failed: {row}", file=sys.stderr, flush=True)
            continue
        for point in curve:
            tables.append(curves, point)
        tables.append(cells, row)
        print(f"{n} of {len(todo)}, {spent:,.0f} s: {' '.join(map(str, cell))}  P {row['P']}", flush=True)


def wanted(options):
    """Return the cells asked for that make sense: all methods of a seed before the next seed, long runs first."""
    problems = [n for name in options.problems for n in FAMILIES.get(name, [name])]
    cells = []
    for seed in range(options.first, options.first + options.seeds):
        for problem in problems:
            on_space = FAMILY_OF[problem] == "spaces"
            for rounds in sorted(options.rounds, reverse=True):
                if on_space and rounds > max(SPACE_ROUNDS):
                    continue
                suitable = [m for m in options.methods if METHODS[m].suits(on_space, problem == "wireless", rounds)]
                cells += [Cell(problem, method, rounds, seed) for method in suitable]
    return cells


if __name__ == "__main__":
    main()
