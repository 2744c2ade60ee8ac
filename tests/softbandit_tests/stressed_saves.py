"""Saves that are killed, and processes that race for one file. POSIX only.

    python -m softbandit_tests.stressed_saves 1000

kills that many processes while they save, lets four others race, and prints what came of it.
"""

import os
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import softbandit as sb

ROUND = struct.Struct("<q")


class Kills(NamedTuple):
    saves: int  # acknowledged
    lost: int  # of these, not in the file afterwards
    damaged: int  # files that could not be loaded
    orphans: int  # temporary files that kills left, before the next save
    left: list[str]  # files beside the agent's at the end


def new_agent() -> sb.Agent:
    arms = np.linspace(0, 1, 5)[:, None]
    settings = {"reward_bound": 1, "cost_bound": 1, "noise": 0.1, "horizon": 10**6, "slater": 0.5}
    return sb.Agent(sb.CKB(arms, sb.SquaredExponential(0.5), **settings))


def step(agent: sb.Agent) -> None:
    agent.tell(agent.ask(), 0.1, -0.1)


def _save_for_ever(path: Path, acknowledge: int) -> None:
    agent = sb.Agent.load(path)
    while True:
        step(agent)
        agent.save(path)
        os.write(acknowledge, ROUND.pack(agent.round))


def kill(path: Path, delay: float) -> list[int]:
    """Fork a process that saves again and again, kill it, and return the rounds that it acknowledged."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            _save_for_ever(path, writing)
        finally:
            os._exit(1)
    os.close(writing)
    acknowledged = os.read(reading, ROUND.size)  # the first one
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as rest:
        acknowledged += rest.read()
    return [number for (number,) in ROUND.iter_unpack(acknowledged)]


def kills(count: int, seed: int = 0, progress: Callable[[int], None] = lambda done: None) -> Kills:
    rng, saves, lost, damaged, orphans = np.random.default_rng(seed), 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        new_agent().save(path)
        for i in range(count):
            progress(i)
            rounds = kill(path, rng.uniform(0, 0.02))
            saves += len(rounds)
            orphans += len(list(path.parent.iterdir())) - 1
            try:
                lost += sb.Agent.load(path).round < rounds[-1]
            except sb.FileError:
                damaged += 1
        sb.Agent.load(path).save(path)
        left = [file.name for file in path.parent.iterdir() if file != path]
    return Kills(saves, lost, damaged, orphans, left)


def races(processes: int, saves: int) -> tuple[int, int]:
    """Let processes load, tell and save one file; return how many rounds were saved, and how many it holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        new_agent().save(path)
        children = []
        for _ in range(processes):
            children.append(os.fork())
            if not children[-1]:
                status = 1
                try:
                    _save_often(path, saves)
                    status = 0
                finally:
                    os._exit(status)
        failed = [child for child in children if os.waitpid(child, 0)[1]]
        assert not failed
        return processes * saves, sb.Agent.load(path).round


def _save_often(path: Path, saves: int) -> None:
    """Save that many rounds. Load again if another process was faster, as the error says."""
    agent = sb.Agent.load(path)
    while saves:
        step(agent)
        try:
            agent.save(path)
            saves -= 1
        except sb.FileError as error:
            if "written since" not in str(error):
                raise
            agent = sb.Agent.load(path)


def main(count: int) -> None:
    print(kills(count))  # noqa: T201
    print("{} rounds saved by 4 processes, {} in the file".format(*races(4, max(10, count // 10))))  # noqa: T201


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
