"""Calls of every public callable with odd arguments, and a count of those that end badly.

    python -m softbandit_tests.odd_calls 100000

A call ends well if it returns, or raises one of softbandit's errors. A policy that was accepted must also decide,
learn, and come back from a file the same. First each argument of each callable is odd alone, then pairs are.

Calls run in a process of their own, so that a crash is noticed: it is counted, and a new process goes on.
"""

import collections
import contextlib
import faulthandler
import functools
import itertools
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from softbandit_tests.entry_points import entry_points, folder
from softbandit_tests.odd_values import ODD

import softbandit as sb
from softbandit.policies import Policy

SECONDS = 5  # that a call may take
STUCK = 60  # seconds after which a process that does not react is ended
MEMORY = 8 * 2**30  # bytes of a process


class HangError(BaseException):
    """Not an Exception, so that nothing catches it."""


def calls(seed):
    """Yield (entry point, odd arguments): each argument alone with each odd value, in random order, then pairs."""
    rng = random.Random(seed)
    points = [point for point in entry_points() if point.valid]
    single = [(point, {name: build}) for point in points for name in point.valid for build in odd_values(name)]
    yield from rng.sample(single, len(single))
    while True:
        point = rng.choice([point for point in points if len(point.valid) > 1])
        yield point, {name: rng.choice(odd_values(name)) for name in rng.sample(list(point.valid), 2)}


@functools.cache
def odd_values(name):
    """The odd values of an argument. What a user's function raises is the user's, so callbacks get no functions."""
    return [build for build in ODD if not (name in ("progress", "callback") and callable(build()))]


def outcome(point, odd):
    """Return None if the call ends well, else the exception's name and message."""
    arguments = point.valid | {name: build() for name, build in odd.items()}
    signal.alarm(SECONDS)
    try:
        follow_up(point.call(**arguments))
    except sb.SoftbanditError:
        return None
    except (Exception, HangError) as error:
        return f"{type(error).__name__}: {describe(error)}"
    finally:
        signal.alarm(0)
    return None


def describe(error):
    try:
        where = error.__traceback__
        while where.tb_next:
            where = where.tb_next
        return f"{str(error)[:100]} ({Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno})"
    except Exception as failure:
        return f"no message ({failure!r})"


def follow_up(result):
    """Play a policy that was accepted, or an agent, and load it from a file."""
    if not isinstance(result, (Policy, sb.Agent)):
        return
    agent = result if isinstance(result, sb.Agent) else sb.Agent(result)
    m = agent.policy.constraints
    agent.tell(agent.ask(), 0.1, [0.1] * m)
    decision = agent.ask()
    numbers = np.append(decision.reward_estimate, np.append(decision.dual, decision.cost_estimate))
    if not np.isfinite(numbers).all():
        raise FloatingPointError(f"a decision of {numbers}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.npz"
        agent.save(path)
        again = sb.Agent.load(path).ask()
    if again.arm != decision.arm or not np.array_equal(again.x, decision.x):
        raise AssertionError(f"{again} after loading in place of {decision}")


def work(seed, first, last):
    """Make those calls, and print a line for each that ends badly.

    Lines "# N" say which one is next, and lines "= S" how many seconds it took.
    """
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(HangError(f"over {SECONDS} s")))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    with contextlib.suppress(sb.MissingExtraError):
        sb.data.sp500_panel()  # its imports take seconds
    os.chdir(folder().name)  # odd names of files are written here
    for i, (point, odd) in enumerate(itertools.islice(calls(seed), first, last), start=first):
        say(f"# {i}")
        faulthandler.dump_traceback_later(STUCK, exit=True)
        start = time.monotonic()
        fault = outcome(point, odd)
        say(f"= {time.monotonic() - start:.3f}")
        faulthandler.cancel_dump_traceback_later()
        if fault:
            say(json.dumps([point.name, arguments_in_words(odd), fault]))


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def arguments_in_words(odd):
    return {name: in_words(build) for name, build in odd.items()}


def in_words(build):
    with contextlib.suppress(Exception):
        return " ".join(repr(build()).split())[:60]
    return f"a {type(build()).__name__} without repr"


def run(count, seed=0, progress=lambda done, seconds: None):
    """Make that many calls. Return [callable, odd arguments, fault] of each that ended badly."""
    faults, first = [], 0
    while first < count:
        arguments = [sys.executable, "-m", __spec__.name, "worker", str(seed), str(first), str(count)]
        path = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}  # pytest adds to its own path only
        started = None
        with tempfile.TemporaryFile("w+") as errors:
            with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=errors, text=True, env=path) as process:
                for line in process.stdout:
                    if line.startswith("# "):
                        started = int(line[2:])
                    elif line.startswith("= "):
                        progress(started, float(line[2:]))
                    else:
                        faults.append(json.loads(line))
            if process.returncode == 0:
                break
            if started is None:
                raise RuntimeError(errors.seek(0) or errors.read())
        point, odd = next(itertools.islice(calls(seed), started, None))
        faults.append([point.name, arguments_in_words(odd), f"Crash: exit status {process.returncode}"])
        first = started + 1
    return faults


def main(count, seed=0):
    faults = run(count, seed)
    kinds = collections.Counter((name, fault.partition(":")[0]) for name, _, fault in faults)
    lines = [f"{number:7} {kind:24} {name}" for (name, kind), number in kinds.most_common()]
    say("\n".join([f"{count} calls with odd arguments, {len(faults)} end badly", *lines]))
    return faults


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        work(int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    else:
        found = main(int(sys.argv[1]), *map(int, sys.argv[2:3]))
        if len(sys.argv) > 3:
            Path(sys.argv[3]).write_text("\n".join(json.dumps(fault) for fault in found))
        sys.exit(bool(found))
