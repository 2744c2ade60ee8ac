"""Claims, and how they are judged.

A claim is judged on its experiment's primary setting, which is fixed in the experiment's file.
If it fails there, conditions stated in advance are tried in order; the verdict names the first
under which it holds. All evidence is shown, whatever the verdict. There is no verdict on too
little data, or at another horizon than the claim's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from softbandit.experiments.judges import Evidence, Rule
from softbandit.experiments.runner import Outcome
from softbandit.experiments.spec import Settings

HOLDS, CONDITIONALLY, FAILS, UNJUDGED = "holds", "holds under a condition", "does not hold", "not judged"


@dataclass(frozen=True)
class Condition:
    """A setting, or a subset of the instances, under which a claim may hold."""

    words: str
    rows: Settings


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and the rule that decides it."""

    name: str
    sentence: str
    paper: str  # the paper's number
    experiment: str
    figure: str
    rule: Rule
    conditions: Sequence[Condition] = ()
    horizon: int | None = None  # of the paper's number


class Verdict(NamedTuple):
    """A judged claim."""

    claim: Claim
    verdict: str
    ours: str  # on the primary setting
    condition: str  # under which it holds, if it needs one
    evidence: tuple[tuple[str, Evidence], ...]  # on the primary setting first, then under each condition
    stand_in: bool  # the data are not the paper's

    @property
    def notes(self) -> list[str]:
        """The condition, and whether the data are a stand-in."""
        return [text for text in (self.condition, "on stand-in data" if self.stand_in else "") if text]


def judge(claim: Claim, outcome: Outcome) -> Verdict:
    """Judge a claim on its experiment's table."""
    primary = dict(outcome.spec.primary)
    evidence = [("primary setting", claim.rule.apply(outcome.table.where(**primary)))]
    for condition in claim.conditions:
        rows = outcome.table.where(**{**primary, **condition.rows})
        if len(rows):
            evidence.append((condition.words, claim.rule.apply(rows)))
    first = evidence[0][1]
    condition_met = next((words for words, result in evidence[1:] if result.holds), "")
    verdict = UNJUDGED if first.holds is None else HOLDS if first.holds else CONDITIONALLY if condition_met else FAILS
    ours = first.ours
    if claim.horizon not in (None, outcome.spec.horizon):
        verdict, ours = UNJUDGED, f"{ours} (at T = {outcome.spec.horizon:,}; the claim is for {claim.horizon:,})"
    stand_in = any(source.startswith("stand-in") for source in outcome.sources)
    return Verdict(claim, verdict, ours, condition_met if verdict == CONDITIONALLY else "", tuple(evidence), stand_in)
