"""Remarks that the user of a tuner should read."""

from collections.abc import Iterator

from softbandit.policies.autopilot_remarks import FIRST, is_far_within
from softbandit.policies.outlook import SURE, optimistic
from softbandit.policies.prices import limit_prices
from softbandit.tuner.deciding.evidence import Evidence
from softbandit.tuner.deciding.forecast import Forecast

RECENT = 20  # rounds of which too many failed
TOO_MANY = 0.25


def failures(evidence: Evidence) -> Iterator[str]:
    """Yield a remark if many of the last rounds failed."""
    recent = [row for row in evidence.rows[-RECENT:] if row.counts]
    failed = sum(row.metrics is None for row in recent)
    if failed > TOO_MANY * RECENT:
        yield f"{failed} of the last {len(recent)} rounds failed. Each is learned from as the worst seen so far."


def shifts(evidence: Evidence, noticed: list[int]) -> Iterator[str]:
    """Yield a remark on the last shift that was noticed."""
    if noticed:
        count = len(evidence) - noticed[-1]
        times = f" It is shift {len(noticed)}." if len(noticed) > 1 else ""
        yield f"What is measured has shifted. All but the last {count} measurements are forgotten.{times}"


def units(evidence: Evidence) -> Iterator[str]:
    """Yield a remark on each limit that what was measured never came near."""
    for limit, costs in zip(evidence.description.limits, evidence.costs_by_limit(), strict=True):
        if limit.is_linear and len(costs) >= FIRST and is_far_within(costs):
            low, high = map(limit.show, sorted(limit.measure(float(cost)) for cost in (costs.min(), costs.max())))
            yield (
                f"In {len(costs)} rounds {limit.metric} was between {low} and {high}, so the limit {limit.text} has no "
                "effect. Are both in the same unit?"
            )


def infeasible(evidence: Evidence, forecast: Forecast) -> Iterator[str]:
    """Yield a remark if no mixture of configurations meets the limits, even by optimistic estimates."""
    posterior, limits = forecast.posterior, evidence.description.limits
    if limit_prices(*optimistic(posterior.models, posterior.moments, SURE)).feasible:
        return
    violation = limit_prices(*optimistic(posterior.models, posterior.moments, 0.0)).violation
    least = [
        f"{limit.name} {limit.show(limit.measure(v))}" for limit, v in zip(limits, violation, strict=True) if v > 0
    ]
    aim = "is aimed at" if len(limits) == 1 else "the least total is aimed at"
    yield f"The limits cannot all be met. The least violation is about {', '.join(least)}, and {aim}."
