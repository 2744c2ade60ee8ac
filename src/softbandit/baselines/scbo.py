"""Constrained Thompson sampling, by SCBO's selection rule."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from softbandit.backend.random import Draws
from softbandit.backend.shapes import Array
from softbandit.baselines.memoryless import Memoryless
from softbandit.policies.base import About, Choice, State


@dataclass(frozen=True, eq=False)
class ConstrainedTS(Memoryless):
    """With f_t, g_t samples from the posteriors (of width 1 unless set otherwise):

    The posterior is calibrated to the noise, lambda = R^2, unless `regularisation` says otherwise.

    x_t = argmax f_t(x)  over the arms with g_it(x) <= 0 for every i,
    or    argmin sum_i [g_it(x)]_+  where there is none.

    Eriksson & Poloczek 2021, *Scalable Constrained Bayesian Optimization*, the selection rule
    on finite arms (without trust regions). Written from the usual statement of it.
    """

    width: str | float | Sequence[float] | Callable[[int], Any] = 1.0

    about: ClassVar[About] = About(
        "the best feasible arm of one sample from all posteriors",
        "Eriksson & Poloczek 2021",
        "horizon",
        "none",
    )

    def __post_init__(self) -> None:
        self._settle("ts", calibrated=True)

    def decide(self, state: State, draws: Draws, among: Array | None = None) -> Choice:
        h = self.surrogate.estimate(state.posterior, state.round + 1, draws)
        f_t, g_t = h[:, 0], h[:, 1:]
        return self._choice(self._feasible_or_least(f_t, g_t, among, draws), f_t, g_t)  # x_t
