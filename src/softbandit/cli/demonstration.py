"""`softbandit demo`: the policies side by side on a synthetic problem."""

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from softbandit import problems, validation
from softbandit.backend.display import counted
from softbandit.cli.shared import console, messages, print_table, progress_bar
from softbandit.drawing import figure_path
from softbandit.experiments.build import build_policy
from softbandit.experiments.figures import overview
from softbandit.simulation.scores import score
from softbandit.simulation.simulator import simulate
from softbandit.simulation.trace import Trace
from softbandit.theory import randomized_optimum

DEFAULT_POLICIES = ("ckb-ucb", "ckb-ts", "ckb-rand")


def demo(
    names: Annotated[list[str] | None, typer.Argument(help="Policies to run (softbandit policies lists them).")] = None,
    horizon: Annotated[int, typer.Option(help="Rounds per trial.")] = 5000,
    trials: Annotated[int, typer.Option(help="Independent trials.")] = 30,
    seed: Annotated[int, typer.Option(help="Seed of the problem and of all randomness.")] = 7,
    width_scale: Annotated[float, typer.Option(help="Factor on the theory's confidence width.")] = 0.2,
    out: Annotated[Path, typer.Option(help="File or folder for the figure.")] = Path("out/demo.png"),
) -> None:
    """Run CKB with its three explorations, or any policies, on a synthetic problem, and draw the results."""
    with messages():
        validation.whole("trials", trials, least=1)
        out = figure_path(out, "demo.png")
        problem = problems.rkhs(seed=seed)
        settings = {"horizon": horizon, "width_scale": width_scale}
        policies = {name: build_policy(name, {}, problem, settings) for name in names or DEFAULT_POLICIES}
        start = time.perf_counter()
        with progress_bar("rounds") as bar:
            tasks = {name: bar.add_task(name, total=horizon) for name in policies}
            traces = {
                name: simulate(policy, problem, trials, seed, progress=partial(bar.advance, tasks[name]))
                for name, policy in policies.items()
            }
        seconds = time.perf_counter() - start
        _print_scores(traces, problem, trials, horizon)
        rounds = len(policies) * trials * horizon
        console.print(f"{rounds:,} rounds in {seconds:.1f} s: {1e6 * seconds / rounds:.1f} us per round.")
        note = f"{problem.name}, noise {problem.noise:g}, confidence width {width_scale:g} x theory"
        out.parent.mkdir(parents=True, exist_ok=True)
        overview(problem, traces, note).savefig(out)
        console.print(f"Figure: {out}")


def _print_scores(traces: Mapping[str, Trace], problem: problems.Problem, trials: int, horizon: int) -> None:
    best = randomized_optimum(problem.reward, problem.cost).value
    title = f"{problem.name}, T = {horizon:,}, mean of {counted(trials, 'trial')}"
    rows = []
    for name, trace in traces.items():
        scores = score(trace, problem)
        regret, violation = scores.strong_regret[:, -1].mean(), scores.violation[:, -1].mean()
        row = [best - regret / horizon, regret, violation, violation / horizon, scores.violated_rounds[:, -1].mean()]
        rows.append([name, *(f"{v:,.{d}f}" for v, d in zip(row, (3, 1, 1, 4, 0), strict=True))])
    print_table(title, ["policy"], ["reward/round", "R_+(T)", "V(T)", "V(T)/T", "N"], rows)
    console.print(
        f"The best mixture of arms earns {best:.3f} per round; R_+ is the regret against it.\n"
        "V is the sum of the costs if that is above 0. N counts rounds with a cost\n"
        "above 0: a soft constraint allows them, as long as the sum stays small."
    )
