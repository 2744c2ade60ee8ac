"""GP-UCB without constraints (IGP-UCB): a lower mark for regret, an upper one for violation."""

from dataclasses import dataclass

from softbandit.backend import OutputsPerArm, PerArm
from softbandit.policies import About, AcquisitionPolicy, State


@dataclass(frozen=True, eq=False)
class GPUCB(AcquisitionPolicy):
    """x_t = argmax mu(x) + beta_t sigma(x).

    Chowdhury & Gopalan 2017, *On Kernelized Multi-armed Bandits*, Algorithm 1. Costs are
    neither modelled nor observed.
    """

    models_costs = False
    about = About(
        "the best upper confidence bound of the reward; costs are ignored",
        "Chowdhury & Gopalan 2017",
        "horizon",
        "regret O(gamma_T sqrt(T)) without constraints; none for the costs",
    )

    def acquisition(self, state: State, f: PerArm, g: OutputsPerArm) -> PerArm:
        return f
