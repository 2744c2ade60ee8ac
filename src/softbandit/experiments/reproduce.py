"""The paper's experiments, and the way from a file to figures and a report."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from softbandit import validation
from softbandit.atomic_write import replacing
from softbandit.errors import FileError
from softbandit.experiments import figures_results
from softbandit.experiments.claims import Verdict, judge
from softbandit.experiments.claims_paper import CLAIMS
from softbandit.experiments.figures_check import check_figures
from softbandit.experiments.report import write_report
from softbandit.experiments.runner import Outcome, check, earlier, run, write_json
from softbandit.experiments.spec import Experiment, load

FOLDER = Path(__file__).parent / "paper"
PAPER = (
    "synthetic",
    "sensors",
    "stocks",
    "arms",
    "sensors-grid",
    "stocks-grid",
    "synthetic-grid",
    "slack",
    "queue",
    "widths",
    "distributions",
    "constraints",
    "doubling",
    "noise",
    "cloud",
    "wireless",
)
"""The experiments' files, those of the paper's figures first."""

FORMATS = ("png", "pdf")


def paper(quick: bool = False, trials: int | None = None) -> list[Experiment]:
    """The paper's experiments."""
    return [load(FOLDER / f"{name}.toml", quick, trials) for name in PAPER]


def chosen(specs: Sequence[Experiment], only: Sequence[str]) -> list[Experiment]:
    """Those named, by their own name or by a figure's; all, if none is."""
    of = {name: spec.name for spec in specs for name in (spec.name, *spec.figures)}
    names = {validation.named("--only", name, of) for name in only} or {spec.name for spec in specs}
    return [spec for spec in specs if spec.name in names]


class Listener(NamedTuple):
    """Who is told how far it is."""

    begin: Callable[[Experiment], None] = lambda spec: None
    progress: Callable[[int], None] = lambda done: None
    done: Callable[[Outcome], None] = lambda outcome: None


SILENT = Listener()


def execute(
    specs: Sequence[Experiment],
    out: Path,
    data: str | None = None,
    backend: str = "local",
    jobs: int = 1,
    listener: Listener = SILENT,
) -> list[Outcome]:
    """Run experiments, each with its figures, and keep them as they finish; all are checked before the first is run."""
    for spec in specs:
        check_figures(spec)
    sources = [check(spec, data) for spec in specs]
    prepare_folder(out)
    outcomes = []
    for spec, source in zip(specs, sources, strict=True):
        listener.begin(spec)
        outcome = run(spec, out, data, backend, jobs, listener.progress, source)
        draw(outcome)
        listener.done(outcome)
        outcomes.append(outcome)
    return outcomes


def prepare_folder(out: Path) -> None:
    """Find out before the work that its results can be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise FileError(f"{out}: expected a folder to write to, got {error}. Name another with --out.") from error


def with_earlier(
    specs: Sequence[Experiment], outcomes: Sequence[Outcome], out: Path, data: str | None
) -> list[Outcome]:
    """These outcomes and what earlier runs have left of the other experiments, in order."""
    found = {outcome.spec.name: outcome for outcome in outcomes}
    for spec in specs:
        if spec.name not in found and (out / spec.name / "manifest.json").exists():
            outcome = earlier(spec, out, check(spec, data))
            if outcome is not None:
                draw(outcome)
                found[spec.name] = outcome
    return [found[spec.name] for spec in specs if spec.name in found]


def draw(outcome: Outcome) -> None:
    """The experiment's figures, beside its table."""
    for name in outcome.spec.figures:
        figure = figures_results.draw(outcome, name)
        for kind in FORMATS:
            with replacing(outcome.folder / f"{name}.{kind}") as file:
                figure.savefig(file, format=kind, metadata={"CreationDate": None} if kind == "pdf" else None)


def verdicts(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """The claims that these outcomes can decide, in the paper's order."""
    found = {outcome.spec.name: outcome for outcome in outcomes}
    return [judge(claim, found[claim.experiment]) for claim in CLAIMS if claim.experiment in found]


def report(outcomes: Sequence[Outcome], judged: Sequence[Verdict], title: str, out: Path, command: str) -> Path:
    """Write index.html, and the verdicts as claims.json for programs; the path of the first."""
    prepare_folder(out)
    write_json(out / "claims.json", [_plain(verdict) for verdict in judged])
    write_report(out / "index.html", title, outcomes, judged, command)
    return out / "index.html"


def _plain(v: Verdict) -> dict[str, Any]:
    evidence = [{"where": where, **found._asdict()} for where, found in v.evidence]
    named = {"claim": v.claim.name, "sentence": v.claim.sentence, "rule": v.claim.rule.words, "paper": v.claim.paper}
    return {**named, "verdict": v.verdict, "condition": v.condition, "stand_in": v.stand_in, "evidence": evidence}
