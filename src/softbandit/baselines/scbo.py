"""Constrained Thompson sampling, by SCBO's selection rule."""

from collections.abc import Callable
from dataclasses import dataclass

from softbandit.backend import ArmMask, Draws, HostOnly
from softbandit.baselines.feasible_best import feasible_or_least_violating
from softbandit.model import PerConstraint
from softbandit.policies import About, Choice, State, StepPolicy


@dataclass(frozen=True, eq=False)
class ConstrainedTS(StepPolicy):
    """Samples f_t, g_t from the posteriors (of width 1 by default):

    x_t = argmax f_t(x)  over the arms with g_it(x) <= 0 for every i,
    or    argmin sum_i [g_it(x)]_+  if there is none.

    The posterior is calibrated to the noise, lambda = R^2, unless `regularisation` is given.

    Eriksson & Poloczek 2021, *Scalable Constrained Bayesian Optimization*, the selection rule
    alone, as in BoTorch's `ConstrainedMaxPosteriorSampling`: without trust regions, and without
    SCBO's transformations of the observations.
    """

    width: HostOnly[str | PerConstraint | Callable[[int], PerConstraint]] = 1.0

    explore = "ts"
    calibrated = True
    about = About(
        "the best feasible arm of one sample from all posteriors",
        "Eriksson & Poloczek 2021",
        "horizon",
        "none",
    )

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        f_t, g_t = self._estimates(state, draws)
        z = feasible_or_least_violating(f_t, g_t, among)
        return self._choice(self._best(z, draws), f_t, g_t)  # x_t
