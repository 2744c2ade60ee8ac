"""Bytes that a round of CKB-UCB must move, against how fast this machine copies: `python benchmarks/bandwidth.py`

On n arms of rank r, with b trials, and a reward and a cost that share a kernel, a round reads Phi once for all trials,
and reads and writes each trial's U (r x r), mu (2 x n) and var (n), in numbers of 8 bytes:

    bytes per round = 8 (n r + 2 b (r^2 + 3 n))

That is a minimum: whatever else an engine moves (terms of sums, the objective over the arms) counts against it. A copy
reads and writes, so copying an array of s bytes moves 2 s. If all of this fits in the caches, more than the memory's
bandwidth is possible: such rows are marked.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import machine
import numpy as np
import tables
from cells import Cell, add_limits, limits, measure, plan
from stopwatch import seconds

from softbandit.simulation.schedule import cores

ARRAY_BYTES = 2**29  # size of the copied array; at least 8 times the largest cache
REPEATS = 9
COLUMNS = (
    "machine",
    "device",
    "versions",
    "what",
    "engine",
    "arms",
    "rank",
    "trials",
    "bytes_per_round",
    "in_caches",
    "us_per_round",
    "gb_per_second",
    "share_of_copy",
    "note",
    "command",
)


def main():
    options = parse()
    path = options.out or tables.RESULTS / f"bandwidth-{machine.slug()}.csv"
    tables.start(path, COLUMNS)
    print(f"{machine.name()}; jax on {machine.device('jax')}; {machine.versions()}\n")
    copies = {device: copy_bandwidth(device, path) for device in set(map(machine.device, options.engines))}
    head = f"{'MB per round':>14}{'us per round':>14}{'GB/s':>8}{'of a copy':>11}"
    print(f"\n{'ckb-ucb':10}{'arms':>10}{'trials':>8}{head}")
    results = []
    for arms in options.arms:
        for engine in options.engines:
            for trials in options.trials:
                planned = plan(Cell("ckb-ucb", engine, arms, trials), limits(options), results)
                results.append(measure(planned, options.seconds))
                report(results[-1], copies[machine.device(engine)], path)
    print("\n*: all of it fits in the caches")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    on_cpu = machine.accelerator() is None
    parser.add_argument("--engines", nargs="*", default=["numpy", "jax"] if on_cpu else ["jax"])
    parser.add_argument("--arms", type=int, nargs="*", default=(100, 1000, 10_000, 100_000, 1_000_000))
    parser.add_argument("--trials", type=int, nargs="*", default=(1, 50, 1000))
    add_limits(parser)
    parser.add_argument("--out", type=Path, help="a CSV file; by default in benchmarks/results")
    return parser.parse_args()


def copy_bandwidth(device, path):
    """Return the bytes per second that the device copies with all cores; a CPU's single thread is also reported."""
    size = max(ARRAY_BYTES, 8 * machine.cache_bytes(device))
    if device == machine.CPU:
        counts = sorted({1, cores()})
        # A separate process: memory freed here would change how this process allocates its rounds' arrays.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
            speeds = [other.submit(host_copy, size, n).result() for n in counts]
        copies = {f"copy, {n} thread{'s' if n > 1 else ''}": speed for n, speed in zip(counts, speeds, strict=True)}
    else:
        copies = {"copy": device_copy(size)}
    for what, speed in copies.items():
        print(f"{device}: {what}: {speed / 1e9:.1f} GB/s", flush=True)
        write(path, what=what, device=device, gb_per_second=f"{speed / 1e9:.4g}")
    return max(copies.values())


def host_copy(size, threads):
    """Return the bytes per second that threads copy, one piece per thread: np.copyto releases the GIL."""
    source, target = np.ones(size // 8), np.zeros(size // 8)
    pieces = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:

        def copy():
            list(pool.map(lambda piece: np.copyto(*piece), pieces))

        return 2 * source.nbytes / fastest(copy)


def device_copy(size, times=20):
    """Return the bytes per second that the device copies. Adding 1 keeps the compiler from removing the copy."""
    import jax

    with jax.enable_x64(True):
        add_one = jax.jit(lambda x: x + 1)
        x = jax.block_until_ready(jax.numpy.ones(size // 8))

        def copies():
            y = x
            for _ in range(times):
                y = add_one(y)
            jax.block_until_ready(y)

        return 2 * times * x.nbytes / fastest(copies)


def fastest(work):
    """Return the seconds of the fastest of several calls, after one to warm up."""
    work()
    return min(seconds(work) for _ in range(REPEATS))


def report(result, copy_speed, path):
    """Print a measurement and write it to the file."""
    _, engine, arms, trials = result.cell
    device = machine.device(engine)
    moved = bytes_per_round(arms, result.rank, trials)
    values = {"arms": arms, "rank": result.rank, "trials": trials, "bytes_per_round": moved, "note": result.note}
    line = f"{engine:10}{arms:>10,}{trials:>8,}{moved / 1e6:>14,.3f}"
    if not result.note:
        speed = moved / result.seconds
        cached = working_set(arms, result.rank, trials) <= machine.cache_bytes(device)
        line += f"{1e6 * result.seconds:>14,.1f}{speed / 1e9:>8.1f}{speed / copy_speed:>11.0%}{'*' if cached else ''}"
        values |= {"in_caches": "yes" if cached else "no", "us_per_round": f"{1e6 * result.seconds:.6g}"}
        values |= {"gb_per_second": f"{speed / 1e9:.4g}", "share_of_copy": f"{speed / copy_speed:.4g}"}
    else:
        line += f"  {result.note}"
    print(line, flush=True)
    write(path, what="ckb-ucb", device=device, engine=engine, **values)


def bytes_per_round(n, r, b):
    return 8 * (n * r + 2 * b * (r * r + 3 * n))


def working_set(n, r, b):
    """Return the bytes of the arrays that a round reads."""
    return 8 * (n * r + b * (r * r + 3 * n))


def write(path, **values):
    common = {"machine": machine.name(), "versions": machine.versions(), "command": machine.command()}
    tables.append(path, dict.fromkeys(COLUMNS, "") | common | values)


if __name__ == "__main__":
    main()
