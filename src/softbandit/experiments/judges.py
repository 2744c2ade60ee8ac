"""Rules that judge claims: each in words, and as a function of a table's rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Concatenate, NamedTuple, ParamSpec

import numpy as np

from softbandit.backend import Floats
from softbandit.experiments.statistics import Interval, curves, exponent, growth_interval, interval, readable, units
from softbandit.experiments.tables import Table

SIMILAR = 0.10  # a regret at most this share above another counts as similar
EQUAL = 0.10  # a number counts as the paper's if its interval is within this share of it
FIRST_ROUND = 100  # from which "at all times" counts

P = ParamSpec("P")


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


def rule(words: str) -> Callable[[Callable[Concatenate[Table, P], Evidence]], Callable[P, Rule]]:
    """Turn a function of (rows, settings) into one that builds a rule from settings; the words may name some."""

    def decorate(judge: Callable[Concatenate[Table, P], Evidence]) -> Callable[P, Rule]:
        def build(*args: P.args, **kwargs: P.kwargs) -> Rule:
            return Rule(words.format(**kwargs), lambda rows: judge(rows, *args, **kwargs))

        return build

    return decorate


@rule("R_+(T) is below each of the others', at the upper end of the 95% interval of the mean difference")
def better(rows: Table, ours: Sequence[str], others: Sequence[str], metric: str) -> Evidence:
    return _compare(rows, ours, others, metric, margin=0.0)


@rule(
    f"R_+(T) exceeds each of the others' by at most {SIMILAR:.0%}, "
    "at the upper end of the 95% interval of the mean difference"
)
def better_or_similar(rows: Table, ours: Sequence[str], others: Sequence[str], metric: str) -> Evidence:
    return _compare(rows, ours, others, metric, margin=SIMILAR)


def _compare(rows: Table, ours: Sequence[str], others: Sequence[str], metric: str, margin: float) -> Evidence:
    """Compare each of ours with each of the others, which it may exceed by the margin, a share."""
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
            excess[gap.high - margin * level] = f"{name} less {other}: {gap}"
    return Evidence(max(excess) <= 0, f"at worst {excess[max(excess)]}", tuple(details))


@rule("it is 0 at the end of every trial of every policy named")
def all_zero(rows: Table, policies: Sequence[str], metric: str) -> Evidence:
    values = {name: rows.final().where(policy=name)[metric] for name in policies}
    shares = {name: float((v == 0).mean()) for name, v in values.items()}
    worst = min(shares, key=shares.__getitem__)
    ours = "0 in every trial" if shares[worst] == 1 else f"0 in {shares[worst]:.0%} of trials ({worst})"
    details = tuple((name, f"0 in {shares[name]:.0%}, mean {readable(v.mean())}") for name, v in values.items())
    return Evidence(shares[worst] == 1, ours, details)


@rule("the upper end of the 95% interval of the mean is at most {limit:g}, for each policy")
def at_most(rows: Table, policies: Sequence[str], metric: str, *, limit: float) -> Evidence:
    values = {name: units(rows.final(), metric, policy=name) for name in policies}
    if min(map(len, values.values())) < 2:
        return TOO_FEW
    means = {name: interval(v) for name, v in values.items()}
    worst = max(means, key=lambda name: means[name].mean)
    details = tuple((name, f"mean {means[name]}, median {readable(np.median(v))}") for name, v in values.items())
    highest = max(mean.high for mean in means.values())
    return Evidence(highest <= limit, f"at worst {means[worst]} ({worst})", details)


def equals(policy: str, metric: str, number: float) -> Rule:
    return _within(policy, metric, number=number, tolerance=max(0.5, EQUAL * number))


@rule("the 95% interval of the mean is within {tolerance:.2g} of {number:g}")
def _within(rows: Table, policy: str, metric: str, *, number: float, tolerance: float) -> Evidence:
    values = units(rows.final(), metric, policy=policy)
    if len(values) < 2:
        return TOO_FEW
    mean = interval(values)
    return Evidence(number - tolerance <= mean.low and mean.high <= number + tolerance, str(mean))


@rule("its mean grows as t^p from T/10 to T, with p < 1 at the upper end of the 95% interval")
def sublinear(rows: Table, policies: Sequence[str], metric: str) -> Evidence:
    powers = {name: power for name in policies if (power := _growth(rows.where(policy=name), metric, (0.1, 1.0)))}
    if len(powers) < len(policies):
        return TOO_FEW
    worst = max(powers, key=lambda name: powers[name].mean)
    details = tuple((name, f"p = {power}") for name, power in powers.items())
    highest = max(power.high for power in powers.values())
    return Evidence(highest < 1, f"t^p, p at most {powers[worst]} ({worst})", details)


@rule("its mean grows as t^p until then, with p >= 0.9 at the lower end of the 95% interval")
def linear_until(rows: Table, policy: str, metric: str, last: Callable[[float], float]) -> Evidence:
    """Judge the growth from a tenth of round last(T) to that round."""
    T = rows["round"].max()
    power = _growth(rows.where(policy=policy), metric, (last(T) / T / 10, last(T) / T))
    if power is None:
        return TOO_FEW
    return Evidence(power.low >= 0.9, f"t^p, p = {power}, up to round {last(T):.0f}")


def _growth(rows: Table, metric: str, span: tuple[float, float]) -> Interval | None:
    """Return the power between two rounds, which are shares of the last; None if there is too little data."""
    rounds, values = curves(rows, metric)
    at = [int(np.abs(rounds - share * rounds[-1]).argmin()) for share in span]
    ends = (float(rounds[at[0]]), float(rounds[at[1]]))
    return growth_interval(values[:, at], ends) if len(values) > 1 and ends[0] < ends[1] else None


@rule(
    f"from round {FIRST_ROUND} on, its mean R_+ is at most {SIMILAR:.0%} above the best of the three, "
    "or nearer to it than to the worst"
)
def always_good(rows: Table, policy: str, among: Sequence[str], metric: str) -> Evidence:
    means = {name: _late_means(rows.where(policy=name), metric) for name in among}
    values = np.stack([mean for _, mean in means.values()])
    best, worst = values.min(axis=0), values.max(axis=0)
    rounds, mean = means[policy]
    excess = mean - np.maximum(best + SIMILAR * np.abs(best), (best + worst) / 2)
    at = int(excess.argmax())
    ours = f"at its worst {readable(mean[at])}, best {readable(best[at])}, in round {rounds[at]:,.0f}"
    details = tuple((f"{name}, round {rounds[at]:,.0f}", readable(m[at])) for name, (_, m) in means.items())
    return Evidence(bool(excess[at] <= 0), ours, details)


def _late_means(rows: Table, metric: str) -> tuple[Floats, Floats]:
    """Return the rounds from FIRST_ROUND on (or the last), and the mean over the units in each."""
    rounds, values = curves(rows, metric)
    late = rounds >= min(FIRST_ROUND, rounds[-1])
    return rounds[late], values.mean(axis=0)[late]


@rule("time per round grows as n^p with p {sign} {limit:g}, over the upper half of the range")
def cost_in_arms(rows: Table, policies: Sequence[str], *, sign: str, limit: float) -> Evidence:
    parts = {name: rows.where(policy=name) for name in policies}
    powers = {n: exponent(part["problem.arms"].astype(float), part["microseconds"]) for n, part in parts.items()}
    worst = (max if sign == "<=" else min)(powers, key=powers.__getitem__)
    holds = powers[worst] <= limit if sign == "<=" else powers[worst] >= limit
    details = tuple((name, f"n^{power:.2f}") for name, power in powers.items())
    return Evidence(holds, f"n^{powers[worst]:.2f} ({worst})", details)


@rule("at the largest number of arms a round takes at most {factor:g} times the other's")
def as_fast_as(rows: Table, pairs: Mapping[str, str], *, factor: float) -> Evidence:
    largest = rows.where(**{"problem.arms": rows["problem.arms"].astype(float).max()})
    time = {name: float(part["microseconds"][0]) for (name,), part in largest.groups("policy")}
    ratios = {f"{name} / {other}": time[name] / time[other] for name, other in pairs.items()}
    worst = max(ratios, key=ratios.__getitem__)
    details = tuple((name, f"{ratio:.2f}") for name, ratio in ratios.items())
    return Evidence(ratios[worst] <= factor, f"{ratios[worst]:.2f} x ({worst})", details)
