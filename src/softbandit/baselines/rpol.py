"""RPOL: rectified pessimistic-optimistic learning."""

from dataclasses import dataclass

from softbandit.backend import OutputsPerArm, PerArm, PerCost, namespace, weighted_sum
from softbandit.policies import About, AcquisitionPolicy, Choice, State


@dataclass(frozen=True, eq=False)
class RPOL(AcquisitionPolicy):
    """Upper bound u_f of the reward, lower bounds l_i of the costs, Q_i(1) = 1:

    x_t      = argmax u_f(x) - sum_i Q_i(t) [l_i(x)]_+
    Q_i(t+1) = max(Q_i(t) + [c_i]_+, eta_t),    eta_t = sqrt(t)

    Guo, Zhu & Liu 2023, *Rectified Pessimistic-Optimistic Learning for Stochastic
    Continuum-armed Bandit with Constraints*. The start, the noisy cost c_i and eta_t are those of
    the RPOL in POBO's program, by the same first author (where a slip keeps Q from accumulating).
    """

    initial_dual = 1.0
    about = About(
        "upper bound of the reward less a growing penalty on certain violation",
        "Guo, Zhu & Liu 2023",
        "horizon",
        "sum of [g]_+ sublinear (as published)",
    )

    def acquisition(self, state: State, u_f: PerArm, l_g: OutputsPerArm) -> PerArm:
        return u_f - weighted_sum(state.dual, namespace(l_g).maximum(l_g, 0.0))

    def next_dual(self, state: State, choice: Choice, cost: PerCost) -> PerCost:
        xp = namespace(state.dual)
        eta = xp.sqrt(state.round + 1)
        return xp.maximum(state.dual + xp.maximum(cost, 0.0), eta)  # Q(t+1)
