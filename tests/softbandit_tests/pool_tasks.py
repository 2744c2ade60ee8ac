"""Tasks that worker processes can import."""

import os
import signal
import time
from pathlib import Path


def square(x):
    return x * x


def refuse(x):
    raise ValueError(f"no {x}")


def die_once(task):
    """Square a number; the first process to run task 3 dies, and leaves a file that lets the next one live."""
    number, folder = task
    time.sleep(0.05)
    mark = Path(folder) / "died"
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def die_always(task):
    os.kill(os.getpid(), signal.SIGKILL)
