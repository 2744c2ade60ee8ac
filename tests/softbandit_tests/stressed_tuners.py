"""Tuners whose processes are killed, race, or lose their database: what may be lost, told twice, or known differently.

Each function takes the store, a path or a URL, and returns what there is to count. POSIX only.
"""

import hashlib
import json
import os
import resource
import signal
import struct
import time
import traceback
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

import softbandit as sb
from softbandit.tuner.events import Draft

NUMBER = struct.Struct("<q")
SPACE = {"a": sb.Integer(1, 10), "b": sb.Integer(1, 10), "c": sb.Integer(1, 10)}  # 1,000 configurations
LIMITS = [sb.Mean("latency", at_most=12)]


def new_tuner(store, **settings):
    return sb.Tuner("stressed", space=SPACE, maximize="rows", limits=LIMITS, store=store, **settings)


def metrics_of(ask):
    return {"rows": float(ask % 97), "latency": 10.0 + ask % 5}


def add_asks(tuner, count, told=0):
    """Append that many asks without deciding on them, and reports of the first `told`."""
    rng = np.random.default_rng(count)

    def step(log):
        first = log.asks() + 1
        points = rng.integers(1, 11, (count, len(SPACE))).tolist()
        asks = {id: dict(zip(SPACE, point, strict=True)) for id, point in enumerate(points, start=first)}
        drafts = [
            Draft("asked", {"values": v, "context": None, "kind": "explore", "expected": {}}, id)
            for id, v in asks.items()
        ]
        drafts += [Draft("told", {"metrics": metrics_of(id)}, id) for id in list(asks)[:told]]
        return log.append(*drafts)

    return [event.ask for event in tuner._session.store.write(tuner.name, step) if event.kind == "asked"]


def fingerprint(tuner):
    """Return a digest of all that a process knows of a tuner, and of what it would decide next."""
    with tuner._session.up_to_date() as replay:
        rows = [[row.id, row.values, row.status, row.metrics] for row in replay.rounds.by_id.values()]
        learned = {name: array.tobytes().hex() for name, array in replay.decider.learned().items()}
        proposal = replay.decider.decide(len(rows) + 1, None)
        known = [rows, learned, proposal.values, proposal.expected, replay.number]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()


# -- Processes. --


class Child:
    """A forked process that runs a task, which may write numbers for its parent to read."""

    def __init__(self, task, *arguments):
        self._reading, writing = os.pipe()
        self.id = os.fork()
        if not self.id:
            status = 1
            try:
                os.close(self._reading)
                task(*arguments, lambda number: os.write(writing, NUMBER.pack(number)))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(writing)

    def first(self):
        """Wait for the first number."""
        self._start = os.read(self._reading, NUMBER.size)

    def kill(self):
        os.kill(self.id, signal.SIGKILL)

    def end(self):
        """Wait for the end, and return the exit status and all numbers."""
        with os.fdopen(self._reading, "rb") as rest:
            content = getattr(self, "_start", b"") + rest.read()
        status = os.waitpid(self.id, 0)[1]
        return status, [number for (number,) in NUMBER.iter_unpack(content)]


# -- Kills. --


class Kills(NamedTuple):
    acknowledged: int
    lost: int  # of these


def kills(store, count, asks=1000, seed=0, progress=lambda done: None):
    """Kill a process that tells, again and again; so many asks are added when most have been told."""
    rng, acknowledged = np.random.default_rng(seed), set()
    tuner = new_tuner(store)
    open_asks = []
    for i in range(count):
        progress(i)
        if len(open_asks) < asks / 5:
            open_asks += add_asks(tuner, asks)
        child = Child(_tell_all, tuner, open_asks)
        child.first()
        time.sleep(rng.uniform(0, 0.02))
        child.kill()
        acknowledged |= set(child.end()[1])
        told = {row.id for row in tuner.history()[open_asks[0] - 1 :] if row.status == "told"}
        open_asks = [ask for ask in open_asks if ask not in told]
    told = {row.id for row in tuner.history() if row.status == "told" and row.metrics == metrics_of(row.id)}
    return Kills(len(acknowledged), len(acknowledged - told))


def _tell_all(tuner, asks, acknowledge):
    for ask in asks:
        tuner.tell(ask, **metrics_of(ask))
        acknowledge(ask)


# -- Races. --


class Race(NamedTuple):
    failed: int  # processes
    rounds: int
    wrong: int  # rounds that are missing, or were not told once
    different: int  # processes that know something else


def race(store, processes, rounds):
    """Let processes create one tuner at once, ask and tell, and compare what they know in the end."""
    start = time.time() + 0.05 * processes  # when all have been forked
    ended = os.pipe()
    children = [Child(_play, store, rounds, start, ended) for _ in range(processes)]
    for child in children:
        child.first()  # has played
    os.close(ended[1])  # so that all may compare
    os.close(ended[0])
    results = [child.end() for child in children]
    tuner = new_tuner(store)
    told = [row for row in tuner.history() if row.status == "told"]
    events = tuner._session.events()
    reports = [event.ask for event in events if event.kind == "told"]
    wrong = processes * rounds - len(told) + len(reports) - len(set(reports))
    expected = _as_number(fingerprint(tuner))
    failed = sum(status != 0 for status, _ in results)
    different = sum(numbers[-1] != expected for status, numbers in results if not status)
    return Race(failed, len(told), wrong, different)


def _play(store, rounds, start, ended, report):
    os.close(ended[1])
    time.sleep(max(0.0, start - time.time()))
    tuner = new_tuner(store)
    for _ in range(rounds):
        suggestion = tuner.ask()
        tuner.tell(suggestion, **metrics_of(suggestion.id))
    report(0)
    os.read(ended[0], 1)  # until all have played
    report(_as_number(fingerprint(tuner)))


def _as_number(digest):
    return int(digest[:15], 16)


# -- Throughput. --


class Throughput(NamedTuple):
    per_second: float
    p99: float  # seconds of one tell


def throughput(store, processes, tells):
    """Let processes tell at once."""
    tuner = new_tuner(store)
    asks = add_asks(tuner, tells)
    start = time.time() + 0.5
    children = [Child(_tell_timed, tuner, asks[i::processes], start) for i in range(processes)]
    results = [child.end() for child in children]
    assert not any(status for status, _ in results)
    seconds = [microseconds * 1e-6 for _, numbers in results for microseconds in numbers[:-1]]
    end = max(numbers[-1] for _, numbers in results) * 1e-6
    return Throughput(len(asks) / (end - start), float(np.quantile(seconds, 0.99)))


def _tell_timed(tuner, asks, start, report):
    time.sleep(max(0.0, start - time.time()))
    for ask in asks:
        begin = time.perf_counter()
        tuner.tell(ask, **metrics_of(ask))
        report(round((time.perf_counter() - begin) * 1e6))
    report(round(time.time() * 1e6))


def ask_seconds(store, tells, asks):
    """Return the seconds of each of some asks of a tuner with that many tells, with a report after each."""
    tuner = new_tuner(store)
    add_asks(tuner, tells, told=tells)
    tuner.ask()
    seconds = []
    for _ in range(asks):
        begin = time.perf_counter()
        suggestion = tuner.ask()
        seconds.append(time.perf_counter() - begin)
        tuner.tell(suggestion, **metrics_of(suggestion.id))
    return seconds


def restart_seconds(store):
    """Return how long a session that knows nothing takes until its first decision."""
    begin = time.perf_counter()
    sb.Tuner.open("stressed", store=store).ask()
    return time.perf_counter() - begin


# -- Disks and databases. --


class Outcome(NamedTuple):
    acknowledged: int
    lost: int
    errors: int  # typed, each followed by another attempt


def outcome(tuner, acknowledged, errors):
    told = {row.id for row in tuner.history() if row.status == "told"}
    return Outcome(len(acknowledged), len(set(acknowledged) - told), errors)


def full_disk(store, tells):
    """Tell in a process whose files may not grow, until an error; then let them grow, and go on."""
    tuner = new_tuner(store)
    asks = add_asks(tuner, tells)
    status, numbers = Child(_tell_on_full_disk, store, asks).end()
    assert not status
    return outcome(tuner, [n for n in numbers if n > 0], numbers.count(-1))


def _tell_on_full_disk(store, asks, report):
    tuner = sb.Tuner.open("stressed", store=store)
    largest = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    size = max(os.path.getsize(f"{store}{end}") for end in ("", "-wal"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50_000, largest))
    for ask in asks:
        try:
            tuner.tell(ask, **metrics_of(ask))
        except sb.StoreError:
            report(-1)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
            tuner.tell(ask, **metrics_of(ask))
        report(ask)


def read_only(store, user=65534):
    """Return what happens to a user who may read the file but not write it."""
    tuner = new_tuner(store)
    ask = tuner.ask().id
    tuner._session.store._engine.dispose()
    for path, mode in ((store, 0o444), (os.path.dirname(store), 0o555)):
        os.chmod(path, mode)
    status, numbers = Child(_tell_as, user, store, ask).end()
    for path, mode in ((store, 0o644), (os.path.dirname(store), 0o755)):
        os.chmod(path, mode)
    assert not status
    tuner.tell(ask, **metrics_of(ask))
    return outcome(tuner, [ask], numbers.count(-1))


def _tell_as(user, store, ask, report):
    if os.geteuid() == 0:
        os.setuid(user)
    try:
        sb.Tuner.open("stressed", store=store).tell(ask, **metrics_of(ask))
    except sb.StoreError:
        report(-1)


@contextmanager
def telling(store, tells, pause=0.0):
    """Tell in another process during a block; yield a list that holds the outcome after it."""
    tuner = new_tuner(store)
    asks, result = add_asks(tuner, tells), []
    child = Child(_tell_slowly, tuner, asks, pause)
    child.first()
    yield result
    status, numbers = child.end()
    result.append(outcome(tuner, numbers, int(status != 0)))


def _tell_slowly(tuner, asks, pause, acknowledge):
    for ask in asks:
        tuner.tell(ask, **metrics_of(ask))
        acknowledge(ask)
        time.sleep(pause)
