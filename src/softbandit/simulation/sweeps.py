"""Many simulations at once: on all cores, or on a Dask or Ray cluster."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.errors import ArgumentError
from softbandit.policies import Policy
from softbandit.problems import Problem
from softbandit.simulation.engine_choice import check_options, choose_engine
from softbandit.simulation.rounds import Options
from softbandit.simulation.schedule import cores
from softbandit.simulation.simulator import check_pair, round_count, simulate, trial_numbers
from softbandit.simulation.trace import Trace
from softbandit.simulation.worker_pool import connection, run_all

MOST_JOBS, MOST_TASKS = 10_000, 10**6
BLOCK = 50  # trials per task, at most: more share the cost of a round, fewer spread better


def sweep(
    runs: Mapping[str, tuple[Policy, Problem]],
    trials: int | Sequence[int] = 1,
    seed: int = 0,
    backend: str = "local",
    jobs: int | None = None,
    block: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    engine: str = "auto",
    **options: Any,
) -> dict[str, Trace]:
    """Simulate every run, and return the traces that `simulate` returns for each, to the bit.

    Parameters
    ----------
    runs
        Pairs of policy and problem, by label.
    trials, seed, engine, options
        As in `simulate`.
    backend
        "local", "dask://HOST:PORT" or "ray://HOST:PORT". Lost workers' tasks are run again.
    jobs
        Local processes; one per core by default.
    block
        Trials per task. By default 50, or fewer with NumPy's engine if some of the local processes would have none.
    progress
        Called with the number of tasks done and their total, after each task.

    Examples
    --------
    >>> import softbandit as sb
    >>> problem = sb.problems.rkhs(seed=3)
    >>> policy = sb.CKB(**problem.settings(), horizon=20)
    >>> scaled = {f"{s:g}": (policy.replace(width_scale=s), problem) for s in (1.0, 0.2)}
    >>> traces = sb.sweep(scaled, trials=4, jobs=1)
    >>> traces["0.2"].arms.shape
    (4, 20)
    """
    connection(backend)
    check_options(engine, Options(0, (), options.get("draws", "host"), options.get("precision", "float64")))
    _check_runs(runs)
    if progress is not None:
        validation.function("progress", progress)
    processes = validation.whole("jobs", cores() if jobs is None else jobs, least=1, most=MOST_JOBS)
    numbers = trial_numbers(trials)
    tasks: list[tuple[str, Callable[[], Trace]]] = []
    for label, (policy, problem) in runs.items():
        step, T = policy.stage(0).policy, round_count(policy, options.get("rounds"))
        chosen = choose_engine(engine, step, problem, len(numbers), T)
        spread = backend == "local" and chosen == "numpy"  # JAX itself uses every core
        fair = -(-len(numbers) * len(runs) // processes) if spread else BLOCK
        size = validation.whole("block", max(1, min(BLOCK, fair)) if block is None else block, least=1)
        validation.whole("trials / block", -(-len(numbers) // size), least=1, most=MOST_TASKS)
        settings = {"seed": seed, "engine": chosen, **options}
        parts = [numbers[first : first + size] for first in range(0, len(numbers), size)]
        tasks += [(label, partial(simulate, policy, problem, part, **settings)) for part in parts]
    traces: dict[int, Trace] = {}
    for index, trace in run_all(operator.call, [call for _, call in tasks], backend, processes):
        traces[index] = trace
        if progress is not None:
            progress(len(traces), len(tasks))
    return {run: _joined([traces[i] for i, (label, _) in enumerate(tasks) if label == run]) for run in runs}


def _check_runs(runs: Mapping[str, Any]) -> None:
    """Refuse what is not a mapping of labels to pairs of policy and problem."""
    remedy = "Pass {label: (policy, problem)}."
    validation.instance("runs", runs, Mapping, "a policy and a problem for each label", remedy)
    if not runs:
        raise ArgumentError.of("runs", "at least one", {}, remedy)
    for label, pair in runs.items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ArgumentError.of("runs", f"a policy and a problem for {label!r}", pair, remedy)
        check_pair(*pair)


def _joined(traces: Sequence[Trace]) -> Trace:
    """Return one trace from the parts of a run."""
    columns = [name for name, value in vars(traces[0]).items() if isinstance(value, np.ndarray)]
    arrays: dict[str, Any] = {name: np.concatenate([getattr(trace, name) for trace in traces]) for name in columns}
    return replace(traces[0], **arrays, trials=[trial for trace in traces for trial in trace.trials])
