"""The status of a tuner, computed from its rounds and from what it has learned."""

from collections import Counter
from collections.abc import Sequence

from softbandit.domains import Values
from softbandit.tuner.deciding.decider import Decider
from softbandit.tuner.reporting.intervals import Interval
from softbandit.tuner.reporting.status import LimitStatus, Recommended, Status
from softbandit.tuner.rounds import Round, Rounds
from softbandit.tuner.words.description import Description


def status_of(name: str, rounds: Rounds, decider: Decider) -> Status:
    """Return the status of a tuner. With contexts, what is recommended is for the context of the last round."""
    description, listed = decider.description, list(rounds.by_id.values())
    context = listed[-1].context if listed else None
    learned = decider.has_learned and (description.context is None or context is not None)
    prices = decider.prices(context) if learned else {}
    costs = zip(description.limits, decider.evidence.costs_by_limit(), strict=True)
    reward, baseline, gain = mean_rewards(description, listed)
    return Status(
        name=name,
        goal=description.goal,
        metric=description.metric,
        paused=rounds.paused,
        counts=count_rounds(listed, len(rounds.observed)),
        pending=list(rounds.pending),
        reward=reward,
        baseline=baseline,
        gain=gain,
        limits=[LimitStatus.of(limit, counted, prices.get(limit.text)) for limit, counted in costs],
        recommended=recommended(decider, context) if learned else None,
        notes=[*decider.notes(context), *last_failure(listed)],
    )


def recommended(decider: Decider, context: Values | None) -> Recommended:
    """Return the values to keep in a context, and what is expected of them."""
    best, gain = decider.recommend(context), decider.gain_over_baseline(context)
    limits = [Interval(*estimate) for estimate in best.limits]
    over_baseline = None if gain is None else Interval(*gain)
    alternating = None if best.alternating is None else Interval(*best.alternating.metric)
    return Recommended(best.values, context, Interval(*best.metric), over_baseline, limits, best.feasible, alternating)


def last_failure(rounds: Sequence[Round]) -> list[str]:
    failed = [r for r in rounds if r.status == "failed"]
    return [f"The last failure was round {failed[-1].id}: {failed[-1].reason}"] if failed else []


def mean_rewards(description: Description, rounds: Sequence[Round]) -> tuple[Interval | None, ...]:
    """Return the metric's mean over rounds with other values than the baseline and with these, and the gain."""
    told = [(r.values, r.metrics[description.metric]) for r in rounds if r.metrics and description.metric in r.metrics]
    played = [value for values, value in told if values != description.baseline]
    base = [value for values, value in told if values == description.baseline]
    gain = Interval.of_difference([description.sign * v for v in played], [description.sign * v for v in base])
    return Interval.of(played), Interval.of(base), gain


def count_rounds(rounds: Sequence[Round], observed: int) -> dict[str, int]:
    """Return the number of rounds by status, and that of observations without an ask."""
    counts = Counter(r.status for r in rounds)
    names = {"told": "told", "failed": "failed", "expired": "expired", "asked": "pending"}
    return {name: counts[status] for status, name in names.items()} | {"observed besides": observed}
