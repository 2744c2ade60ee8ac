"""PDCBO: primal-dual contextual Bayesian optimisation."""

from dataclasses import dataclass

import numpy as np

from softbandit import validation
from softbandit.backend import Draws, HostOnly, OutputsPerArm, PerArm, PerCost, Traced, namespace, weighted_sum
from softbandit.policies import About, AcquisitionPolicy, Choice, State


@dataclass(frozen=True, eq=False)
class PDCBO(AcquisitionPolicy):
    """Optimistic bounds u_f, l_i, with l_i at least -G_i; z_t is the context of the round:

    x_t           = argmax u_f(x, z_t) - eta sum_i lambda_i(t) l_i(x, z_t)
    lambda_i(t+1) = [lambda_i(t) + l_i(x_t, z_t) + epsilon]_+

    Arms are pairs (x, z): pass those of the round's context to `agent.ask(among=...)`, or
    give `simulate` a problem with contexts. Without contexts all arms are available.

    Xu, Jiang, Svetozarevic & Jones 2023, *Primal-Dual Contextual Bayesian Optimization for
    Control System Online Optimization with Time-Average Constraints*. The authors' class is not
    public. Their scripts set eta = 1 and lambda_1 = 0, or eta = 1/300 and lambda_1 = 10/300, with
    bounds of one standard deviation; the default eta = 1 / sqrt(T) is from memory of their theorem.
    That l_i stops at -G_i is from a public program, not theirs, for their later *Multi-Agent Bayesian
    Optimization with Coupled Black-Box and Affine Constraints*, which has the same steps.

    Parameters
    ----------
    step
        eta; 1 / sqrt(T) by default.
    start
        lambda_i(1), of every constraint.
    slack
        epsilon.
    """

    step: Traced[float | None] = None
    start: HostOnly[float] = 0.0
    slack: Traced[float] = 0.0

    about = About(
        "optimistic Lagrangian, with a dual that sums up optimistic costs; takes contexts",
        "Xu et al. 2023",
        "horizon (for the step)",
        "regret and time-average violation sublinear (as published)",
    )

    def _complete(self) -> None:
        step = self.horizon**-0.5 if self.step is None else validation.positive("step", self.step)
        self._set(step=step, slack=validation.nonnegative("slack", self.slack))
        validation.nonnegative("start", self.start)

    def init(self, trials: int) -> State:
        return super().init(trials)._replace(dual=np.full((trials, self.constraints), float(self.start)))

    def _estimates(self, state: State, draws: Draws) -> tuple[PerArm, OutputsPerArm]:
        u_f, l_g = super()._estimates(state, draws)
        return u_f, namespace(l_g).maximum(l_g, -self.bounds[1:])  # l_i >= -G_i

    def acquisition(self, state: State, u_f: PerArm, l_g: OutputsPerArm) -> PerArm:
        assert self.step is not None
        return u_f - weighted_sum(self.step * state.dual, l_g)

    def next_dual(self, state: State, choice: Choice, cost: PerCost) -> PerCost:
        return namespace(state.dual).maximum(state.dual + choice.cost_estimate + self.slack, 0.0)  # lambda(t+1)
