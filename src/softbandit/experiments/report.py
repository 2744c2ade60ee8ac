"""The report: one HTML file that needs no other. Claims first, then figures, then how they were produced."""

import base64
import html
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from softbandit.atomic_write import replacing
from softbandit.experiments.claims import CONDITIONALLY, FAILS, HOLDS, UNJUDGED, Verdict
from softbandit.experiments.runner import Outcome, write_json
from softbandit.experiments.spec import Settings
from softbandit.experiments.statistics import final_numbers
from softbandit.experiments.tables import SYMBOLS, label

BADGES = {HOLDS: "good", CONDITIONALLY: "partly", FAILS: "bad", UNJUDGED: "none"}
STYLE = Path(__file__).with_name("report.css")
NOTE = """<p class='small'>Each claim is judged on a primary setting that was fixed in its experiment's file before the
run, never on the best of several. If it fails there, conditions stated in advance are tried in order. Numbers in
brackets are 95% intervals. What “holds” means for each claim, and all evidence, is shown with its experiment below.</p>
"""


def save_report(outcomes: Sequence[Outcome], verdicts: Sequence[Verdict], title: str, out: Path, command: str) -> Path:
    """Write index.html, and the verdicts as claims.json for programs. Return the path of the page."""
    write_json(out / "claims.json", [_plain(verdict) for verdict in verdicts])
    page = [
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{escape(title)}</title>"
        f"<meta name='viewport' content='width=device-width'><style>\n{STYLE.read_text()}</style>",
        f"<h1>{escape(title)}</h1>",
        _summary(outcomes, verdicts),
    ]
    if verdicts:
        page += ["<h2>Claims</h2>", _claims(verdicts, {name for o in outcomes for name in o.spec.figures})]
    page += ["<h2>Experiments</h2>"]
    for o in outcomes:
        page += _experiment(o, [v for v in verdicts if v.claim.experiment == o.spec.name])
    page += ["<h2>How it was produced</h2>", *_provenance(outcomes, command)]
    with replacing(out / "index.html") as file:
        file.write(("\n".join(page) + "</html>\n").encode())
    return out / "index.html"


def _plain(v: Verdict) -> dict[str, object]:
    """Return a verdict as it is written in claims.json."""
    evidence = [{"where": where, **result._asdict()} for where, result in v.evidence]
    claim = {"claim": v.claim.name, "sentence": v.claim.sentence, "rule": v.claim.rule.words, "paper": v.claim.paper}
    return {**claim, "verdict": v.verdict, "condition": v.condition, "stand_in": v.stand_in, "evidence": evidence}


def escape(value: object) -> str:
    return html.escape(str(value))


def _summary(outcomes: Sequence[Outcome], verdicts: Sequence[Verdict]) -> str:
    sources = dict.fromkeys(source for outcome in outcomes for source in outcome.sources)
    counts = Counter(verdict.verdict for verdict in verdicts)
    listed = ", ".join(f"{counts[name]} {_badge(name)}" for name in BADGES if counts[name])
    judged = f"<p>{len(verdicts)} claims judged: {listed}.</p>" if verdicts else ""
    return f"{judged}<p class='small'>Data: {escape('; '.join(sources))}</p>"


def _badge(verdict: str) -> str:
    return f"<span class='badge {BADGES[verdict]}'>{verdict}</span>"


def _claims(verdicts: Sequence[Verdict], figures: set[str]) -> str:
    """Return a table with one row per claim: the sentence, the paper's number, ours, the verdict, the figure."""
    rows = [
        (
            f"<b>{escape(v.claim.name)}</b><blockquote>{escape(v.claim.sentence)}</blockquote>",
            escape(v.claim.paper),
            escape(v.ours),
            _badge(v.verdict) + "".join(f"<div class='small'>{escape(text)}</div>" for text in v.notes),
            f"<a href='#{v.claim.figure}'>{v.claim.figure}</a>" if v.claim.figure in figures else v.claim.figure,
        )
        for v in verdicts
    ]
    return NOTE + _table(("Claim", "Paper", "Ours, primary setting", "Verdict", "Figure"), rows)


def _experiment(outcome: Outcome, verdicts: Sequence[Verdict]) -> list[str]:
    spec = outcome.spec
    return [
        f"<h3 id='{escape(spec.name)}'>{escape(spec.title)}</h3>",
        f"<p>{escape(spec.about.strip())}</p><p class='small'>Data: {escape('; '.join(outcome.sources))}</p>",
        *(_figure(outcome.folder / f"{name}.png", name) for name in spec.figures),
        *map(_evidence, verdicts),
        f"<details><summary>Numbers at the end</summary>{_numbers(outcome)}</details>",
        f"<details><summary>Settings</summary><pre>{escape(_settings(outcome))}</pre></details>",
    ]


def _figure(path: Path, name: str) -> str:
    picture = base64.b64encode(path.read_bytes()).decode()
    return f"<figure id='{name}'><img alt='{escape(name)}' src='data:image/png;base64,{picture}'></figure>"


def _evidence(verdict: Verdict) -> str:
    rows = []
    for where, evidence in verdict.evidence:
        details = "".join(f"<div class='small'>{escape(a)}: {escape(b)}</div>" for a, b in evidence.details)
        holds = {True: "yes", False: "no", None: "not judged"}[evidence.holds]
        rows.append((escape(where), escape(evidence.ours) + details, holds))
    head = f"{_badge(verdict.verdict)} <b>{escape(verdict.claim.name)}</b> (paper: {escape(verdict.claim.paper)})"
    rule = f"<div class='small'>Holds if {escape(verdict.claim.rule.words)}.</div>"
    return f"<details><summary>{head}</summary>{rule}{_table(('Setting', 'Ours', 'Holds'), rows)}</details>"


def _numbers(outcome: Outcome) -> str:
    """Return a table of every policy at every point of the grid, in the last round."""
    keys = [*outcome.spec.grid, "policy"]
    heads = SYMBOLS if outcome.spec.measure == "scores" else {"microseconds": "microseconds"}
    rows = [list(map(escape, row)) for row in final_numbers(outcome.table, keys, list(heads))]
    names = [key.replace("problem.", "").replace("_", " ") for key in keys]
    guaranteed = ["guaranteed"] if outcome.spec.measure == "scores" else []
    return _table(map(escape, [*names, *heads.values(), *guaranteed]), rows, numbers=len(heads) + len(guaranteed))


def _settings(outcome: Outcome) -> str:
    spec = outcome.spec
    settings = [
        f"horizon {spec.horizon:,}, trials {spec.trials}, instances {spec.instances}, seed {spec.seed}",
        f"problem: {_listing(spec.problem)}",
        f"settings: {_listing(spec.settings) or 'the defaults of softbandit'}",
        *(f"policy {name}: {_listing(settings) or 'defaults'}" for name, settings in spec.policies.items()),
        *(f"grid {name}: {', '.join(map(label, values))}" for name, values in spec.grid.items()),
        f"primary: {_listing(spec.primary) or 'no grid'}",
        f"key {outcome.manifest['key']}",
    ]
    return "\n".join(settings)


def _listing(settings: Settings) -> str:
    return ", ".join(f"{key} = {label(value)}" for key, value in settings.items())


def _provenance(outcomes: Sequence[Outcome], command: str) -> list[str]:
    rows = [
        (
            f"<a href='#{escape(o.spec.name)}'>{escape(o.spec.name)}</a>",
            f"{o.manifest['seconds']:.0f} s",
            escape(o.manifest["finished"]),
            f"{escape(o.spec.name)}/{escape(o.manifest['table']['file'])} "
            f"<code>{escape(o.manifest['table']['sha256'][:12])}</code>",
        )
        for o in outcomes
    ]
    manifest = outcomes[0].manifest
    hashes = {source["source"]: source["sha256"] for o in outcomes for source in o.manifest["data"]}
    versions = ", ".join(f"{name} {number}" for name, number in manifest["versions"].items())
    return [
        f"<p>Run again with <code>{escape(command)}</code>. Finished, unchanged experiments are not run again.</p>",
        f"<p class='small'>{escape(versions)}; {escape(manifest['machine']['system'])}, "
        f"{escape(manifest['machine']['cores'])} cores.</p>",
        _table(("Data", "sha256"), [(escape(name), f"<code>{escape(h)}</code>") for name, h in hashes.items()]),
        _table(("Experiment", "Time", "Finished", "Table"), rows),
    ]


def _table(head: Iterable[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """Return an HTML table; the last `numbers` columns are aligned as numbers."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = ""
    for row in rows:
        kinds = [""] * (len(row) - numbers) + [" class='number'"] * numbers
        body += "<tr>" + "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>"
    return f"<table><tr>{top}</tr>{body}</table>"
