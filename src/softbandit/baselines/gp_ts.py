"""GP-TS: Thompson sampling without constraints."""

from dataclasses import dataclass

from softbandit.baselines.gp_ucb import GPUCB
from softbandit.policies import About


@dataclass(frozen=True, eq=False)
class GPTS(GPUCB):
    """x_t = argmax f_t(x),  f_t ~ GP(mu, beta_t^2 k_t): GP-UCB with another exploration.

    beta_t has ln(2 / alpha), where GP-UCB's has ln(1 / alpha).

    Chowdhury & Gopalan 2017, *On Kernelized Multi-armed Bandits*, Algorithm 2. Costs are
    neither modelled nor observed.
    """

    explore = "ts"
    width_share = 0.5
    about = About(
        "the best arm of a sample from the posterior of the reward; costs are ignored",
        "Chowdhury & Gopalan 2017",
        "horizon",
        "regret O(gamma_T sqrt(T ln n)) without constraints; none for the costs",
    )
