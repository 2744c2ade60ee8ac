"""The doubling trick: a policy that needs its horizon, run without one."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from softbandit import validation
from softbandit.policies.base import About, Stage, StepPolicy, WrappedPolicy
from softbandit.theory.assumptions import Truth
from softbandit.theory.bounds import Bound
from softbandit.theory.ledger import Guarantees


@dataclass(frozen=True, eq=False)
class Doubling(WrappedPolicy):
    """Run `policy` for its horizon H, then afresh for 2 H rounds, then 4 H, and so on.

    Each run has its own horizon, with the settings that follow from it, and forgets the
    runs before; a decision of an earlier run that is told late is learned from by the run
    in force, whose dual it moves. If regret and violation grow as c sqrt(T) with the horizon
    known, they grow at most as c sqrt(T) / (1 - 1 / sqrt(2)) = 3.42 c sqrt(T) here.

    >>> import numpy as np, softbandit as sb
    >>> policy = sb.CKB(np.eye(2), sb.Linear(), reward_bound=1, cost_bound=1, noise=1, horizon=100, slater=1)
    >>> [sb.Doubling(policy).stage(t).policy.horizon for t in (0, 99, 100, 299, 300)]
    [100, 100, 200, 200, 400]
    """

    about: ClassVar[About] = About(
        "a policy that needs its horizon, run afresh for twice as long again and again",
        "the doubling trick",
        "Slater margin; the length of the first run, as horizon",
        "that of the policy, times 3.42",
    )

    horizon: None = field(default=None, init=False)
    _runs: dict[int, StepPolicy] = field(default_factory=dict, init=False, repr=False)  # made when needed

    def __post_init__(self) -> None:
        self._wrap()

    @property
    def _first(self) -> int:
        """H, the length of the first run."""
        return self.policy.horizon

    def guarantees(self, problem: Truth | None = None, runs: int = 3) -> Guarantees:
        """The ledger for the first runs together: each has its own bound, and they add up."""
        ledgers = [
            self.policy.replace(horizon=self._first << k).guarantees(problem)
            for k in range(validation.whole("runs", runs, least=1))
        ]
        bounds = [ledger.bound for ledger in ledgers if ledger.bound is not None]
        T = sum(ledger.horizon for ledger in ledgers)
        last = replace(ledgers[-1], policy=f"Doubling of {ledgers[-1].policy}")
        if len(bounds) < len(ledgers):
            return last
        probability = 1 - sum(1 - bound.probability for bound in bounds)
        if probability <= 0:
            why_not = f"each of {runs} runs may fail, and together they leave no probability; lower confidence"
            return replace(last, bound=None, why_not=why_not, constants={})
        whole = Bound(
            theorem=f"{bounds[0].theorem}, in each of {len(bounds)} runs",
            probability=probability,
            regret=sum(bound.regret for bound in bounds),
            violation=sum(bound.violation for bound in bounds),
        )
        trivial = (last.trivial[0] * T / last.horizon, last.trivial[1] * T / last.horizon)
        return replace(last, horizon=T, bound=whole, trivial=trivial)

    def stage(self, round: int) -> Stage:
        H = self._first
        k = (round // H + 1).bit_length() - 1  # run k has rounds (2^k - 1) H to (2^(k+1) - 1) H
        if k not in self._runs:  # only the latest is kept
            self._runs.clear()
            self._runs[k] = self.policy.replace(horizon=H << k)
        return Stage(self._runs[k], H * ((1 << k) - 1), H * ((2 << k) - 1))
