"""GP-UCB without constraints (IGP-UCB): a lower mark for regret, an upper one for violation."""

from dataclasses import dataclass

from softbandit.baselines.unconstrained import Unconstrained
from softbandit.policies.base import About


@dataclass(frozen=True, eq=False)
class GPUCB(Unconstrained):
    """x_t = argmax mu(x) + beta_t sigma(x).

    Chowdhury & Gopalan 2017, *On Kernelized Multi-armed Bandits*, Algorithm 1. Costs are
    neither modelled nor observed.
    """

    about = About(
        "the best upper confidence bound of the reward; costs are ignored",
        "Chowdhury & Gopalan 2017",
        "horizon",
        "regret O(gamma_T sqrt(T)) without constraints; none for the costs",
    )
