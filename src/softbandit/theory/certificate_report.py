"""The certificate of one run: what is known now, with what probability, and what each line rests on."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from softbandit.backend import Bools, Floats
from softbandit.errors import ArgumentError
from softbandit.model import checked_confidence
from softbandit.policies import Policy, StepPolicy
from softbandit.theory import assumptions
from softbandit.theory.arm_elimination import plausible_arms
from softbandit.theory.assumptions import GIVEN, UNKNOWN, VERIFIED, VIOLATED, Row
from softbandit.theory.ledger import finite, listed
from softbandit.theory.optimum import largest_margin
from softbandit.theory.run_bounds import Bounds
from softbandit.theory.run_certificates import Knowledge, Ranges, certified_rounds
from softbandit.theory.run_model import Rounds, Run, step_of


@dataclass(frozen=True, eq=False)
class Certificate:
    """Statements about a run that hold at all times at once, so also at a time chosen by looking at them."""

    rounds: int
    observed: Floats  # (1 + m,): totals of reward and costs as observed
    violation: Floats  # (m, 2): interval of the total of each cost
    regret: float  # upper bound on R_+; infinite if there is none
    probability: float  # that all of it holds
    sums_rest_on: tuple[Row, ...]  # the assumptions behind the intervals, and behind the regret too
    regret_rests_on: tuple[Row, ...]  # further assumptions behind the bound on the regret
    bounds: Bounds | None = field(default=None, repr=False)  # over finite arms, (1 + m, n) each

    @property
    def assumptions(self) -> tuple[Row, ...]:
        return self.sums_rest_on + self.regret_rests_on

    @cached_property
    def plausible(self) -> Bools:
        """The arms (n,) that may still be in an optimal mixture: see `theory.plausible_arms`."""
        if self.bounds is None:
            raise ArgumentError.of("plausible", "finite arms, and norm bounds", None, "Ask agent.recommend().")
        return plausible_arms(self.bounds)

    def to_dict(self) -> dict[str, Any]:
        names = ("rounds", "regret", "probability")
        arrays = {"observed": self.observed.tolist(), "violation": self.violation.tolist()}
        rows = {"assumptions": [vars(row) for row in self.assumptions]}
        return {name: getattr(self, name) for name in names} | arrays | rows

    def to_json(self) -> str:
        """Return the certificate as JSON; an infinite number becomes null."""
        return json.dumps(finite(self.to_dict()), indent=2)

    def __str__(self) -> str:
        lines = [f"After {self.rounds:,} rounds, with probability at least {self.probability:g}, at all times:", ""]
        for i, (low, high) in enumerate(self.violation):
            name = "total cost" if len(self.violation) == 1 else f"total of cost {i}"
            lines.append(f"  {name:16} from {low:.4g} to {high:.4g} (observed: {self.observed[1 + i]:.4g})")
        per_round = f"at most {self.regret:.4g}, {self.regret / self.rounds:.3g} per round"
        lines.append(f"  {'regret R_+':16} {per_round if np.isfinite(self.regret) else 'no bound'}")
        lines += ["", "All of it rests on", *listed(self.sums_rest_on)]
        if self.regret_rests_on:
            lines += ["", "The regret also rests on", *listed(self.regret_rests_on)]
        return "\n".join(lines)


def certificate(policy: Policy, record: Rounds, confidence: float = 0.1, cost_range: Ranges = None) -> Certificate:
    """Return the certificate after all rounds of one trial."""
    run, alpha = Run.of(policy, record), checked_confidence(confidence)
    T = run.observed.shape[1]
    certified, known = certified_rounds(policy, run, alpha, [T], cost_range)
    step, sums = step_of(policy), tuple(_sum_rows(policy, cost_range))
    common = (T, certified.observed[0, 0], certified.violation[0, 0], float(certified.regret[0, 0]), 1 - alpha, sums)
    if step is None or known is None:
        return Certificate(*common, (Row("norm bounds", UNKNOWN, f"{type(policy).__name__} has none"),))
    return Certificate(*common, tuple(_regret_rows(step, known)), None if step.continuous else known.bounds)


def _sum_rows(policy: Policy, cost_range: Ranges) -> list[Row]:
    """Return the assumptions behind the totals."""
    step, rows = step_of(policy), []
    if cost_range is not None:
        rows.append(Row("costs within their range", GIVEN, f"{np.asarray(cost_range).tolist()}; all observed ones are"))
    elif step is not None:
        rows.append(assumptions.noise_row(step, None))
    return [*rows, Row("told whatever the outcome", GIVEN, "if and when a round is told does not depend on its noise")]


def _regret_rows(step: StepPolicy, known: Knowledge) -> list[Row]:
    rows = assumptions.norm_rows(step, None)
    rows += [_search_row(known)] if step.continuous else assumptions.kernel_rows(step)
    rows += [Row("f and g do not change", GIVEN, "the same in every round"), _agreement_row(known)]
    return [*rows, _feasibility_row(known)] if step.constraints else rows


def _search_row(known: Knowledge) -> Row:
    detail = f"searched for; the last search gained {known.resolution:.2g} per round, which is added"
    return Row("maximum over the space", UNKNOWN, detail)


def _agreement_row(known: Knowledge) -> Row:
    name = "bounds agree over time"
    if not known.contradictions.any():
        return Row(name, VERIFIED, "no lower bound exceeds an upper one")
    output = int(known.contradictions.any(axis=1).argmax())
    which = "the reward" if output == 0 else f"cost {output - 1}"
    return Row(name, VIOLATED, f"those of {which} do not: its norm bound, its kernel or the noise R is wrong")


def _feasibility_row(known: Knowledge) -> Row:
    name = "limits can be met"
    if np.isinf(known.value):
        return Row(name, VIOLATED, "no mixture of arms meets them, so there is no optimum to compare with")
    if largest_margin(known.bounds.upper[1:].T).margin >= 0:
        return Row(name, VERIFIED, "by some mixture, even at the upper bounds of the costs")
    return Row(name, UNKNOWN, "by some mixture at the lower bounds of the costs, by none at the upper ones")
