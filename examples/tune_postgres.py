"""Tune how rows are written to a real PostgreSQL: as many per second as possible, at 12 ms per commit on average.

    python examples/tune_postgres.py            # about four minutes; --quick for a few seconds

It starts a server in a temporary folder (on Debian: apt-get install postgresql) and needs `softbandit[postgres]`.
The rounds are stored in postgres.db, so running it again continues where it stopped.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from statistics import mean

import psycopg

import softbandit as sb

LIMIT = 12  # milliseconds per commit, on average
MOST_CLIENTS = 16
ROW = b"17\t%s\n" % (b"x" * 100)


@contextmanager
def temporary_server():
    """Start a PostgreSQL server and yield its address; at the end stop it and remove its files."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not programs:
        raise SystemExit("PostgreSQL is not installed: apt-get install postgresql")
    user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root

    def run(program, *arguments):
        command = [programs[-1] / program, "-D", "data", *arguments]
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=log, stderr=log)

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        shutil.chown(folder, user or os.geteuid())
        run("initdb", "-U", "postgres", "-A", "trust", "--no-sync")
        run("pg_ctl", "-w", "-o", f"-k {folder} -h ''", "start")  # a Unix socket, no port
        try:
            yield f"host={folder} user=postgres dbname=postgres"
        finally:
            run("pg_ctl", "-w", "-m", "fast", "stop")


def load(connections, seconds, batch, commit_delay):
    """Write batches from all connections at once; return rows per second and milliseconds per commit."""
    started = time.perf_counter()
    with ThreadPoolExecutor(len(connections)) as pool:
        clients = [pool.submit(write, c, started + seconds, batch, commit_delay) for c in connections]
        latencies = list(chain.from_iterable(client.result() for client in clients))
    elapsed = time.perf_counter() - started
    connections[0].execute("TRUNCATE readings")
    rows = len(latencies) * batch
    return {"rows_per_s": rows / elapsed, "latency_ms": 1000 * sum(latencies) / len(latencies)}


def write(connection, end, batch, commit_delay):
    """Commit one batch after another until the end; return the seconds that each took."""
    connection.execute(f"SET commit_delay = {commit_delay}")
    rows, latencies = ROW * batch, []
    while (started := time.perf_counter()) < end or not latencies:
        with connection.cursor() as cursor, cursor.copy("COPY readings FROM STDIN") as copy:
            copy.write(rows)
        latencies.append(time.perf_counter() - started)
    return latencies


def run(rounds, seconds):
    """Return the tuner after that many rounds, each of which measures for so many seconds."""
    tuner = sb.Tuner(
        "postgres",
        space={
            "clients": sb.Integer(1, MOST_CLIENTS),
            "batch": sb.LogInteger(1, 4096),
            "commit_delay": sb.Ordinal([0, 100, 1000, 5000]),  # microseconds
        },
        maximize="rows_per_s",
        limits=[sb.Mean("latency_ms", at_most=LIMIT)],
        baseline={"clients": 4, "batch": 64, "commit_delay": 0},
        store="postgres.db",
    )
    with temporary_server() as address, ExitStack() as stack:
        pool = [stack.enter_context(psycopg.connect(address, autocommit=True)) for _ in range(MOST_CLIENTS)]
        pool[0].execute("CREATE TABLE readings (device int, payload text)")
        for _ in range(rounds):
            with tuner.round() as round:
                settings = dict(round.values)
                clients = settings.pop("clients")
                round.report(**load(pool[:clients], seconds, **settings))
    return tuner


def main():
    tuner = run(12, 0.1) if "--quick" in sys.argv else run(200, 1)
    rows = [row for row in tuner.history() if row.metrics]
    parts = {"baseline": [row for row in rows if row.kind == "baseline"], "all rounds": rows, "last 50": rows[-50:]}
    for name, part in parts.items():
        rate, latency = (mean(row.metrics[metric] for row in part) for metric in ("rows_per_s", "latency_ms"))
        print(f"{name:10} {rate:8,.0f} rows/s at {latency:4.1f} ms")
    print(f"The limit is {LIMIT} ms on average.\n\n{tuner}")


if __name__ == "__main__":
    main()
