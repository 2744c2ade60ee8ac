"""Timing calls: single, and several that take turns so that a busy machine slows all of them alike."""

import time
from statistics import median


def seconds(work, *arguments, clock=time.perf_counter):
    """Return the time that one call takes."""
    started = clock()
    work(*arguments)
    return clock() - started


def median_seconds_in_turns(calls, turns):
    """Return the median time of each call, by name. The first call of each warms up and is not counted."""
    for call in calls.values():
        call()
    times = [{name: seconds(call) for name, call in calls.items()} for _ in range(turns)]
    return {name: median(turn[name] for turn in times) for name in calls}
