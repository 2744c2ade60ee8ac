"""Every test of faults at length, and one table of what came of them.

    make faults               # all of it: about an hour
    make faults SHARE=0.01    # a hundredth

Each check runs in a process of its own, so that a crash fails one row, and memory is that of the check.
`python -m softbandit_tests.faults 0.01 kills` runs one of them and prints its row as JSON.
"""

import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from softbandit_tests import bad_tuner_calls, damaged_files, odd_calls, shared_agents, stressed_saves, stressed_tuners
from softbandit_tests.agent_machine import POLICIES, machine_of
from softbandit_tests.broken_network import Network
from softbandit_tests.paper_formulas import moments_of_played_arms
from softbandit_tests.postgres import Server

import softbandit as sb

THREADS, PROCESSES = 8, 4
GIB = 2**30
SWITCH = 1e-6  # seconds after which another thread gets its turn: as often as possible
EVERY = 20  # seconds between two lines of progress


class Row(NamedTuple):
    what: str
    number: int
    failures: int
    worst: str
    target: str


class Progress:
    """Prints how far a check is, now and then, and remembers its longest step."""

    def __init__(self, what: str, count: int) -> None:
        self.what, self.count, self.longest = what, count, 0.0
        self.last, self.printed = None, time.monotonic()  # what comes before the first step does not count

    def __call__(self, done: int, seconds: float | None = None) -> None:
        """Note a step and the seconds that it took: by default, those since the one before."""
        now = time.monotonic()
        self.longest = max(self.longest, now - (self.last or now) if seconds is None else seconds)
        self.last = now
        if now - self.printed >= EVERY:
            self.printed = now
            note(f"{self.what}: {done:,} of {self.count:,}")


def note(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def noted(faults: list) -> int:
    """Print the first faults, and return how many there are."""
    for fault in faults[:20]:
        note(f"FAILED {fault}")
    return len(faults)


def peak(who: int = resource.RUSAGE_SELF) -> str:
    """Return the most memory that a process has used, in words."""
    kilobytes = resource.getrusage(who).ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return f"{kilobytes * 1024 / GIB:.2f} GiB"


# -- The checks: each takes its number, and returns a row. --


def odd_arguments(count: int) -> Row:
    progress = Progress("odd arguments", count)
    failures = noted(odd_calls.run(count, seed=1, progress=progress))
    worst = f"{progress.longest:.1f} s, {peak(resource.RUSAGE_CHILDREN)}"
    return Row("calls with odd arguments", count, failures, worst, "under 5 s")


def files(count: int) -> Row:
    warnings.simplefilter("ignore")
    loads = list(itertools.chain(*damaged_files.run(count, seed=1, progress=Progress("files", count)).values()))
    failures = noted([load for load in loads if load.fault or load.bytes >= GIB])
    worst = f"{max(load.seconds for load in loads):.1f} s, {peak()}"
    return Row("damaged or crafted files", len(loads), failures, worst, "under 1 GiB")


def kills(count: int) -> Row:
    result = stressed_saves.kills(count, seed=1, progress=Progress("kills", count))
    failures = result.lost + result.damaged + noted(result.left)
    return Row("kills during saves", count, failures, f"{result.lost} of {result.saves:,} lost", "0 lost")


def races(count: int) -> Row:
    saved, held = stressed_saves.races(PROCESSES, count // PROCESSES)
    return Row("saves of racing processes", saved, saved - held, f"{saved - held} lost", "0 lost")


def threads(count: int) -> Row:
    sys.setswitchinterval(SWITCH)
    agent, progress = shared_agents.agent_of_independent_arms(), Progress("tells of threads", count)
    told = shared_agents.tell_in_threads(agent, THREADS, count // THREADS, progress)
    record = zip(agent.record.arms, agent.record.rewards, agent.record.costs[:, 0], strict=True)
    lost = (Counter(told) - Counter(record)).total()
    shared_agents.assert_posterior_is_that_of_the_record(agent)
    return Row(f"tells of {THREADS} threads", len(told), lost, f"{lost} lost", "0 lost")


def same_tells(count: int) -> Row:
    sys.setswitchinterval(SWITCH)
    agent = shared_agents.agent_of_independent_arms()
    accepted = [shared_agents.acceptances(agent, THREADS) for _ in range(count)]
    failures = count - accepted.count(1)
    return Row(f"one tell by {THREADS} threads", count, failures, f"{max(accepted)} accepted", "1 accepted")


def memory(count: int) -> Row:
    growth = shared_agents.memory_growth(count, progress=Progress("tells that may leak", count)) / count
    limit = 1 + 10_000 / count  # NumPy's caches
    return Row("tells that may leak", count, int(growth > limit), f"{growth:.2f} bytes each", f"< {limit:.1f} bytes")


def accuracy(count: int) -> Row:
    """Play with little noise, and compare with the posterior from counts and sums."""
    lam, kernel, arms = 1e-8, sb.Matern(0.4, nu=1.5), np.linspace(0, 1, 6)[:, None]
    bounds = {"reward_bound": 5, "cost_bound": 5, "noise": 1, "horizon": 10**7, "slater": 0.5}
    agent, rng = sb.Agent(sb.CKB(arms, kernel, **bounds, regularisation=lam)), np.random.default_rng(1)
    played = rng.choice(6, size=count, p=rng.dirichlet(np.ones(6)))
    played[:6] = range(6)  # the exact formula needs every arm
    y = np.sin(3 * arms[played, 0])[:, None] + 0.1 * rng.standard_normal((count, 2))
    progress = Progress("rounds", count)
    for t, (arm, (reward, cost)) in enumerate(zip(played.tolist(), y.tolist(), strict=True)):
        progress(t)
        agent.tell(agent.ask(among=[arm]), reward, cost)
    mu, sigma = zip(*(moments_of_played_arms(kernel(arms, arms), played, row, lam) for row in y.T), strict=True)
    mean, std = np.abs(agent.posterior.mean() - mu).max(), np.abs(agent.posterior.std() / sigma - 1).max()
    failures = int(not mean < 1e-12) + int(not std < 1e-8)
    return Row("rounds: error of mu, sigma", count, failures, f"{mean:.0e}, {std:.0e}", "1e-12, 1e-8")


def histories(count: int) -> Row:
    progress, numbers = Progress("agents in any order", count), itertools.count(1)
    failures = 0
    for name in POLICIES:
        failures += history_fails(name, count // len(POLICIES), lambda: progress(next(numbers)))
    return Row("agents, calls in any order", count, failures, f"{progress.longest:.1f} s each", "equal to a list")


def history_fails(name: str, count: int, progress: Callable[[], None]) -> bool:
    """Return whether an agent of that policy fails in any of so many histories, and print the shortest."""

    class Counted(machine_of(name)):
        def teardown(self) -> None:
            progress()
            super().teardown()

    options = settings(max_examples=count, stateful_step_count=50, deadline=None, database=None)
    try:
        run_state_machine_as_test(Counted, settings=settings(options, suppress_health_check=list(HealthCheck)))
    except Exception:
        note(traceback.format_exc())
        return True
    return False


# -- Tuners: each check runs on SQLite, and on a PostgreSQL server in a temporary folder. --


@contextmanager
def stores() -> Iterator[dict[str, Callable[[], str]]]:
    """Yield a function that returns an empty store, for each kind of them."""
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        names = (f"{folder}/{i}.db" for i in itertools.count())
        yield {"SQLite": lambda: next(names), "PostgreSQL": server.empty_database}


def tuner_kills(count: int) -> Row:
    with stores() as kinds:
        progress = Progress("kills of tellers", count)
        results = [stressed_tuners.kills(new(), count, seed=1, progress=progress) for new in kinds.values()]
    lost, told = sum(result.lost for result in results), sum(result.acknowledged for result in results)
    return Row("kills of tellers, 2 stores", 2 * count, lost, f"{lost} of {told:,} lost", "0 lost")


def tuner_races(count: int) -> Row:
    with stores() as kinds:
        results = [stressed_tuners.race(new(), count, rounds=8) for new in kinds.values()]
    failures = sum(result.failed + result.wrong + result.different for result in results)
    rounds = sum(result.rounds for result in results)
    return Row(f"rounds of {count} processes", rounds, failures, f"{failures} wrong", "folds equal")


def tuner_restarts(count: int) -> Row:
    """Restart the database, without a warning, and cut the network, while a process tells."""
    results, times = [], max(1, count // 24)
    with Server() as server, Network(server.port) as network:
        url = server.empty_database().replace(str(server.port), str(network.port))
        with stressed_tuners.telling(url, 200 * times, pause=0.005) as told:
            for _ in range(times):
                server.stop("immediate")
                server.start()
                network.cut()
                time.sleep(0.5)
                network.mend()
                network.lose_answer_to(b"INSERT")
                time.sleep(1)  # for some tells
        results += told
    failures = sum(result.lost + result.errors for result in results)
    return Row("tells, restarts and cuts", results[0].acknowledged, failures, f"{failures} lost", "0 lost")


def tuner_disks(count: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # so that another user can read it
        full = stressed_tuners.full_disk(f"{folder}/full.db", count)
        read_only = stressed_tuners.read_only(f"{folder}/read_only.db")
    lost, errors = full.lost + read_only.lost, full.errors + read_only.errors
    return Row(
        "tells, full and read-only", count + 1, lost + int(errors != 2), f"{errors} typed errors", "2 typed errors"
    )


def tuner_calls(count: int) -> Row:
    warnings.simplefilter("ignore")
    progress = Progress("bad calls of tuners", count)
    failures = noted(bad_tuner_calls.run(count, seed=1, progress=progress))
    return Row("bad calls of tuners", count, failures, f"{progress.longest:.1f} s", "log unchanged")


def tuner_tells(count: int) -> Row:
    """Tell from 8 processes at once, on SQLite and on PostgreSQL."""
    with stores() as kinds:
        rates = {kind: stressed_tuners.throughput(new(), 8, count) for kind, new in kinds.items()}
    wanted = {"SQLite": 300, "PostgreSQL": 1000}
    failures = sum(rates[kind].per_second < rate or rates[kind].p99 > 0.05 for kind, rate in wanted.items())
    speeds = ", ".join(f"{rate.per_second:.0f}" for rate in rates.values())
    slowest = max(rate.p99 for rate in rates.values())
    return Row("tells/s and p99, 2 stores", 2 * count, failures, f"{speeds}; {slowest * 1e3:.0f} ms", "300, 1000; 50ms")


def tuner_asks(count: int) -> Row:
    """Ask, on SQLite and on PostgreSQL, after so many tells; then start from nothing."""
    with stores() as kinds:
        places = [new() for new in kinds.values()]
        medians = [float(np.median(stressed_tuners.ask_seconds(place, count, 100))) for place in places]
        start = max(map(stressed_tuners.restart_seconds, places))
    worst = f"{max(medians) * 1e3:.1f} ms, {start:.1f} s"
    return Row("tells; an ask, a restart", count, int(max(medians) > 0.01 or start > 2), worst, "10 ms, 2 s")


CHECKS = {
    odd_arguments: 100_000,
    files: 10_000,
    kills: 1000,
    races: 1000,
    threads: 100_000,
    same_tells: 1000,
    memory: 100_000,
    accuracy: 10**6,
    histories: 1000,
    tuner_kills: 1000,
    tuner_races: 32,
    tuner_restarts: 240,
    tuner_disks: 1000,
    tuner_calls: 100_000,
    tuner_tells: 10_000,
    tuner_asks: 10_000,
}
"""The checks, with their numbers at full length."""

LEAST = 24  # of each, whatever the share


def run_check(name: str, share: float) -> Row:
    """Run a check in a process of its own."""
    note(f"{name} ...")
    arguments = [sys.executable, "-m", "softbandit_tests.faults", str(share), name]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True)
    crashed = Row(name, 0, 1, f"exit status {done.returncode}", "no crash")
    row = crashed if done.returncode else Row(*json.loads(done.stdout))
    note(line(row))
    return row


def table(rows: list[Row]) -> str:
    return "\n".join([f"{'what':27}{'number':>9}{'failures':>9}  {'worst':18}target", *map(line, rows)])


def line(row: Row) -> str:
    return f"{row.what:27}{row.number:9,}{row.failures:9,}  {row.worst:18}{row.target}"


def main(share: float = 1.0) -> int:
    rows = [run_check(check.__name__, share) for check in CHECKS]
    sys.stdout.write(f"{table(rows)}\n")
    return int(any(row.failures for row in rows))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        check = {check.__name__: check for check in CHECKS}[sys.argv[2]]
        sys.stdout.write(json.dumps(check(max(LEAST, round(CHECKS[check] * float(sys.argv[1]))))))
    else:
        sys.exit(main(*map(float, sys.argv[1:])))
