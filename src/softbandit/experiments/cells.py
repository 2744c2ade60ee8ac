"""An experiment in its smallest parts: one policy on one instance at one point of the grid."""

import timeit
import warnings
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from softbandit.backend import Ints
from softbandit.experiments.build import PROBLEM, build_policy, build_problem
from softbandit.experiments.spec import Experiment, Settings
from softbandit.experiments.tables import METRICS, Table, label
from softbandit.policies import Policy
from softbandit.problems import Problem
from softbandit.simulation.engine_choice import jax_pays
from softbandit.simulation.scores import Scores, score
from softbandit.simulation.simulator import simulate
from softbandit.simulation.trace import ComplaintWarning

REPEATS = 3  # of each timing; the shortest is the least disturbed


class Cell(NamedTuple):
    """One policy on one instance at one point of the grid."""

    spec: Experiment
    point: Settings
    policy: str
    instance: int
    trials: list[int]

    @property
    def work(self) -> int:
        """Estimated time, in the units of the progress bar."""
        return self.spec.horizon * (2 + len(self.trials)) // 1000 + 1


def all_cells(spec: Experiment) -> list[Cell]:
    """Return the cells in the order of the table; no two instances share a trial number, so none share their noise."""
    share = [part.tolist() for part in np.array_split(np.arange(spec.trials), min(spec.instances, spec.trials))]
    return [
        Cell(spec, point, policy, instance, trials)
        for point in spec.combinations()
        for policy, settings in spec.policies.items()
        if all(label(point[key]) in map(label, values) for key, values in settings.get("only", {}).items())
        for instance, trials in enumerate(share)
    ]


def prepare(cell: Cell, data: str | None = None) -> tuple[Problem, Policy]:
    """Build the problem and the policy of a cell, which checks their settings."""
    spec = cell.spec
    seed = spec.seed + cell.instance
    problem = build_problem(spec.problem, cell.point, seed, data)
    point = {key: value for key, value in cell.point.items() if not key.startswith(PROBLEM)}
    settings = {"horizon": spec.horizon, **spec.settings, **point}
    return problem, build_policy(cell.policy, spec.policies[cell.policy], problem, settings, seed)


def choose_engines(spec: Experiment, data: str | None = None) -> dict[str, str]:
    """Choose one engine per policy, on its first cell: its cells share a compiled program. Times are NumPy's."""
    if spec.engine != "auto" or spec.measure == "time":
        return dict.fromkeys(spec.policies, "numpy" if spec.engine == "auto" else spec.engine)
    cells = all_cells(spec)
    engines = {}
    for name in spec.policies:
        policy_cells = [cell for cell in cells if cell.policy == name]
        _, policy = prepare(policy_cells[0], data)
        rounds = spec.horizon * len(policy_cells)
        pays = jax_pays(policy.stage(0).policy, len(policy_cells[0].trials), rounds)  # JAX can trace them all
        engines[name] = "jax" if pays else "numpy"
    return engines


def play(cell: Cell, engines: Mapping[str, str], data: str | None = None) -> Table:
    """Run a cell, and return its rows of the experiment's table."""
    problem, policy = prepare(cell, data)
    spec, engine = cell.spec, engines[cell.policy]
    key: dict[str, object] = {**cell.point, "policy": cell.policy, "instance": cell.instance}
    if spec.measure == "time":
        return Table.of_rows([{**key, "microseconds": _microseconds(cell, problem, policy, engine)}])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ComplaintWarning)  # under a scaled width, safe seeds get refuted by chance
        trace = simulate(policy, problem, cell.trials, spec.seed, engine, rounds=spec.horizon, keep=())
    key |= {"maximiser": maximiser(problem), "guaranteed": policy.guarantees(problem).covered}
    return _rows(score(trace, problem), arms_tried(trace.arms), key, cell)


def blank(cell: Cell) -> Table:
    """Return rows like those that `play` will return, with zeros: what a figure needs to be tried."""
    key: dict[str, object] = {**cell.point, "policy": cell.policy, "instance": cell.instance}
    if cell.spec.measure == "time":
        return Table.of_rows([{**key, "microseconds": 1.0}])
    key |= {"maximiser": "feasible", "guaranteed": False, "trial": cell.trials[0]} | dict.fromkeys(METRICS, 0.0)
    return Table.of_rows([{**key, "round": t} for t in (1, cell.spec.horizon)])


def maximiser(problem: Problem) -> str:
    """Return whether the unconstrained maximiser is feasible; if not, the optimum is usually a mixture."""
    best = np.flatnonzero(problem.reward == problem.reward.max())
    return "feasible" if (problem.costs[best] <= 0).all(axis=1).any() else "infeasible"


def checkpoints(horizon: int, points: int) -> Ints:
    """Return the rounds at which a curve is recorded: spaced evenly, and geometrically, and the last."""
    spaced = np.concatenate([np.linspace(1, horizon, points), np.geomspace(1, horizon, points)])
    return np.unique(np.append(spaced.round().astype(np.int64), max(1, horizon // 10)))


def arms_tried(arms: Ints) -> Ints:
    """Return the number of different arms that each trial has played after each round: (trials, rounds)."""
    new = np.zeros(arms.shape, dtype=np.int64)
    for trial, row in enumerate(arms):
        new[trial, np.unique(row, return_index=True)[1]] = 1
    return new.cumsum(axis=1)


def _rows(scores: Scores, tried: Ints, key: Settings, cell: Cell) -> Table:
    rounds = checkpoints(cell.spec.horizon, cell.spec.points)
    # Of several constraints, the table has the most violated one.
    worst = {name: getattr(scores, name).reshape(*tried.shape, -1).max(axis=2) for name in METRICS[:-1]}
    columns = {name: [value] * (len(cell.trials) * len(rounds)) for name, value in key.items()}
    places = {"trial": np.repeat(cell.trials, len(rounds)), "round": np.tile(rounds, len(cell.trials))}
    curves = {**worst, "arms_tried": tried}
    return Table.of({**columns, **places, **{name: curve[:, rounds - 1].ravel() for name, curve in curves.items()}})


def _microseconds(cell: Cell, problem: Problem, policy: Policy, engine: str) -> float:
    """Return the time per round and trial: the shortest of several repetitions, after a warm-up."""
    run = partial(simulate, policy, problem, cell.trials, cell.spec.seed, engine)
    run(rounds=1)
    seconds = timeit.repeat(lambda: run(rounds=cell.spec.horizon), repeat=REPEATS, number=1)
    return 1e6 * min(seconds) / cell.spec.horizon / len(cell.trials)
