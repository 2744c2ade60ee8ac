"""EPBO: exact penalty Bayesian optimisation."""

from dataclasses import dataclass
from typing import ClassVar

from softbandit import checks
from softbandit.arrays import Array, Draws, namespace, restrict
from softbandit.baselines.memoryless import Memoryless
from softbandit.policy import About, Choice, State


@dataclass(frozen=True, eq=False)
class EPBO(Memoryless):
    """With u_f, l_i the optimistic bounds:

    x_t = argmax u_f(x) - rho sum_i [l_i(x)]_+

    Lu & Paulson 2022, *No-regret Bayesian optimization with unknown equality and inequality
    constraints using exact penalty functions*. Written from a summary of it.

    Parameters
    ----------
    penalty
        rho, which must exceed the optimal dual; 4 B / delta by default, as for CKB.
    """

    penalty: float | None = None

    about: ClassVar[About] = About(
        "upper bound of the reward less a fixed penalty on certain violation",
        "Lu & Paulson 2022",
        "a penalty above the optimal dual, or the Slater margin",
        "penalised regret sublinear (as published)",
    )

    def __post_init__(self) -> None:
        from softbandit.theory.slater import dual_cap

        put = self._settle()
        put("penalty", dual_cap(self.penalty, float(self.bounds[0, 0]), self.slater, needed=self.constraints > 0))
        checks.nonnegative("penalty", 0.0 if self.constraints == 0 else self.penalty)

    def decide(self, state: State, draws: Draws, among: Array | None = None) -> Choice:
        xp = namespace(state.dual)
        h = self.surrogate.estimate(state.posterior, state.round + 1, draws)
        u_f, l_g = h[:, 0], h[:, 1:]
        z = u_f - self.penalty * xp.sum(xp.maximum(l_g, 0.0), axis=1) if self.constraints else u_f
        return self._choice(self._best(restrict(z, among), draws), u_f, l_g)
