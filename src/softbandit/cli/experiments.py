"""`softbandit run` and `softbandit reproduce`: experiments from files, with figures and a report."""

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from softbandit import validation
from softbandit.cli.shared import console, messages, print_table, progress_bar
from softbandit.experiments import reproduce as steps
from softbandit.experiments.claims import CONDITIONALLY, FAILS, HOLDS, UNJUDGED, Verdict
from softbandit.experiments.report import save_report
from softbandit.experiments.runner import Outcome, work
from softbandit.experiments.spec import Experiment, load
from softbandit.experiments.statistics import final_numbers
from softbandit.experiments.tables import SYMBOLS
from softbandit.simulation.schedule import cores
from softbandit.simulation.worker_pool import connection

COLOURS = {HOLDS: "green", CONDITIONALLY: "yellow", FAILS: "red", UNJUDGED: "dim"}
SHOWN = ("strong_regret", "violation", "violated_rounds")

Out = Annotated[Path, typer.Option(help="Folder for tables, figures and the report.")]
Data = Annotated[str | None, typer.Option(help="Folder with the original data (else SOFTBANDIT_DATA, or stand-ins).")]
Jobs = Annotated[int | None, typer.Option(help="Processes; by default one per core.")]
Backend = Annotated[str, typer.Option(help="local, dask://ADDRESS or ray://ADDRESS.")]
Quick = Annotated[bool, typer.Option("--quick", help="A short run, to check that everything works.")]
Trials = Annotated[int | None, typer.Option(help="Number of trials, in place of the one in the file.")]


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
    with messages():
        spec = load(file, quick, _positive("trials", trials))
        steps.try_figures(spec)
        outcome = _execute([spec], out, data, backend, jobs)[0]
        _print_scores(outcome)
        path = save_report([outcome], [], spec.title, outcome.folder, _command())
        console.print(f"Report: {path}", soft_wrap=True)


def reproduce(
    quick: Quick = False,
    only: Annotated[list[str] | None, typer.Option(help="An experiment or figure by name; may be repeated.")] = None,
    trials: Trials = None,
    out: Annotated[Path | None, typer.Option(help="Folder; by default out/reproduce or, if quick, out/quick.")] = None,
    data: Data = None,
    backend: Backend = "local",
    jobs: Jobs = None,
) -> None:
    """Run the paper's experiments, judge its claims, and write a report."""
    with messages():
        start = time.perf_counter()
        folder = out or Path("out/quick" if quick else "out/reproduce")
        specs = steps.paper(quick, _positive("trials", trials))
        new = _execute(steps.select(specs, only or ()), folder, data, backend, jobs)
        outcomes = steps.with_earlier(specs, new, folder, data)
        verdicts = steps.judge_all(outcomes)
        _print_verdicts(verdicts)
        title = "On Kernelized Multi-Armed Bandits with Constraints, reproduced" + (" (quick run)" if quick else "")
        path = save_report(outcomes, verdicts, title, folder, _command())
        console.print(f"{time.perf_counter() - start:.0f} s. Report: {path}", soft_wrap=True)


def _command() -> str:
    """Return the command that was typed."""
    return shlex.join(["softbandit", *sys.argv[1:]])


def _execute(specs: Sequence[Experiment], out: Path, data: str | None, backend: str, jobs: int | None) -> list[Outcome]:
    """Run experiments with one bar for all the work, and a line for each experiment when its figures are drawn."""
    processes = validation.whole("jobs", cores() if jobs is None else jobs, least=1)
    connection(backend)
    outcomes: list[Outcome] = []
    with progress_bar() as bar:
        task = bar.add_task("checking", total=sum(map(work, specs)))

        def progress(name: str, done: int) -> None:
            left = f", {others} more" if (others := len(specs) - len(outcomes) - 1) else ""
            bar.update(task, description=name + left, advance=done)

        for outcome in steps.execute(specs, out, data, backend, processes, progress):
            time_taken = "unchanged, used again" if outcome.reused else f"{outcome.manifest['seconds']:.0f} s"
            bar.console.print(f"{outcome.spec.name:16} {time_taken:6} {outcome.folder}", soft_wrap=True)
            outcomes.append(outcome)
    return outcomes


def _print_verdicts(verdicts: Sequence[Verdict]) -> None:
    texts = [Text("; ".join([v.verdict, *v.notes]), style=COLOURS[v.verdict]) for v in verdicts]
    rows = [(v.claim.name, v.claim.paper, v.ours, text) for v, text in zip(verdicts, texts, strict=True)]
    if rows:
        title = "The paper's claims, on settings fixed in advance"
        print_table(title, ("claim", "paper", "ours", "verdict"), (), rows)


def _print_scores(outcome: Outcome) -> None:
    """Print the results of every policy at every point of the grid, in the last round."""
    spec = outcome.spec
    keys = [*spec.grid, "policy"]
    names = [key.removeprefix("problem.") for key in keys]
    scores = [*(SYMBOLS[metric] for metric in SHOWN), "guaranteed"]
    heads = scores if spec.measure == "scores" else ["us per round"]
    print_table(spec.title, names, heads, final_numbers(outcome.table, keys, SHOWN))


def _positive(what: str, value: int | None) -> int | None:
    return None if value is None else validation.whole(what, value, least=1)
