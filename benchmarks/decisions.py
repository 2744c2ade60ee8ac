"""The comparison of decisions: every method on every kind of problem, by what its decisions cost.

`python benchmarks/decisions.py run --out DIR [--jobs 16] [--methods ...] [--problems ...] [--rounds ...] [--seeds 10]`
`python benchmarks/decisions.py report DIR [--subject autopilot]`

A cell is one run: (problem, method, rounds, seed). Its measures are a row of DIR/cells.csv, and its course, for the
problems of the figures, rows of DIR/curves.csv. Finished cells are skipped, so that a run can be stopped and continued.
`report` writes the tables and figures of docs/decisions.md.
"""

import argparse
import hashlib
import os
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one cell per core
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import tables
from decision_measures import gaps, measures, outputs, truth
from decision_methods import METHODS
from decision_problems import FAMILIES, FAMILY_OF, PROBLEMS, RANDOM
from joblib import Parallel, delayed

from softbandit.backend import PROBLEM, draw

ROUNDS, SPACE_ROUNDS = (100, 300, 2000), (100, 300)
CURVE_POINTS = 40
CURVE_ROUNDS = 2000
CURVE_PROBLEMS = ("SS-D", "SS-O", "rkhs-1d", "cloud")
CURVE_METHODS = ("autopilot", "ckb", "ckb-old", "cts", "optuna-tpe-commit", "random")
COLUMNS = (
    *("problem", "method", "rounds", "seed"),
    *("P", "strict", "regret", "violation", "over", "excess", "floor", "gap_first", "gap_last"),
    *("top_share", "top_cost", "stuck", "seconds_per_round"),
)
CURVE_COLUMNS = ("problem", "method", "rounds", "seed", "round", "mean_cost", "gap")


class Cell(NamedTuple):
    problem: str
    method: str
    rounds: int
    seed: int  # 0, 1, ...


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    runner = commands.add_parser("run")
    runner.add_argument("--out", type=Path, required=True)
    runner.add_argument("--jobs", type=int, default=1)
    runner.add_argument("--methods", nargs="+", choices=METHODS, default=[*METHODS])
    runner.add_argument("--problems", nargs="+", choices=[*PROBLEMS, *FAMILIES], default=[*PROBLEMS])
    runner.add_argument("--rounds", nargs="+", type=int, default=ROUNDS)
    runner.add_argument("--seeds", type=int, default=10, help="how many")
    runner.add_argument("--first", type=int, default=0, help="the first seed")
    runner.add_argument("--again", action="store_true", help="run finished cells again; the last row of a cell counts")
    runner.set_defaults(command=run)
    reporter = commands.add_parser("report")
    reporter.add_argument("folder", type=Path)
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
    jobs = (delayed(result)(cell) for cell in todo)
    started = time.perf_counter()
    for n, (cell, row, curve) in enumerate(Parallel(options.jobs, return_as="generator_unordered")(jobs), start=1):
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


def result(cell):
    """Return the cell, its row (or why it failed) and the points of its curve."""
    try:
        problem, known = problem_and_truth(cell.problem, instance(cell))
        method = METHODS[cell.method].build(problem, cell.rounds, cell_seed(cell))
        started = time.perf_counter()
        played = play(cell, problem, method)
        seconds = (time.perf_counter() - started) / cell.rounds
        row = cell._asdict() | measures(problem, known, played) | {"seconds_per_round": seconds}
        return cell, {name: short(row[name]) for name in COLUMNS}, list(curve(cell, problem, known, played))
    except Exception as error:  # a method that fails must not end the run of all others
        return cell, f"{type(error).__name__}: {error}", []


def play(cell, problem, method):
    """Return what the method plays. All methods meet the same noise."""
    played = []
    for draws in draw(problem.draws(), cell_seed(cell), [0], 0, cell.rounds, PROBLEM).rounds():
        mask = problem.available(draws)
        choice = method.ask(None if mask is None else np.flatnonzero(mask[0]))
        reward, costs = problem.observe(np.array([choice]), draws)
        method.tell(choice, float(reward[0]), costs[0])
        played.append(choice)
    return played


@lru_cache(maxsize=4)
def problem_and_truth(name, seed):
    problem = PROBLEMS[name](seed)
    return problem, truth(problem)


def instance(cell):
    """Return the seed of the problem: random functions differ between seeds, other problems only in their noise."""
    return cell.seed if cell.problem in RANDOM else 0


def cell_seed(cell):
    """Return a seed that differs between problems: with equal ones, methods would start with the same arm on each."""
    return int.from_bytes(hashlib.sha256(f"{cell.problem}/{cell.seed}".encode()).digest()[:4])


def curve(cell, problem, known, played):
    """Generate the running means of the cost (the largest, in units of s_g) and of the gap, if a figure shows them."""
    if cell.problem not in CURVE_PROBLEMS or cell.method not in CURVE_METHODS or cell.rounds != CURVE_ROUNDS:
        return
    g = outputs(problem, played)[1] / known.spreads[1:]
    totals = np.cumsum(g, axis=0).max(axis=1), np.cumsum(gaps(problem, known, played))
    for t in np.unique(np.geomspace(1, cell.rounds, CURVE_POINTS).astype(int)).tolist():
        mean_cost, gap = (short(total[t - 1] / t) for total in totals)
        yield cell._asdict() | {"round": t, "mean_cost": mean_cost, "gap": gap}


def short(value):
    """Return a number with five digits, and anything else as it is."""
    return f"{value:.5g}" if isinstance(value, float) else value


if __name__ == "__main__":
    main()
