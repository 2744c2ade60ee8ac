"""Rules that judge claims: each in words, and as a function of a table's rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from softbandit.backend.shapes import Floats
from softbandit.experiments.statistics import Interval, curves, exponent, growth_interval, interval, readable, units
from softbandit.experiments.tables import Table

SIMILAR = 0.10  # a regret at most this share above another counts as similar
EQUAL = 0.10  # a number counts as the paper's if its interval is within this share of it
LINEAR, QUADRATIC = 1.15, 1.7  # exponents of the cost in the number of arms: at most, at least
FIRST_ROUND = 100  # from which "at all times" counts


class Evidence(NamedTuple):
    """The result of a rule on a set of rows."""

    holds: bool | None  # None: too little data
    ours: str
    details: tuple[tuple[str, str], ...] = ()  # what was compared, and its number


class Rule(NamedTuple):
    """A criterion for a claim."""

    words: str  # what "holds" means
    apply: Callable[[Table], Evidence]


TOO_FEW = Evidence(None, "fewer than two trials or instances")


def better_or_similar(ours: Sequence[str], others: Sequence[str], metric: str, strictly: bool = False) -> Rule:
    """Each of ours has at most the regret of each of the others, up to SIMILAR; strictly: less."""

    def apply(rows: Table) -> Evidence:
        final, details, excess = rows.final(), [], {}
        for name in ours:
            for other in others:
                a, b = units(final, metric, policy=name), units(final, metric, policy=other)
                if len(a) < 2:
                    return TOO_FEW
                gap, level = interval(a - b), abs(float(b.mean()))
                worse = int((a - b > SIMILAR * np.abs(b)).sum())
                text = f"{gap}, of {readable(level)}; worse by over {SIMILAR:.0%} in {worse} of {len(a)}"
                details.append((f"{name} less {other}", text))
                excess[gap.high - (0.0 if strictly else SIMILAR * level)] = f"{name} less {other}: {gap}"
        return Evidence(max(excess) <= 0, f"at worst {excess[max(excess)]}", tuple(details))

    margin = "is below each of the others'" if strictly else f"exceeds each of the others' by at most {SIMILAR:.0%}"
    return Rule(f"R_+(T) {margin}, at the upper end of the 95% interval of the mean difference", apply)


def all_zero(policies: Sequence[str], metric: str) -> Rule:
    """The metric is 0 at the end of every trial."""

    def apply(rows: Table) -> Evidence:
        values = {name: rows.final().where(policy=name)[metric] for name in policies}
        shares = {name: float((v == 0).mean()) for name, v in values.items()}
        worst = min(shares, key=shares.__getitem__)
        ours = "0 in every trial" if shares[worst] == 1 else f"0 in {shares[worst]:.0%} of trials ({worst})"
        details = tuple((name, f"0 in {shares[name]:.0%}, mean {readable(v.mean())}") for name, v in values.items())
        return Evidence(shares[worst] == 1, ours, details)

    return Rule("it is 0 at the end of every trial of every policy named", apply)


def at_most(policies: Sequence[str], metric: str, limit: float) -> Rule:
    """The mean of the metric at the end is at most the limit, beyond chance."""

    def apply(rows: Table) -> Evidence:
        values = {name: units(rows.final(), metric, policy=name) for name in policies}
        if min(map(len, values.values())) < 2:
            return TOO_FEW
        means = {name: interval(v) for name, v in values.items()}
        worst = max(means, key=lambda name: means[name].mean)
        details = tuple((name, f"mean {means[name]}, median {readable(np.median(v))}") for name, v in values.items())
        highest = max(mean.high for mean in means.values())
        return Evidence(highest <= limit, f"at worst {means[worst]} ({worst})", details)

    return Rule(f"the upper end of the 95% interval of the mean is at most {limit:g}, for each policy", apply)


def equals(policy: str, metric: str, number: float) -> Rule:
    """The whole interval of the mean is near the number."""
    tolerance = max(0.5, EQUAL * number)

    def apply(rows: Table) -> Evidence:
        values = units(rows.final(), metric, policy=policy)
        if len(values) < 2:
            return TOO_FEW
        mean = interval(values)
        return Evidence(number - tolerance <= mean.low and mean.high <= number + tolerance, str(mean))

    return Rule(f"the 95% interval of the mean is within {tolerance:.2g} of {number:g}", apply)


def sublinear(policies: Sequence[str], metric: str) -> Rule:
    """The mean grows as t^p with p < 1, beyond chance, from T/10 to T."""

    def apply(rows: Table) -> Evidence:
        powers = {name: power for name in policies if (power := _growth(rows.where(policy=name), metric, (0.1, 1.0)))}
        if len(powers) < len(policies):
            return TOO_FEW
        worst = max(powers, key=lambda name: powers[name].mean)
        details = tuple((name, f"p = {power}") for name, power in powers.items())
        highest = max(power.high for power in powers.values())
        return Evidence(highest < 1, f"t^p, p at most {powers[worst]} ({worst})", details)

    return Rule("its mean grows as t^p from T/10 to T, with p < 1 at the upper end of the 95% interval", apply)


def linear_until(policy: str, metric: str, last: Callable[[float], float]) -> Rule:
    """The mean grows linearly from a tenth of round last(T) to that round."""

    def apply(rows: Table) -> Evidence:
        T = rows["round"].max()
        power = _growth(rows.where(policy=policy), metric, (last(T) / T / 10, last(T) / T))
        if power is None:
            return TOO_FEW
        return Evidence(power.low >= 0.9, f"t^p, p = {power}, up to round {last(T):.0f}")

    return Rule("its mean grows as t^p until then, with p >= 0.9 at the lower end of the 95% interval", apply)


def _growth(rows: Table, metric: str, span: tuple[float, float]) -> Interval | None:
    """Return the power between two rounds, which are shares of the last; None if there is too little data."""
    rounds, values = curves(rows, metric)
    at = [int(np.abs(rounds - share * rounds[-1]).argmin()) for share in span]
    ends = (float(rounds[at[0]]), float(rounds[at[1]]))
    return growth_interval(values[:, at], ends) if len(values) > 1 and ends[0] < ends[1] else None


def always_good(policy: str, among: Sequence[str], metric: str) -> Rule:
    """From FIRST_ROUND on, its mean is at most SIMILAR above the lowest one, or nearer to it than to the highest."""

    def apply(rows: Table) -> Evidence:
        means = {name: _late_means(rows.where(policy=name), metric) for name in among}
        values = np.stack([mean for _, mean in means.values()])
        best, worst = values.min(axis=0), values.max(axis=0)
        rounds, mean = means[policy]
        excess = mean - np.maximum(best + SIMILAR * np.abs(best), (best + worst) / 2)
        at = int(excess.argmax())
        ours = f"at its worst {readable(mean[at])}, best {readable(best[at])}, in round {rounds[at]:,.0f}"
        details = tuple((f"{name}, round {rounds[at]:,.0f}", readable(m[at])) for name, (_, m) in means.items())
        return Evidence(bool(excess[at] <= 0), ours, details)

    limit = f"at most {SIMILAR:.0%} above the best of the three, or nearer to it than to the worst"
    return Rule(f"from round {FIRST_ROUND} on, its mean R_+ is {limit}", apply)


def _late_means(rows: Table, metric: str) -> tuple[Floats, Floats]:
    """Return the rounds from FIRST_ROUND on (or the last), and the mean over the units in each."""
    rounds, values = curves(rows, metric)
    late = rounds >= min(FIRST_ROUND, rounds[-1])
    return rounds[late], values.mean(axis=0)[late]


def cost_in_arms(policies: Sequence[str], quadratic: bool) -> Rule:
    """Time per round grows with the number of arms n at most linearly, or at least quadratically."""

    def apply(rows: Table) -> Evidence:
        parts = {name: rows.where(policy=name) for name in policies}
        powers = {n: exponent(part["problem.arms"].astype(float), part["microseconds"]) for n, part in parts.items()}
        worst = (min if quadratic else max)(powers, key=powers.__getitem__)
        holds = powers[worst] >= QUADRATIC if quadratic else powers[worst] <= LINEAR
        details = tuple((name, f"n^{power:.2f}") for name, power in powers.items())
        return Evidence(holds, f"n^{powers[worst]:.2f} ({worst})", details)

    limit = f"p >= {QUADRATIC:g}" if quadratic else f"p <= {LINEAR:g}"
    return Rule(f"time per round grows as n^p with {limit}, over the upper half of the range", apply)


def as_fast_as(pairs: Mapping[str, str], factor: float) -> Rule:
    """At the largest number of arms a round takes at most that many times as long as the other policy's."""

    def apply(rows: Table) -> Evidence:
        largest = rows.where(**{"problem.arms": rows["problem.arms"].astype(float).max()})
        time = {name: float(part["microseconds"][0]) for (name,), part in largest.groups("policy")}
        ratios = {f"{name} / {other}": time[name] / time[other] for name, other in pairs.items()}
        worst = max(ratios, key=ratios.__getitem__)
        details = tuple((name, f"{ratio:.2f}") for name, ratio in ratios.items())
        return Evidence(ratios[worst] <= factor, f"{ratios[worst]:.2f} x ({worst})", details)

    return Rule(f"at the largest number of arms a round takes at most {factor:g} times the other's", apply)
