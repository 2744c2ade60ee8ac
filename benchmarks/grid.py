"""Rounds per second of every policy on each engine, by number of arms and of trials: `python benchmarks/grid.py`

Each figure is the best of three runs of about 0.2 s, or a single run if that takes longer; see cells.py. A cell that
would take too much memory or time has a note that says so instead. Rows are written as they are measured, and --resume
continues a run that was stopped. On an accelerator only JAX is run, unless --engines says otherwise.
"""

import argparse
import time
from pathlib import Path

import machine
import tables
from cells import Cell, Measurement, add_limits, clear_caches, compile_in_parallel, limits, measure, plan

import softbandit as sb

LEFT_OUT = ("ckb", "autopilot")  # the first is ckb-ucb; the second learns, trial by trial
POLICIES = [name for name in sb.baselines.POLICIES if name not in LEFT_OUT]
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
    results = {result.cell: result for result in map(from_row, tables.read(path))} if options.resume else {}
    if not results:
        tables.start(path, COLUMNS)
    began = time.perf_counter()
    print(f"{machine.name()}; jax on {machine.device('jax')}; {machine.versions()}")
    print("rounds per second: trials x rounds / seconds\n")
    print(f"{'policy':17}{'engine':>7}{'arms':>10}" + "".join(f"{trials:>8,} trials" for trials in options.trials))
    for arms in options.arms:
        measure_on_arms(arms, options, results, path)
        clear_caches()
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
    parser.add_argument("--resume", action="store_true", help="skip what the file has already")
    return parser.parse_args()


def measure_on_arms(arms, options, results, path):
    """Measure and print the lines of the table for that many arms, and add them to the results."""
    lines = [
        [Cell(policy, engine, arms, trials) for trials in options.trials]
        for policy in options.policies
        for engine in options.engines
    ]
    missing = [cell for line in lines for cell in line if cell not in results]
    plans = {cell: plan(cell, limits(options), results.values()) for cell in missing}
    compile_in_parallel([planned for cell, planned in plans.items() if cell.engine == "jax"])
    for line in lines:
        policy, engine, *_ = line[0]
        print(f"{policy:17}{engine:>7}{arms:>10,}", end="", flush=True)
        for cell in line:
            if cell in plans:
                results[cell] = measure(plans[cell], options.seconds)
                tables.append(path, to_row(results[cell]))
            print(f"{shown(results[cell]):>15}", end="", flush=True)
        print()


def to_row(result):
    """Return a row of the CSV file."""
    cell, per_trial = result.cell, result.seconds / result.cell.trials
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
        "" if result.note else f"{1e6 * per_trial:.6g}",
        "" if result.note else f"{1 / per_trial:.6g}",
        result.note,
        machine.command(),
    )
    return dict(zip(COLUMNS, values, strict=True))


def from_row(row):
    """Return the measurement that a row of the CSV file was written from."""
    trials = int(row["trials"])
    cell = Cell(row["policy"], row["engine"], int(row["arms"]), trials)
    per_round = float(row["us_per_trial_round"] or "nan") * trials / 1e6
    return Measurement(cell, int(row["rank"]), int(row["rounds"] or 0), per_round, note=row["note"])


def shown(result):
    return result.note.split(":")[0] if result.note else f"{result.cell.trials / result.seconds:,.0f}"


if __name__ == "__main__":
    main()
