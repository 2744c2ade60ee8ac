"""An experiment in its smallest parts: one policy on one instance at one point of the grid."""

import math
import time
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softbandit.backend.shapes import Floats
from softbandit.experiments.build import PROBLEM, build_policy, build_problem
from softbandit.experiments.spec import Experiment
from softbandit.experiments.tables import METRICS, NUMBERS, Table, label
from softbandit.policies.base import Policy
from softbandit.problems.problem import Problem
from softbandit.simulation.scores import Scores, score
from softbandit.simulation.simulator import simulate
from softbandit.simulation.trace import ComplaintWarning

CALLS, TRIAL = 70e-6, 4e-6  # seconds that NumPy takes for a round, and besides for each trial in it, about
COMPILING = 5.0  # seconds a policy that NumPy must take for JAX to pay
REPEATS = 3  # of a time: the least of them is the one least disturbed


class Cell(NamedTuple):
    spec: Experiment
    point: dict[str, Any]
    policy: str
    instance: int
    trials: list[int]

    @property
    def work(self) -> int:
        """About how long it takes, in units that progress can be told in."""
        return self.spec.horizon * (30 + len(self.trials)) // 1000 + 1


def cells(spec: Experiment) -> list[Cell]:
    """All parts, in the order of the table; trials are numbered through, so that no two share their noise."""
    share = [part.tolist() for part in np.array_split(np.arange(spec.trials), min(spec.instances, spec.trials))]
    return [
        Cell(spec, point, policy, instance, trials)
        for point in spec.combinations()
        for policy, own in spec.policies.items()
        if all(label(point[key]) in map(label, values) for key, values in own.get("only", {}).items())
        for instance, trials in enumerate(share)
    ]


def prepare(cell: Cell, data: str | None = None) -> tuple[Problem, Policy]:
    """The problem and the policy of a cell; what is wrong with their settings is found here."""
    spec = cell.spec
    seed = spec.seed + cell.instance
    problem = build_problem(spec.problem, cell.point, seed, data)
    common = {key: value for key, value in cell.point.items() if not key.startswith(PROBLEM)}
    settings = {"horizon": spec.horizon, **spec.settings, **common}
    return problem, build_policy(cell.policy, spec.policies[cell.policy], problem, settings, seed)


def play(cell: Cell, data: str | None = None) -> Table:
    """Run a cell: its rows of the experiment's table."""
    problem, policy = prepare(cell, data)
    key = {**cell.point, "policy": cell.policy, "instance": cell.instance}
    if cell.spec.measure == "time":
        return _time(cell, problem, policy, key)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ComplaintWarning)  # under a scaled width, safe seeds get refuted by chance
        trace = simulate(
            policy, problem, cell.trials, cell.spec.seed, engine(cell.spec), rounds=cell.spec.horizon, keep=()
        )
    tried = arms_tried(trace.arms)
    return _rows(score(trace, problem), tried, {**key, "maximiser": maximiser(problem)}, cell)


def engine(spec: Experiment) -> str:
    """The engine of all cells of an experiment: JAX where it is installed and pays; times are NumPy's."""
    if spec.engine != "auto":
        return spec.engine
    combinations = math.prod(map(len, spec.grid.values())) * len(spec.policies)
    seconds = combinations * spec.horizon * (CALLS * min(spec.instances, spec.trials) + TRIAL * spec.trials)
    pays = spec.measure == "scores" and seconds > COMPILING * len(spec.policies)
    return "jax" if pays and find_spec("jax") is not None else "numpy"


def maximiser(problem: Problem) -> str:
    """Whether the unconstrained maximiser is feasible; if not, the optimum is a mixture, as a rule."""
    best = np.flatnonzero(problem.reward == problem.reward.max())
    return "feasible" if (problem.costs[best] <= 0).all(axis=1).any() else "infeasible"


def checkpoints(horizon: int, points: int) -> NDArray[np.int64]:
    """Rounds at which a curve is recorded: spaced evenly, and geometrically, and the last."""
    spaced = np.concatenate([np.linspace(1, horizon, points), np.geomspace(1, horizon, points)])
    return np.unique(np.append(spaced.round().astype(np.int64), max(1, horizon // 10)))


def arms_tried(arms: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many different arms each trial has played after each round: (trials, rounds)."""
    new = np.zeros(arms.shape, dtype=np.int64)
    for trial, row in enumerate(arms):
        new[trial, np.unique(row, return_index=True)[1]] = 1
    return new.cumsum(axis=1)


def _rows(scores: Scores, tried: NDArray[np.int64], key: Mapping[str, Any], cell: Cell) -> Table:
    rounds = checkpoints(cell.spec.horizon, cell.spec.points)
    every = {name: tried if name == "arms_tried" else _worst(getattr(scores, name)) for name in METRICS}
    at = {name: values[:, rounds - 1] for name, values in every.items()}
    count = len(cell.trials) * len(rounds)
    columns = {name: np.full(count, v if name in NUMBERS else label(v), dtype=object) for name, v in key.items()}
    columns |= {"trial": np.repeat(cell.trials, len(rounds)), "round": np.tile(rounds, len(cell.trials))}
    columns |= {name: values.ravel() for name, values in at.items()}
    return Table({name: column.astype(float) if name in NUMBERS else column for name, column in columns.items()})


def _worst(values: Floats) -> Floats:
    """Over the constraints, where there are several: that of the most violated one."""
    return values.max(axis=2) if values.ndim == 3 else values


def _time(cell: Cell, problem: Problem, policy: Policy, key: Mapping[str, Any]) -> Table:
    """Microseconds a trial-round: the least of some repetitions."""
    spec = cell.spec
    simulate(policy, problem, cell.trials, spec.seed, engine(spec), rounds=1)
    seconds = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        simulate(policy, problem, cell.trials, spec.seed, engine(spec), rounds=spec.horizon)
        seconds.append(time.perf_counter() - begun)
    row = {**key, "microseconds": 1e6 * min(seconds) / spec.horizon / len(cell.trials)}
    return Table.of([row], list(row))


def join(tables: list[Table]) -> Table:
    """One table of several with the same columns."""
    return Table({name: np.concatenate([table[name] for table in tables]) for name in tables[0].columns})
