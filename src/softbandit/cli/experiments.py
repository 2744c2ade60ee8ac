"""`softbandit run` and `softbandit reproduce`: experiments from files, with figures and a report."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from softbandit import checks
from softbandit.cli.shared import console, explained
from softbandit.experiments import reproduce as steps
from softbandit.experiments.claims import CONDITIONALLY, FAILS, HOLDS, Verdict
from softbandit.experiments.runner import Outcome, work
from softbandit.experiments.spec import Experiment, load
from softbandit.experiments.statistics import interval, units
from softbandit.pool import connection

COLOURS = {HOLDS: "green", CONDITIONALLY: "yellow", FAILS: "red"}

Out = Annotated[Path, typer.Option(help="Folder for tables, figures and the report.")]
Data = Annotated[str | None, typer.Option(help="Folder with the original data (else SOFTBANDIT_DATA, or stand-ins).")]
Jobs = Annotated[int | None, typer.Option(help="Processes; as many as there are cores by default.")]
Backend = Annotated[str, typer.Option(help="local, dask://ADDRESS or ray://ADDRESS.")]
Trials = Annotated[int | None, typer.Option(help="Trials, in place of the files' own number.")]


def run(
    file: Annotated[Path, typer.Argument(help="An experiment as a TOML file.")],
    out: Out = Path("out"),
    trials: Trials = None,
    data: Data = None,
    backend: Backend = "local",
    jobs: Jobs = None,
) -> None:
    """Run an experiment from a file: table, figures and a report."""
    with explained():
        spec = load(file, trials=_positive("trials", trials))
        outcome = _execute([spec], out, data, backend, jobs)[0]
        _print_scores(outcome)
        path = steps.report([outcome], [], spec.title, outcome.folder, f"softbandit run {file}")
        console.print(f"Report: {path}", soft_wrap=True)


def reproduce(
    quick: Annotated[bool, typer.Option("--quick", help="Short runs, to see that all works.")] = False,
    only: Annotated[list[str] | None, typer.Option(help="An experiment or figure by name; may be repeated.")] = None,
    trials: Trials = None,
    out: Out = Path("out/reproduce"),
    data: Data = None,
    backend: Backend = "local",
    jobs: Jobs = None,
) -> None:
    """Run the paper's experiments, judge its claims, and write a report."""
    with explained():
        begun = time.perf_counter()
        specs = steps.paper(quick, only or (), _positive("trials", trials))
        outcomes = _execute(specs, out, data, backend, jobs)
        judged = steps.verdicts(outcomes)
        _print_verdicts(judged)
        options = [*(["--quick"] if quick else []), *(f"--only {name}" for name in only or ())]
        title = "On Kernelized Multi-Armed Bandits with Constraints, reproduced" + (" (quick run)" if quick else "")
        path = steps.report(outcomes, judged, title, out, " ".join(["softbandit reproduce", *options]))
        console.print(f"{time.perf_counter() - begun:.0f} s. Report: {path}", soft_wrap=True)


def _execute(specs: Sequence[Experiment], out: Path, data: str | None, backend: str, jobs: int | None) -> list[Outcome]:
    """Run with a bar for all the work, and a line for each experiment as it is done."""
    cores = checks.whole("jobs", os.cpu_count() or 1 if jobs is None else jobs, least=1)
    connection(backend)
    with _bar() as bar:
        task = bar.add_task("", total=sum(map(work, specs)))

        def begin(spec: Experiment, _: int) -> None:
            bar.update(task, description=spec.name)

        def done(outcome: Outcome) -> None:
            how = "unchanged, used again" if outcome.reused else f"{outcome.manifest['seconds']:.0f} s"
            bar.console.print(f"{outcome.spec.name:16} {how}", highlight=False)

        return steps.execute(specs, out, data, backend, cores, begin, lambda n: bar.advance(task, n), done)


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
        words = v.verdict + (f": {v.condition}" if v.condition else "")
        table.add_row(v.claim.name, v.claim.paper, v.ours, f"[{COLOURS[v.verdict]}]{words}[/]")
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
    return None if value is None else checks.whole(what, value, least=1)
