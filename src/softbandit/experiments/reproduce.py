"""The paper's experiments, and the way from a file to figures and a report."""

from collections.abc import Callable, Sequence
from pathlib import Path

from softbandit import checks
from softbandit.errors import FileError
from softbandit.experiments import figures_results
from softbandit.experiments.claims import Verdict, judge
from softbandit.experiments.claims_paper import CLAIMS
from softbandit.experiments.report import write_report
from softbandit.experiments.runner import Outcome, check, run, work, write_json
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


def paper(quick: bool = False, only: Sequence[str] = (), trials: int | None = None) -> list[Experiment]:
    """The paper's experiments, or those named: by their own name or by a figure's."""
    every = [load(FOLDER / f"{name}.toml", quick, trials) for name in PAPER]
    of = {name: spec.name for spec in every for name in (spec.name, *spec.figures)}
    chosen = {checks.named("--only", name, of) for name in only} or set(PAPER)
    return [spec for spec in every if spec.name in chosen]


def execute(
    specs: Sequence[Experiment],
    out: Path,
    data: str | None,
    backend: str,
    jobs: int,
    begin: Callable[[Experiment, int], None],
    progress: Callable[[int], None],
    done: Callable[[Outcome], None],
) -> list[Outcome]:
    """Run experiments, each with its figures, and keep them as they finish; all are checked before the first is run."""
    for spec in specs:
        figures_results.check_figures(spec.name, spec.figures, (*spec.grid, "maximiser"))
    sources = [check(spec, data) for spec in specs]
    outcomes = []
    for spec, source in zip(specs, sources, strict=True):
        begin(spec, work(spec))
        outcome = run(spec, out, data, backend, jobs, progress, source)
        draw(outcome)
        done(outcome)
        outcomes.append(outcome)
    return outcomes


def draw(outcome: Outcome) -> None:
    """The experiment's figures, beside its table."""
    for name in outcome.spec.figures:
        figure = figures_results.draw(outcome, name)
        for kind in FORMATS:
            path = outcome.folder / f"{name}.{kind}"
            try:
                figure.savefig(path, metadata={"CreationDate": None} if kind == "pdf" else None)
            except OSError as error:
                raise FileError(f"{path} could not be written: {error}.") from error


def verdicts(outcomes: Sequence[Outcome]) -> list[Verdict]:
    """The claims that these outcomes can decide, in the paper's order."""
    found = {outcome.spec.name: outcome for outcome in outcomes}
    return [judge(claim, found[claim.experiment]) for claim in CLAIMS if claim.experiment in found]


def report(outcomes: Sequence[Outcome], judged: Sequence[Verdict], title: str, out: Path, command: str) -> Path:
    """Write index.html, and the verdicts as claims.json for programs; the path of the first."""
    out.mkdir(parents=True, exist_ok=True)
    rows = [
        {"claim": v.claim.name, "paper": v.claim.paper, "ours": v.ours, "verdict": v.verdict, "condition": v.condition}
        for v in judged
    ]
    if judged:
        write_json(out / "claims.json", rows)
    write_report(out / "index.html", title, outcomes, judged, command)
    return out / "index.html"
