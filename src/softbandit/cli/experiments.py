"""`softbandit run` and `softbandit reproduce`: experiments from files, with figures and a report."""

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from softbandit import validation
from softbandit.cli.shared import console, explained
from softbandit.experiments import reproduce as steps
from softbandit.experiments.claims import CONDITIONALLY, FAILS, HOLDS, UNJUDGED, Verdict
from softbandit.experiments.report import notes
from softbandit.experiments.runner import Outcome, work
from softbandit.experiments.spec import Experiment, load
from softbandit.experiments.statistics import interval, units
from softbandit.simulation.schedule import cores
from softbandit.simulation.worker_pool import connection

COLOURS = {HOLDS: "green", CONDITIONALLY: "yellow", FAILS: "red", UNJUDGED: "dim"}

Out = Annotated[Path, typer.Option(help="Folder for tables, figures and the report.")]
Data = Annotated[str | None, typer.Option(help="Folder with the original data (else SOFTBANDIT_DATA, or stand-ins).")]
Jobs = Annotated[int | None, typer.Option(help="Processes; as many as there are cores by default.")]
Backend = Annotated[str, typer.Option(help="local, dask://ADDRESS or ray://ADDRESS.")]
Quick = Annotated[bool, typer.Option("--quick", help="A short run, to see that all works.")]
Trials = Annotated[int | None, typer.Option(help="Trials, in place of the files' own number.")]


def run(
    file: Annotated[Path, typer.Argument(help="An experiment as a TOML file.")],
    quick: Quick = False,
    out: Out = Path("out"),
    trials: Trials = None,
    data: Data = None,
    backend: Backend = "local",
    jobs: Jobs = None,
) -> None:
    """Run an experiment from a file: table, figures and a report."""
    with explained():
        spec = load(file, quick, _positive("trials", trials))
        outcome = _execute([spec], out, data, backend, jobs)[0]
        _print_scores(outcome)
        path = steps.report([outcome], [], spec.title, outcome.folder, _command())
        console.print(f"Report: {path}", soft_wrap=True)


def reproduce(
    quick: Quick = False,
    only: Annotated[list[str] | None, typer.Option(help="An experiment or figure by name; may be repeated.")] = None,
    trials: Trials = None,
    out: Annotated[Path | None, typer.Option(help="Folder; out/reproduce or, if quick, out/quick by default.")] = None,
    data: Data = None,
    backend: Backend = "local",
    jobs: Jobs = None,
) -> None:
    """Run the paper's experiments, judge its claims, and write a report."""
    with explained():
        begun = time.perf_counter()
        folder = out or Path("out/quick" if quick else "out/reproduce")
        every = steps.paper(quick, _positive("trials", trials))
        fresh = _execute(steps.chosen(every, only or ()), folder, data, backend, jobs)
        outcomes = steps.with_earlier(every, fresh, folder, data)
        judged = steps.verdicts(outcomes)
        _print_verdicts(judged)
        title = "On Kernelized Multi-Armed Bandits with Constraints, reproduced" + (" (quick run)" if quick else "")
        path = steps.report(outcomes, judged, title, folder, _command())
        console.print(f"{time.perf_counter() - begun:.0f} s. Report: {path}", soft_wrap=True)


def _command() -> str:
    """What was typed, to be typed again."""
    return shlex.join(["softbandit", *sys.argv[1:]])


def _execute(specs: Sequence[Experiment], out: Path, data: str | None, backend: str, jobs: int | None) -> list[Outcome]:
    """Run with a bar for all the work, and a line for each experiment as it is done."""
    processes = validation.whole("jobs", cores() if jobs is None else jobs, least=1)
    connection(backend)
    with _bar() as bar:
        task = bar.add_task("checking", total=sum(map(work, specs)))

        def done(outcome: Outcome) -> None:
            how = "unchanged, used again" if outcome.reused else f"{outcome.manifest['seconds']:.0f} s"
            bar.console.print(f"{outcome.spec.name:16} {how}")

        listener = steps.Listener(
            begin=lambda spec: bar.update(task, description=spec.name),
            progress=lambda n: bar.advance(task, n),
            done=done,
        )
        return steps.execute(specs, out, data, backend, processes, listener)


def _bar() -> Progress:
    columns = (TextColumn("{task.description:16}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    return Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=console)


def _print_verdicts(judged: Sequence[Verdict]) -> None:
    if not judged:
        return
    table = Table(title="The paper's claims, on settings fixed in advance", title_justify="left")
    for column in ("claim", "paper", "ours", "verdict"):
        table.add_column(column, overflow="fold")
    for v in judged:
        verdict = Text("; ".join([v.verdict, *notes(v)]), style=COLOURS[v.verdict])
        table.add_row(v.claim.name, v.claim.paper, v.ours, verdict)
    console.print(table)


def _print_scores(outcome: Outcome) -> None:
    """The end of every policy, at every point of the grid."""
    spec = outcome.spec
    metrics = ("microseconds",) if spec.measure == "time" else ("strong_regret", "violation", "violated_rounds")
    heads = {"strong_regret": "R_+(T)", "violation": "V(T)", "violated_rounds": "N", "microseconds": "us a round"}
    table = Table(title=spec.title, title_justify="left")
    for name in (*spec.grid, "policy"):
        table.add_column(name.removeprefix("problem."), overflow="fold")
    for metric in metrics:
        table.add_column(heads[metric], justify="right", overflow="fold")
    rows = outcome.table if spec.measure == "time" else outcome.table.final()
    for key, part in rows.groups(*spec.grid, "policy"):
        found = [str(interval(units(part, m))) if m != "microseconds" else f"{part[m][0]:.1f}" for m in metrics]
        table.add_row(*key, *found)
    console.print(table)


def _positive(what: str, value: int | None) -> int | None:
    return None if value is None else validation.whole(what, value, least=1)
