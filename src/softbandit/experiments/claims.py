"""Claims, and how they are judged.

A claim is judged on its experiment's primary setting, fixed in the experiment's file. If it
fails there, conditions stated in advance are tried in order; the first under which it holds
is named in the verdict. All evidence is shown, whatever the verdict.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from softbandit.checks import Floats
from softbandit.experiments.runner import Outcome
from softbandit.experiments.statistics import Interval, curves, growth_interval, interval, readable, units
from softbandit.experiments.tables import Table

HOLDS, CONDITIONALLY, FAILS = "holds", "holds under a condition", "does not hold"
SIMILAR = 0.10  # a regret that is at most this share above another counts as similar
LINEAR, QUADRATIC = 1.15, 1.7  # exponents of the cost in the number of arms: at most, at least
CKB = ("ckb-ucb", "ckb-ts", "ckb-rand")
SAFE = ("stageopt", "sgp-ucb")


class Evidence(NamedTuple):
    """What a judge found on some rows."""

    holds: bool
    ours: str
    details: tuple[tuple[str, str], ...] = ()  # what was compared, and its number


Judge = Callable[[Table], Evidence]


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
    rule: str  # what "holds" means here
    experiment: str
    figure: str
    judge: Judge
    conditions: Sequence[Condition] = ()


class Verdict(NamedTuple):
    claim: Claim
    verdict: str
    ours: str  # on the primary setting
    condition: str  # under which it holds, if it needs one
    evidence: tuple[tuple[str, Evidence], ...]  # on the primary setting first, then under each condition


def judge(claim: Claim, outcome: Outcome) -> Verdict:
    """The verdict on a claim, from its experiment's table."""
    primary = dict(outcome.spec.primary)
    tried = [("primary setting", claim.judge(outcome.table.where(**primary)))]
    for condition in claim.conditions:
        rows = outcome.table.where(**{**primary, **condition.rows})
        if len(rows):
            tried.append((condition.words, claim.judge(rows)))
    under = next((words for words, evidence in tried[1:] if evidence.holds), "")
    verdict = HOLDS if tried[0][1].holds else CONDITIONALLY if under else FAILS
    return Verdict(claim, verdict, tried[0][1].ours, under if verdict == CONDITIONALLY else "", tuple(tried))


# -- Judges. Each takes what it compares and gives a function of a table's rows. --


def better_or_similar(ours: Sequence[str], others: Sequence[str], metric: str, strictly: bool = False) -> Judge:
    """Each of ours has on average at most the others' regret, up to SIMILAR; strictly: less, beyond chance."""

    def judge(rows: Table) -> Evidence:
        final, details, worst = rows.final(), [], (-np.inf, "")
        for one in ours:
            for other in others:
                a, b = units(final, metric, policy=one), units(final, metric, policy=other)
                gap, level = interval(a - b), abs(float(b.mean()))
                excess = gap.high if strictly else gap.mean - SIMILAR * level
                details.append((f"{one} less {other}", f"{gap}, of {readable(float(b.mean()))}"))
                worst = max(worst, (excess, f"{one} less {other}: {gap}"))
        return Evidence(worst[0] <= 0, f"at worst {worst[1]}", tuple(details))

    return judge


def all_zero(policies: Sequence[str], metric: str) -> Judge:
    """The metric is 0 at the end of every trial."""

    def judge(rows: Table) -> Evidence:
        final = rows.final()
        found = {name: final.where(policy=name)[metric] for name in policies}
        share = min(float((values == 0).mean()) for values in found.values())
        details = [
            (name, f"0 in {np.mean(v == 0):.0%} of trials, mean {readable(v.mean())}") for name, v in found.items()
        ]
        return Evidence(share == 1.0, f"0 in {share:.0%} of trials or more", tuple(details))

    return judge


def at_most(policies: Sequence[str], metric: str, limit: float) -> Judge:
    """The mean of the metric at the end is at most the limit, beyond chance."""

    def judge(rows: Table) -> Evidence:
        means = {name: interval(units(rows.final(), metric, policy=name)) for name in policies}
        medians = {name: np.median(rows.final().where(policy=name)[metric]) for name in policies}
        worst = max(means, key=lambda name: means[name].high)
        details = [(name, f"mean {mean}, median {readable(float(medians[name]))}") for name, mean in means.items()]
        return Evidence(means[worst].high <= limit, f"at most {means[worst]} ({worst})", tuple(details))

    return judge


def equals(policy: str, metric: str, number: float) -> Judge:
    """The number lies in the interval of the mean, or within a half of the mean."""

    def judge(rows: Table) -> Evidence:
        found = interval(units(rows.final(), metric, policy=policy))
        return Evidence(found.low - 0.5 <= number <= found.high + 0.5, str(found))

    return judge


def sublinear(
    policies: Sequence[str], metric: str, span: tuple[float, float] = (0.1, 1.0), limit: float = 1.0
) -> Judge:
    """The mean grows as t^p with p below the limit, beyond chance, between those shares of the horizon."""

    def judge(rows: Table) -> Evidence:
        powers = {name: _growth(rows.where(policy=name), metric, (0.1, 1.0)) for name in policies}
        worst = max(powers, key=lambda name: powers[name].high)
        return Evidence(
            powers[worst].high < 1,
            f"t^p with p at most {powers[worst]} ({worst})",
            tuple((name, f"p = {power}") for name, power in powers.items()),
        )

    return judge


def linear(policy: str, metric: str, last: Callable[[float], float]) -> Judge:
    """The mean grows linearly (p >= 0.95) from a tenth of round last(T) to that round."""

    def judge(rows: Table) -> Evidence:
        T = rows["round"].max()
        power = _growth(rows.where(policy=policy), metric, (last(T) / T / 10, last(T) / T))
        return Evidence(power.mean >= 0.95, f"t^p with p = {power} up to round {last(T):.0f}")

    return judge


def _growth(rows: Table, metric: str, span: tuple[float, float]) -> Interval:
    rounds, values = curves(rows, metric)
    at = [int(np.abs(rounds - share * rounds[-1]).argmin()) for share in span]
    ends = (float(rounds[at[0]]), float(rounds[at[1]]))
    return growth_interval(values[:, at], ends)


def always_good(policy: str, among: Sequence[str], metric: str) -> Judge:
    """From round 100 on, its mean is at most SIMILAR above the best one's, or nearer to it than to the worst one's."""

    def judge(rows: Table) -> Evidence:
        means = {name: _mean_from(rows.where(policy=name), metric, 100) for name in among}
        values = np.stack([mean for _, mean in means.values()])
        best, worst = values.min(axis=0), values.max(axis=0)
        rounds, own = means[policy]
        excess = own - np.maximum(best + SIMILAR * np.abs(best), (best + worst) / 2)
        at = int(excess.argmax())
        seen = [(f"{name}, round {rounds[at]:,.0f}", readable(mean[at])) for name, (_, mean) in means.items()]
        ours = f"at its worst {readable(own[at])}, best {readable(best[at])}, in round {rounds[at]:,.0f}"
        return Evidence(bool(excess[at] <= 0), ours, tuple(seen))

    return judge


def _mean_from(rows: Table, metric: str, first: int) -> tuple[Floats, Floats]:
    """Rounds from the first on, and the mean over the units in each."""
    rounds, values = curves(rows, metric)
    return rounds[rounds >= first], values.mean(axis=0)[rounds >= first]


def cost_in_arms(policies: Sequence[str], quadratic: bool) -> Judge:
    """Time a round grows with the number of arms n at most linearly, or at least quadratically."""

    def judge(rows: Table) -> Evidence:
        powers = {}
        for name in policies:
            own = rows.where(policy=name)
            n, t = own["problem.arms"].astype(float), own["microseconds"]
            top = n >= np.median(n)  # where the constant part is small
            powers[name] = float(np.polyfit(np.log(n[top]), np.log(t[top]), 1)[0])
        worst = min(powers, key=powers.__getitem__) if quadratic else max(powers, key=powers.__getitem__)
        good = powers[worst] >= QUADRATIC if quadratic else powers[worst] <= LINEAR
        details = tuple((name, f"n^{power:.2f}") for name, power in powers.items())
        return Evidence(good, f"n^{powers[worst]:.2f} ({worst})", details)

    return judge


def as_fast_as(policies: Sequence[str], other: str, factor: float) -> Judge:
    """At the largest number of arms a round takes at most that many times the other's."""

    def judge(rows: Table) -> Evidence:
        n = rows["problem.arms"].astype(float)
        largest = rows.where(**{"problem.arms": n.max()})
        base = float(largest.where(policy=other)["microseconds"][0])
        ratios = {name: float(largest.where(policy=name)["microseconds"][0]) / base for name in policies}
        worst = max(ratios, key=ratios.__getitem__)
        details = tuple((f"{name} / {other}", f"{ratio:.2f}") for name, ratio in ratios.items())
        return Evidence(ratios[worst] <= factor, f"{ratios[worst]:.2f} x {other} ({worst})", details)

    return judge
