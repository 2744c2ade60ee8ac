"""The report: one HTML file that needs nothing else. Claims first, then figures, then how it was made."""

import base64
import html
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from softbandit.atomic_write import replacing
from softbandit.experiments.claims import CONDITIONALLY, FAILS, HOLDS, UNJUDGED, Verdict
from softbandit.experiments.runner import Outcome
from softbandit.experiments.statistics import interval, units
from softbandit.experiments.tables import METRICS, Table, label

BADGES = {HOLDS: "good", CONDITIONALLY: "partly", FAILS: "bad", UNJUDGED: "none"}
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.7rem; } h2 { margin-top: 3rem; border-bottom: 1px solid #ddd; } h3 { margin-top: 2rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
th, td { text-align: left; padding: 0.35rem 0.8rem 0.35rem 0; border-bottom: 1px solid #eee; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; height: auto; } figure { margin: 1.5rem 0; } blockquote { margin: 0.5rem 0; color: #555; }
.badge { border-radius: 0.3rem; padding: 0.1rem 0.5rem; white-space: nowrap; font-size: 0.85rem; font-weight: 600; }
.good { background: #d4edda; color: #14532d; } .partly { background: #fff3cd; color: #664d03; }
.bad { background: #f8d7da; color: #721c24; } .none { background: #eee; color: #444; }
.small { font-size: 0.85rem; color: #555; }
code, pre { background: #f6f6f6; font-size: 0.85rem; } pre { padding: 0.8rem; overflow-x: auto; }
details { margin: 0.4rem 0; } summary { cursor: pointer; color: #0072b2; }
"""


def write_report(
    path: Path, title: str, outcomes: Sequence[Outcome], verdicts: Sequence[Verdict], command: str
) -> None:
    """Write the report; figures are taken from the experiments' folders."""
    parts = [f"<h1>{escape(title)}</h1>", _summary(outcomes, verdicts)]
    if verdicts:
        parts += ["<h2>Claims</h2>", _claims(verdicts, {name for o in outcomes for name in o.spec.figures})]
    parts += ["<h2>Experiments</h2>", *(_experiment(o, [v for v in verdicts if _of(v, o)]) for o in outcomes)]
    parts += ["<h2>How it was made</h2>", _making(outcomes, command)]
    page = f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{escape(title)}</title>"
    page += "<meta name='viewport' content='width=device-width'>"
    page += f"<style>{STYLE}</style>\n" + "\n".join(parts) + "</html>\n"
    with replacing(path) as file:
        file.write(page.encode())


def escape(value: Any) -> str:
    return html.escape(str(value))


def _of(verdict: Verdict, outcome: Outcome) -> bool:
    return verdict.claim.experiment == outcome.spec.name


def _summary(outcomes: Sequence[Outcome], verdicts: Sequence[Verdict]) -> str:
    sources = dict.fromkeys(source["source"] for outcome in outcomes for source in outcome.manifest["data"])
    counts = Counter(verdict.verdict for verdict in verdicts)
    said = ", ".join(f"{counts[name]} {_badge(name)}" for name in BADGES if counts[name])
    judged = f"<p>{len(verdicts)} claims judged: {said}.</p>" if verdicts else ""
    return f"{judged}<p class='small'>Data: {escape('; '.join(sources))}</p>"


def _badge(verdict: str) -> str:
    return f"<span class='badge {BADGES[verdict]}'>{verdict}</span>"


def notes(verdict: Verdict) -> list[str]:
    """What goes with a verdict: its condition, and whether the data are the paper's."""
    return [text for text in (verdict.condition, "on stand-in data" if verdict.stand_in else "") if text]


def _claims(verdicts: Sequence[Verdict], figures: set[str]) -> str:
    """One row a claim: the sentence, the paper's number, ours, the verdict, the figure."""
    rows = [
        (
            f"<b>{escape(v.claim.name)}</b><blockquote>{escape(v.claim.sentence)}</blockquote>",
            escape(v.claim.paper),
            escape(v.ours),
            _badge(v.verdict) + "".join(f"<div class='small'>{escape(text)}</div>" for text in notes(v)),
            f"<a href='#{v.claim.figure}'>{v.claim.figure}</a>" if v.claim.figure in figures else v.claim.figure,
        )
        for v in verdicts
    ]
    note = (
        "<p class='small'>Each claim is judged on a primary setting fixed in its experiment's file before it was run, "
        "never on the best of several. Where it fails there, conditions stated in advance are tried in order. Numbers "
        "in brackets are 95% intervals. What “holds” means for each, and all evidence, stands with its experiment "
        "below.</p>"
    )
    return note + _table(("Claim", "Paper", "Ours, primary setting", "Verdict", "Figure"), rows)


def _experiment(outcome: Outcome, verdicts: Sequence[Verdict]) -> str:
    spec = outcome.spec
    figures = [_figure(outcome.folder / f"{name}.png", name) for name in spec.figures]
    sources = "; ".join(dict.fromkeys(source["source"] for source in outcome.manifest["data"]))
    return "\n".join(
        [
            f"<h3 id='{escape(spec.name)}'>{escape(spec.title)}</h3>",
            f"<p>{escape(spec.about.strip())}</p><p class='small'>Data: {escape(sources)}</p>",
            *figures,
            *map(_evidence, verdicts),
            f"<details><summary>Numbers at the end</summary>{_numbers(outcome)}</details>",
            f"<details><summary>Settings</summary><pre>{escape(_settings(outcome))}</pre></details>",
        ]
    )


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
    table = _table(("Where", "Ours", "Holds"), rows)
    return f"<details><summary>{head}</summary>{rule}{table}</details>"


def _numbers(outcome: Outcome) -> str:
    """Every policy at every point of the grid, at the end."""
    spec, table = outcome.spec, outcome.table
    keys = [*spec.grid, "policy"]
    if spec.measure == "time":
        rows = [[*map(escape, key), f"{part['microseconds'][0]:.1f}"] for key, part in table.groups(*keys)]
        return _table((*map(_plain, keys), "microseconds"), rows, numbers=1)
    rows = [[*map(escape, key), *_means(part)] for key, part in table.final().groups(*keys)]
    return _table((*map(_plain, keys), *map(_plain, METRICS)), rows, numbers=len(METRICS))


def _means(part: Table) -> list[str]:
    return [escape(interval(units(part, metric))) for metric in METRICS]


def _plain(name: str) -> str:
    return escape(name.replace("problem.", "").replace("_", " ")) if name not in METRICS else escape(_symbol(name))


def _symbol(metric: str) -> str:
    """R_+ rather than the words of an axis."""
    symbols = ("R", "R_+", "V", "sum [g]_+", "N", "arms tried")
    return dict(zip(METRICS, symbols, strict=True))[metric]


def _settings(outcome: Outcome) -> str:
    spec = outcome.spec
    lines = [
        f"horizon {spec.horizon:,}, trials {spec.trials}, instances {spec.instances}, seed {spec.seed}",
        f"problem: {_listing(spec.problem)}",
        f"settings: {_listing(spec.settings) or 'the defaults of softbandit'}",
        *(f"policy {name}: {_listing(own) or 'defaults'}" for name, own in spec.policies.items()),
        *(f"grid {name}: {', '.join(map(label, values))}" for name, values in spec.grid.items()),
        f"primary: {_listing(spec.primary) or 'no grid'}",
        f"key {outcome.manifest['key']}",
    ]
    return "\n".join(lines)


def _listing(settings: Any) -> str:
    return ", ".join(f"{key} = {label(value)}" for key, value in settings.items())


def _making(outcomes: Sequence[Outcome], command: str) -> str:
    rows = [
        (
            f"<a href='#{o.spec.name}'>{o.spec.name}</a>",
            f"{o.manifest['seconds']:.0f} s",
            escape(o.manifest["finished"]),
            f"{o.spec.name}/{o.manifest['table']['file']} <code>{o.manifest['table']['sha256'][:12]}</code>",
        )
        for o in outcomes
    ]
    manifest = outcomes[0].manifest
    hashes = {source["source"]: source["sha256"] for o in outcomes for source in o.manifest["data"]}
    versions = ", ".join(f"{name} {number}" for name, number in manifest["versions"].items())
    return "\n".join(
        [
            f"<p>Run again with <code>{escape(command)}</code>. What is finished and unchanged is used again.</p>",
            f"<p class='small'>{escape(versions)}; {escape(manifest['machine']['system'])}, "
            f"{manifest['machine']['cores']} cores.</p>",
            _table(("Data", "sha256"), [(escape(name), f"<code>{escape(h)}</code>") for name, h in hashes.items()]),
            _table(("Experiment", "Took", "Finished", "Table"), rows),
        ]
    )


def _table(head: Iterable[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """An HTML table; the last `numbers` columns are set as numbers."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = []
    for row in rows:
        plain, last = row[: len(row) - numbers], row[len(row) - numbers :]
        cells = "".join(f"<td>{c}</td>" for c in plain) + "".join(f"<td class='number'>{c}</td>" for c in last)
        body.append(f"<tr>{cells}</tr>")
    return f"<table><tr>{top}</tr>{''.join(body)}</table>"
