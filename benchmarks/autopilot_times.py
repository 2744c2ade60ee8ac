"""How long a round of Autopilot takes, and the longest one, in which it learns: `python benchmarks/autopilot_times.py`

Measured on a quiet machine, and beside one other program per core. The last column is without threadpoolctl: linear
algebra then uses all cores, and its threads wait for one another.
"""

import time
from contextlib import contextmanager
from multiprocessing import get_context
from statistics import median

import numpy as np

import softbandit as sb
from softbandit.backend import blas_threads
from softbandit.simulation.schedule import cores

NOISE = 0.1
LAST = 50  # rounds, of which the median is shown


def main():
    rng = np.random.default_rng(0)
    cases = {
        "1,000 arms in 2-D, round 2,000": (rng.random((1000, 2)), 2000),
        "1,000 arms in 5-D, round 2,000": (rng.random((1000, 5)), 2000),
        "box in 6-D, round 500": (sb.Box([0.0] * 6, [1.0] * 6), 500),
    }
    print(f"{'ms for ask + tell (longest)':32}{'quiet':>16}{'busy':>16}{'busy, all cores':>20}")
    for name, (domain, rounds) in cases.items():
        quiet = times(domain, rounds)
        with other_programs():
            busy = times(domain, rounds)
            with all_cores():
                slow = times(domain, rounds)
        print(f"{name:32}{words(quiet):>16}{words(busy):>16}{words(slow):>20}", flush=True)


def times(domain, rounds):
    """Return the milliseconds of each round after the first, which imports SciPy."""
    rng = np.random.default_rng(0)
    agent, spent = sb.Agent(sb.Autopilot(domain, horizon=rounds)), []
    for _ in range(rounds):
        started = time.perf_counter()
        decision = agent.ask()
        x = decision.x
        reward, cost = np.sin(5 * x[0]) + x[1:].sum(), x.mean() - 0.5
        reward, cost = np.array([reward, cost]) + NOISE * rng.standard_normal(2)
        agent.tell(decision, reward=reward, cost=cost)
        spent.append(1e3 * (time.perf_counter() - started))
    return spent[1:]


def words(spent):
    return f"{median(spent[-LAST:]):.3g} ({max(spent):,.0f})"


@contextmanager
def other_programs():
    """Keep every core busy."""
    workers = [get_context("spawn").Process(target=work, daemon=True) for _ in range(cores())]
    for worker in workers:
        worker.start()
    time.sleep(2)
    yield
    for worker in workers:
        worker.terminate()


def work():
    while True:
        sum(range(10**6))


@contextmanager
def all_cores():
    libraries = blas_threads._libraries
    blas_threads._libraries = list
    yield
    blas_threads._libraries = libraries


if __name__ == "__main__":
    main()
