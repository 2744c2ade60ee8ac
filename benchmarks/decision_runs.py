"""One cell of decisions.py: a run of a method on a problem, and its measures. Workers import this module."""

import hashlib
import time
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from decision_measures import gaps, measures, outputs, truth
from decision_methods import METHODS
from decision_problems import PROBLEMS, RANDOM

from softbandit.backend import PROBLEM, draw

CURVE_POINTS = 40
CURVE_ROUNDS = 2000
CURVE_PROBLEMS = ("SS-D", "SS-O", "rkhs-1d", "cloud")
CURVE_METHODS = ("autopilot", "ckb", "ckb-old", "cts", "optuna-tpe-commit", "random")
COLUMNS = (
    *("problem", "method", "rounds", "seed"),
    *("P", "strict", "regret", "violation", "over", "excess", "floor", "gap_first", "gap_last"),
    *("top_share", "top_cost", "stuck", "seconds_per_round"),
)
CURVE_COLUMNS = ("problem", "method", "rounds", "seed", "round", "mean_cost", "gap")


class Cell(NamedTuple):
    problem: str
    method: str
    rounds: int
    seed: int  # 0, 1, ...


def result(cell):
    """Return the cell, its row (or why it failed) and the points of its curve."""
    try:
        problem, known = problem_and_truth(cell.problem, instance(cell))
        method = METHODS[cell.method].build(problem, cell.rounds, cell_seed(cell))
        started = time.perf_counter()
        played = play(cell, problem, method)
        seconds = (time.perf_counter() - started) / cell.rounds
        row = cell._asdict() | measures(problem, known, played) | {"seconds_per_round": seconds}
        return cell, {name: short(row[name]) for name in COLUMNS}, list(curve(cell, problem, known, played))
    except Exception as error:  # a method that fails must not end the run of all others
        return cell, f"{type(error).__name__}: {error}", []


def play(cell, problem, method):
    """Return what the method plays. All methods meet the same noise."""
    played = []
    for draws in draw(problem.draws(), cell_seed(cell), [0], 0, cell.rounds, PROBLEM).rounds():
        mask = problem.available(draws)
        choice = method.ask(None if mask is None else np.flatnonzero(mask[0]))
        reward, costs = problem.observe(np.array([choice]), draws)
        method.tell(choice, float(reward[0]), costs[0])
        played.append(choice)
    return played


@lru_cache(maxsize=4)
def problem_and_truth(name, seed):
    problem = PROBLEMS[name](seed)
    return problem, truth(problem)


def instance(cell):
    """Return the seed of the problem: random functions differ between seeds, other problems only in their noise."""
    return cell.seed if cell.problem in RANDOM else 0


def cell_seed(cell):
    """Return a seed that differs between problems: with equal ones, methods would start with the same arm on each."""
    return int.from_bytes(hashlib.sha256(f"{cell.problem}/{cell.seed}".encode()).digest()[:4])


def curve(cell, problem, known, played):
    """Generate the running means of the cost (the largest, in units of s_g) and of the gap, if a figure shows them."""
    if cell.problem not in CURVE_PROBLEMS or cell.method not in CURVE_METHODS or cell.rounds != CURVE_ROUNDS:
        return
    g = outputs(problem, played)[1] / known.spreads[1:]
    totals = np.cumsum(g, axis=0).max(axis=1), np.cumsum(gaps(problem, known, played))
    for t in np.unique(np.geomspace(1, cell.rounds, CURVE_POINTS).astype(int)).tolist():
        mean_cost, gap = (short(total[t - 1] / t) for total in totals)
        yield cell._asdict() | {"round": t, "mean_cost": mean_cost, "gap": gap}


def short(value):
    """Return a number with five digits, and anything else as it is."""
    return f"{value:.5g}" if isinstance(value, float) else value
