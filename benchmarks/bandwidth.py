"""Bytes that a round of CKB-UCB must move, against how fast this machine copies: `python benchmarks/bandwidth.py`

On n arms of rank r, with b trials, and reward and cost that share a kernel, a round reads Phi once for all trials, and
reads and writes each trial's U (r x r), mu (2 x n) and var (n), in numbers of 8 bytes:

    bytes a round = 8 (n r + 2 b (r^2 + 3 n))

A single trial on an accelerator reads a Phi of 64 MB or more in numbers of 6 bytes. That is the least; what an engine
moves besides (terms of sums, the objective over the arms) counts against it. A copy reads and writes, so an array of s
bytes moves 2 s. Where all of this stays in the caches, more than the memory's bandwidth is possible: such rows are
marked.
"""

import argparse
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import machine
import numpy as np
import tables
from cells import Cell, add_limits, limits, measure, plan

from softbandit.simulation.engines import cores
from softbandit.simulation.jax_engine import PACKED

ARRAY_BYTES = 2**29  # of what is copied, and at least 8 times the largest cache
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
    "bytes_a_round",
    "in_caches",
    "us_a_round",
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
    print(f"\n{'ckb-ucb':10}{'arms':>10}{'trials':>8}{'MB a round':>12}{'us a round':>12}{'GB/s':>8}{'of a copy':>11}")
    known = []
    for arms in options.arms:
        for engine in options.engines:
            for trials in options.trials:
                planned = plan(Cell("ckb-ucb", engine, arms, trials), limits(options), known)
                known.append(measure(planned, options.seconds))
                report(known[-1], copies[machine.device(engine)], path)
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
    """Bytes a second that the device copies, with all cores; one thread's is written down besides."""
    size = max(ARRAY_BYTES, 8 * machine.cache_bytes(device))
    if device == machine.CPU:
        counts = sorted({1, cores()})
        # In a process of its own: what it frees would change how this one's rounds get their memory.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
            speeds = [other.submit(host_copy, size, n).result() for n in counts]
        ways = {f"copy, {n} thread{'s' if n > 1 else ''}": speed for n, speed in zip(counts, speeds, strict=True)}
    else:
        ways = {"copy": device_copy(size)}
    for what, speed in ways.items():
        print(f"{device}: {what}: {speed / 1e9:.1f} GB/s", flush=True)
        write(path, what=what, device=device, gb_per_second=f"{speed / 1e9:.4g}")
    return max(ways.values())


def host_copy(size, threads):
    """Bytes a second that so many threads copy, each its own piece: np.copyto lets go of the interpreter's lock."""
    source, target = np.ones(size // 8), np.zeros(size // 8)
    pieces = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:

        def copy():
            list(pool.map(lambda piece: np.copyto(*piece), pieces))

        return 2 * source.nbytes / least(copy)


def device_copy(size, times=20):
    """Bytes a second that the device copies; the 1 that is added keeps the compiler from leaving the copy out."""
    import jax

    with jax.enable_x64(True):
        one_more = jax.jit(lambda x: x + 1)
        x = jax.block_until_ready(jax.numpy.ones(size // 8))

        def copies():
            y = x
            for _ in range(times):
                y = one_more(y)
            jax.block_until_ready(y)

        return 2 * times * x.nbytes / least(copies)


def least(work):
    """Seconds: the least of some runs, after one that is not counted."""
    work()
    return min(seconds(work) for _ in range(REPEATS))


def seconds(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def report(result, copy, path):
    _, engine, arms, trials = result.cell
    features = features_bytes(arms, result.rank, trials, machine.device(engine))
    moved, held = bytes_a_round(arms, result.rank, trials, features), working_set(arms, result.rank, trials, features)
    known = {"arms": arms, "rank": result.rank, "trials": trials, "bytes_a_round": moved, "note": result.note}
    line = f"{engine:10}{arms:>10,}{trials:>8,}{moved / 1e6:>12,.3f}"
    if not result.note:
        speed = moved / result.seconds
        cached = held <= machine.cache_bytes(machine.device(engine))
        line += f"{1e6 * result.seconds:>12,.1f}{speed / 1e9:>8.1f}{speed / copy:>11.0%}{'*' if cached else ''}"
        known |= {"in_caches": "yes" if cached else "no", "us_a_round": f"{1e6 * result.seconds:.6g}"}
        known |= {"gb_per_second": f"{speed / 1e9:.4g}", "share_of_copy": f"{speed / copy:.4g}"}
    else:
        line += f"  {result.note}"
    print(line, flush=True)
    write(path, what="ckb-ucb", device=machine.device(engine), engine=engine, **known)


def features_bytes(n, r, b, device):
    packed = device != machine.CPU and b == 1 and 8 * n * r >= PACKED
    return (6 if packed else 8) * n * r


def bytes_a_round(n, r, b, features):
    return features + 16 * b * (r * r + 3 * n)


def working_set(n, r, b, features):
    return features + 8 * b * (r * r + 3 * n)


def write(path, **known):
    same = {"machine": machine.name(), "versions": machine.versions(), "command": machine.command()}
    tables.append(path, dict.fromkeys(COLUMNS, "") | same | known)


if __name__ == "__main__":
    main()
