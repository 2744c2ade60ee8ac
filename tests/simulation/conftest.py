"""Clusters on this machine, shared by all tests of a session: starting one takes seconds."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import softbandit

PATHS = [Path(softbandit.__file__).parents[1], Path(__file__).parents[1]]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PATHS)), "RAY_DEDUP_LOGS": "0"}


@pytest.fixture
def importable_by_workers(monkeypatch):
    """Let worker processes import this library and the tasks of these tests."""
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])


@pytest.fixture(scope="session")
def dask():
    """The address of a Dask scheduler with two workers, each in a separate process."""
    distributed = pytest.importorskip("distributed")
    address = f"127.0.0.1:{_free_port()}"
    scheduler = ["dask_scheduler", "--port", address.partition(":")[2]]
    workers = ["dask_worker", f"tcp://{address}", "--nthreads", "1", "--nworkers", "2"]
    commands = (scheduler, workers)
    processes = [_start("-m", f"distributed.cli.{name}", *options, "--no-dashboard") for name, *options in commands]
    _wait_for(address)
    with distributed.Client(f"tcp://{address}") as client:
        client.wait_for_workers(2, timeout=60)
    yield f"dask://{address}"
    _stop(*processes)


@pytest.fixture(scope="session")
def ray():
    """The address of a Ray cluster of two processors."""
    pytest.importorskip("ray")
    port = _free_port()
    options = [
        "--head",
        f"--port={port}",
        "--num-cpus=2",
        "--include-dashboard=false",
        "--disable-usage-stats",
        "--block",
    ]
    process = _start("-m", "ray.scripts.scripts", "start", *options)
    _wait_for(f"127.0.0.1:{port}")
    yield f"ray://127.0.0.1:{port}"
    _stop(process)


def _start(*arguments):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, *arguments], env=ENVIRONMENT, **quiet)


def _stop(*processes):
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(30)


def _free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _wait_for(address):
    host, _, port = address.partition(":")
    for _ in range(300):
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"nothing listens at {address}")
