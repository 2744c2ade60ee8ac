"""CONFIG: constrained efficient global optimisation with optimism in the constraints too."""

from dataclasses import dataclass

from softbandit.backend import ArmMask, Bools, Draws, namespace
from softbandit.baselines.feasible_best import feasible_or_least_violating
from softbandit.errors import Description, InfeasibleError, SoftbanditError
from softbandit.policies import About, Choice, State, StepPolicy


@dataclass(frozen=True, eq=False)
class CONFIG(StepPolicy):
    """Optimistic bounds u_f, l_i:

    x_t = argmax u_f(x)  subject to  l_i(x) <= 0 for every i.

    If no arm satisfies that, the problem is declared infeasible: an agent raises
    `InfeasibleError`; a simulation warns, and plays argmin sum_i [l_i(x)]_+.

    Xu, Jiang, Svetozarevic & Jones 2023, *Constrained Efficient Global Optimization of
    Expensive Black-box Functions*. The authors' program decides the same, up to the noise's variance,
    which it adds to the posterior's.
    """

    about = About(
        "the best upper bound of the reward among arms that may be feasible",
        "Xu et al. 2023",
        "horizon",
        "regret and sum of [g]_+ sublinear; declares infeasibility (as published)",
    )

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        u_f, l_g = self._estimates(state, draws)
        z = feasible_or_least_violating(u_f, l_g, among)
        return self._choice(self._best(z, draws), u_f, l_g)  # x_t

    def refuted(self, state: State) -> Bools:
        xp = namespace(state.dual)
        mean, half = self.model.confidence(state.posterior, state.round + 1)
        return ~xp.any(xp.all(mean[:, 1:] - half[:, 1:] <= 0, axis=1), axis=1)

    def objection(self) -> SoftbanditError:
        got = Description("a lower confidence bound above 0 for some cost of every arm")
        remedy = "The problem is infeasible, or a bound is wrong."
        return InfeasibleError.of(type(self).__name__, "some arm that may meet every constraint", got, remedy)
