"""Rounds a second of every policy on each engine, by the numbers of arms and of trials: `python benchmarks/grid.py`

Each figure is the best of three runs of about 0.2 s, or one run that takes longer; cells.py says how it is taken. A
cell that would take too much memory or time is written down with a note that says so. Rows are written as they come,
and --resume goes on after a run that was stopped. On an accelerator only JAX is run, unless --engines says otherwise.
"""

import argparse
import time
from pathlib import Path

import machine
import tables
from cells import Cell, Measured, add_limits, compile_side_by_side, forget, limits, measure, plan

import softbandit as sb

POLICIES = [name for name in sb.baselines.POLICIES if name != "ckb"]  # that is ckb-ucb
ARMS = (100, 1000, 10_000, 100_000, 1_000_000)
TRIALS = (1, 50, 1000)
COLUMNS = (
    "machine",
    "device",
    "versions",
    "policy",
    "engine",
    "arms",
    "rank",
    "trials",
    "rounds",
    "us_per_trial_round",
    "rounds_per_second",
    "note",
    "command",
)


def main():
    options = parse()
    path = options.out or tables.RESULTS / f"grid-{machine.slug()}.csv"
    known = {each.cell: each for each in map(measured, tables.read(path))} if options.resume else {}
    if not known:
        tables.start(path, COLUMNS)
    began = time.perf_counter()
    print(f"{machine.name()}; jax on {machine.device('jax')}; {machine.versions()}")
    print("rounds a second: trials x rounds / seconds\n")
    print(f"{'policy':17}{'engine':>7}{'arms':>10}" + "".join(f"{each:>8,} trials" for each in options.trials))
    for arms in options.arms:
        on_arms(arms, options, known, path)
        forget()
    print(f"\n{path}: {time.perf_counter() - began:.0f} s")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    on_cpu = machine.accelerator() is None
    parser.add_argument("--policies", nargs="*", default=POLICIES, choices=POLICIES, metavar="NAME")
    parser.add_argument("--engines", nargs="*", default=["numpy", "jax"] if on_cpu else ["jax"])
    parser.add_argument("--arms", type=int, nargs="*", default=ARMS)
    parser.add_argument("--trials", type=int, nargs="*", default=TRIALS)
    add_limits(parser)
    parser.add_argument("--out", type=Path, help="a CSV file; by default in benchmarks/results")
    parser.add_argument("--resume", action="store_true", help="leave out what the file has already")
    return parser.parse_args()


def on_arms(arms, options, known, path):
    """The lines of the table for that many arms. What is measured joins what is known."""
    lines = [
        [Cell(policy, engine, arms, trials) for trials in options.trials]
        for policy in options.policies
        for engine in options.engines
    ]
    cells = [cell for each in lines for cell in each if cell not in known]
    plans = {cell: plan(cell, limits(options), known.values()) for cell in cells}
    compile_side_by_side([each for cell, each in plans.items() if cell.engine == "jax"])
    for each in lines:
        policy, engine, *_ = each[0]
        print(f"{policy:17}{engine:>7}{arms:>10,}", end="", flush=True)
        for cell in each:
            if cell in plans:
                known[cell] = measure(plans[cell], options.seconds)
                tables.append(path, row(known[cell]))
            print(f"{shown(known[cell]):>15}", end="", flush=True)
        print()


def row(result):
    cell, each = result.cell, result.seconds / result.cell.trials
    values = (
        machine.name(),
        machine.device(cell.engine),
        machine.versions(),
        cell.policy,
        cell.engine,
        cell.arms,
        result.rank,
        cell.trials,
        result.rounds or "",
        "" if result.note else f"{1e6 * each:.6g}",
        "" if result.note else f"{1 / each:.6g}",
        result.note,
        machine.command(),
    )
    return dict(zip(COLUMNS, values, strict=True))


def measured(row):
    """A row of the file as what was measured."""
    trials = int(row["trials"])
    cell = Cell(row["policy"], row["engine"], int(row["arms"]), trials)
    took = float(row["us_per_trial_round"] or "nan") * trials / 1e6
    return Measured(cell, int(row["rank"]), int(row["rounds"] or 0), took, note=row["note"])


def shown(result):
    return result.note.split(":")[0] if result.note else f"{result.cell.trials / result.seconds:,.0f}"


if __name__ == "__main__":
    main()
