"""The paper's experiments, and the steps from a file to figures and a report."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from softbandit import validation
from softbandit.atomic_write import replacing
from softbandit.errors import ArgumentError, Description, FileError, SoftbanditError
from softbandit.experiments import figures_results
from softbandit.experiments.build import cached_problem
from softbandit.experiments.cells import all_cells, blank
from softbandit.experiments.claims import Verdict, judge
from softbandit.experiments.claims_paper import CLAIMS
from softbandit.experiments.runner import Outcome, Progress, check, load_finished, run
from softbandit.experiments.spec import Experiment, load
from softbandit.experiments.tables import join

FOLDER = Path(__file__).parent / "paper"
FIGURES = ("synthetic", "sensors", "stocks", "arms")
GRIDS = ("sensors-grid", "stocks-grid", "synthetic-grid")
METHODS = ("methods", "methods-wireless", "methods-cloud")  # half an hour on two cores: run if named
VARIANTS = ("slack", "queue", "widths", "distributions", "constraints", "doubling", "noise", "cloud", "wireless")
PAPER = (*FIGURES, *GRIDS, *VARIANTS, *METHODS)  # the experiments' files, with those of the paper's figures first


def paper(quick: bool = False, trials: int | None = None) -> list[Experiment]:
    """Return the paper's experiments."""
    return [load(FOLDER / f"{name}.toml", quick, trials) for name in PAPER]


def select(specs: Sequence[Experiment], only: Sequence[str]) -> list[Experiment]:
    """Return the experiments with these names, or with figures of these names; without names, all but METHODS."""
    experiments = {name: spec.name for spec in specs for name in (spec.name, *spec.figures)}
    names = {validation.named("--only", name, experiments) for name in only} or {spec.name for spec in specs} - set(
        METHODS
    )
    return [spec for spec in specs if spec.name in names]


def execute(
    specs: Sequence[Experiment],
    out: Path,
    data: str | None = None,
    backend: str = "local",
    jobs: int = 1,
    progress: Progress = lambda name, work: None,
) -> Iterator[Outcome]:
    """Check all experiments, then run them, and yield each when it is finished and its figures are drawn.

    Workers go on while figures are drawn.
    """
    cached_problem.cache_clear()  # the data may have changed
    sources = [check(spec, data) for spec in specs]
    for spec in specs:
        _check_folder(out / spec.name)
    for outcome in run(specs, sources, out, data, backend, jobs, progress):
        draw(outcome)
        yield outcome


def _check_folder(folder: Path) -> None:
    """Check that the folder of an experiment can be written to; a new one appears with its results."""
    try:
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        if is_new:
            folder.rmdir()
    except OSError as error:
        raise FileError(f"{folder}: expected a folder to write to, got {error}. Name another with --out.") from error


def try_figures(spec: Experiment) -> None:
    """Draw the figures of a table of zeros: texts and settings that cannot be drawn are found before the work."""
    if not spec.figures:
        return
    manifest = {"data": [], "machine": {"cores": 1}}
    zeros = Outcome(spec, join([blank(cell) for cell in all_cells(spec)]), manifest, Path(), reused=False)
    for name in spec.figures:
        try:
            figures_results.draw(zeros, name).draw_without_rendering()
        except SoftbanditError:
            raise
        except Exception as error:
            where, got = f"{spec.name}.toml, [figures.{name}]", Description(str(error).strip())
            raise ArgumentError.of(where, "a figure that can be drawn", got, "Check its keys and texts.") from error


def with_earlier(specs: Sequence[Experiment], fresh: Sequence[Outcome], out: Path, data: str | None) -> list[Outcome]:
    """Add the other experiments that earlier runs left in the folder, and return all in order."""
    known = {outcome.spec.name: outcome for outcome in fresh}
    for spec in specs:
        if spec.name in known or not (out / spec.name / "manifest.json").exists():
            continue
        if outcome := load_finished(spec, out, check(spec, data)):
            draw(outcome)
            known[spec.name] = outcome
    return [known[spec.name] for spec in specs if spec.name in known]


def draw(outcome: Outcome) -> None:
    """Save the experiment's figures next to its table."""
    for name in outcome.spec.figures:
        figure = figures_results.draw(outcome, name)
        for kind in ("png", "pdf"):
            with replacing(outcome.folder / f"{name}.{kind}") as file:
                figure.savefig(file, format=kind, metadata={"CreationDate": None} if kind == "pdf" else None)


def judge_all(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """Judge the claims that these outcomes can decide, in the paper's order."""
    known = {outcome.spec.name: outcome for outcome in outcomes}
    return [judge(claim, known[claim.experiment]) for claim in CLAIMS if claim.experiment in known]
