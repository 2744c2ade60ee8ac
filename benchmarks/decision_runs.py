"""The cells of decisions.py: runs of methods on problems, and their measures. Workers import this module.

A method that is not told for how long it will run is played once for all lengths: a short run is the beginning of a
long one.
"""

import hashlib
import time
from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from decision_measures import gaps, measures, outputs, truth
from decision_methods import METHODS, best_feasible
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


class Played(NamedTuple):
    """A run: one entry per round."""

    choices: list
    measured: list[np.ndarray]  # reward and costs
    seconds: list[float]  # of the processor, since the start: other programs on the machine do not count


def sharing(cells):
    """Return the cells in lists of those that share one run."""
    runs = defaultdict(list)
    for cell in cells:
        rounds = cell.rounds if METHODS[cell.method].told_rounds else None
        runs[cell.problem, played_method(cell), cell.seed, rounds].append(cell)
    return list(runs.values())


def results(cells):
    """Play the run that these cells share; return each with its row (or why it failed) and the points of its curve."""
    longest = max(cells, key=rounds_to_play)
    try:
        problem, known = problem_and_truth(longest.problem, instance(longest))
        rounds, seed = rounds_to_play(longest), cell_seed(longest)
        run = play(problem, METHODS[played_method(longest)].build(problem, rounds, seed), rounds, seed)
        return [measured(cell, problem, known, run) for cell in cells]
    except Exception as error:  # a method that fails must not end the run of all others
        return [(cell, f"{type(error).__name__}: {error}", []) for cell in cells]


def measured(cell, problem, known, run):
    played = choices(cell, run)
    seconds = {"seconds_per_round": run.seconds[rounds_to_play(cell) - 1] / cell.rounds}
    row = cell._asdict() | measures(problem, known, played) | seconds
    return cell, {name: short(row[name]) for name in COLUMNS}, list(curve(cell, problem, known, played))


def played_method(cell):
    return METHODS[cell.method].commits or cell.method


def rounds_to_play(cell):
    """Return the rounds until the method stops asking: half of them if it commits."""
    return cell.rounds // 2 if METHODS[cell.method].commits else cell.rounds


def choices(cell, run):
    """Return the cell's choices: the beginning of the run, and then the best of it if the method commits."""
    rounds = rounds_to_play(cell)
    played = run.choices[:rounds]
    return played + [played[best_feasible(np.array(run.measured[:rounds]))]] * (cell.rounds - rounds)


def play(problem, method, rounds, seed):
    """Return the run of a method. With the same seed all methods meet the same noise."""
    run, started = Played([], [], []), time.process_time()
    for draws in draw(problem.draws(), seed, [0], 0, rounds, PROBLEM).rounds():
        mask = problem.available(draws)
        choice = method.ask(None if mask is None else np.flatnonzero(mask[0]))
        reward, costs = problem.observe(np.array([choice]), draws)
        method.tell(choice, float(reward[0]), costs[0])
        run.choices.append(choice)
        run.measured.append(np.append(reward[0], costs[0]))
        run.seconds.append(time.process_time() - started)
    return run


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
