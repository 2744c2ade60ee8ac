"""Claims, and how they are judged.

A claim is judged on its experiment's primary setting, fixed in the experiment's file. If it
fails there, conditions stated in advance are tried in order; the first under which it holds
is named in the verdict. All evidence is shown, whatever the verdict. Too little data, or
another horizon than the claim's, is no verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from softbandit.experiments.judges import Evidence, Rule
from softbandit.experiments.runner import Outcome

HOLDS, CONDITIONALLY, FAILS, UNJUDGED = "holds", "holds under a condition", "does not hold", "not judged"


@dataclass(frozen=True)
class Condition:
    """A setting, or a part of the instances, in whose terms a claim may yet hold."""

    words: str
    rows: Mapping[str, Any]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and what decides it."""

    name: str
    sentence: str
    paper: str  # the paper's number
    experiment: str
    figure: str
    rule: Rule
    conditions: Sequence[Condition] = ()
    horizon: int | None = None  # the one that its number is of


class Verdict(NamedTuple):
    claim: Claim
    verdict: str
    ours: str  # on the primary setting
    condition: str  # under which it holds, if it needs one
    evidence: tuple[tuple[str, Evidence], ...]  # on the primary setting first, then under each condition
    stand_in: bool  # the data are not the paper's


def judge(claim: Claim, outcome: Outcome) -> Verdict:
    """The verdict on a claim, from its experiment's table."""
    primary = dict(outcome.spec.primary)
    tried = [("primary setting", claim.rule.apply(outcome.table.where(**primary)))]
    for condition in claim.conditions:
        rows = outcome.table.where(**{**primary, **condition.rows})
        if len(rows):
            tried.append((condition.words, claim.rule.apply(rows)))
    first = tried[0][1]
    under = next((words for words, evidence in tried[1:] if evidence.holds), "")
    verdict = UNJUDGED if first.holds is None else HOLDS if first.holds else CONDITIONALLY if under else FAILS
    ours = first.ours
    if claim.horizon not in (None, outcome.spec.horizon):
        verdict, ours = UNJUDGED, f"{ours} (of T = {outcome.spec.horizon:,}; the claim is of {claim.horizon:,})"
    stand_in = any(source["source"].startswith("stand-in") for source in outcome.manifest.get("data", ()))
    return Verdict(claim, verdict, ours, under if verdict == CONDITIONALLY else "", tuple(tried), stand_in)
