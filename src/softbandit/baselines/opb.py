"""OPB: the best mixture of arms by optimistic rewards and pessimistic costs."""

from dataclasses import dataclass, field

import numpy as np

from softbandit import validation
from softbandit.backend import ArmMask, Draws, Floats, HostOnly, Traced, namespace
from softbandit.baselines.safe_seed import Seeded
from softbandit.errors import ArgumentError
from softbandit.model import PerConstraint
from softbandit.policies import About, Choice, State
from softbandit.policies.mixture import best_mixture


@dataclass(frozen=True, eq=False)
class OPB(Seeded):
    """Optimistic-pessimistic bandit. The seed's arms x_0 have a known cost c_0 < 0:

    pi_t = argmax E_pi[mu_f + alpha_r beta sigma_f]  subject to  E_pi[u_i] <= 0 for every i,  with u_i(x_0) = c_0i
    x_t  ~ pi_t

    So it mixes an arm whose cost may be high with as much of x_0 as makes up for it. Of equally
    good mixtures it takes that of the first arms, whatever `ties` says.

    Pacchiano, Ghavamzadeh, Bartlett & Jiang 2021, *Stochastic Bandits with Linear Constraints*,
    after the author's program for arms without a model, which has alpha_r = 1 + 1 / (margin of
    x_0) too; there rewards and costs are in [0, 1], and bounds are cut off at 1. Gaussian
    processes in place of independent arms, and several constraints, are this library's.

    Parameters
    ----------
    safe_cost
        c_0: the cost of the seed's arms, or an upper bound of it; one number, or one per constraint, below 0.
    inflation
        alpha_r; 1 + 1 / min_i |c_0i| by default.
    """

    safe_cost: HostOnly[PerConstraint | None] = None
    inflation: Traced[float | None] = None
    known_cost: Traced[Floats] = field(init=False, repr=False)  # (m, 1): c_0

    about = About(
        "a mixture by linear program: upper bounds of the reward, and upper bounds of the costs on average",
        "Pacchiano et al. 2021",
        "a safe arm and its cost; horizon",
        "expected cost at most 0 in every round, with probability 1 - alpha",
    )

    def _complete(self) -> None:
        super()._complete()
        cost = validation.numbers("safe_cost", self.safe_cost, self.constraints) if self.constraints else np.empty(0)
        if (cost >= 0).any():
            remedy = "The margin of the seed is what other arms' costs are balanced with."
            raise ArgumentError.of("safe_cost", "numbers below 0", self.safe_cost, remedy)
        default = 1 + 1 / validation.positive("safe_cost", float(-cost.max())) if self.constraints else 1.0
        inflation = default if self.inflation is None else validation.positive("inflation", self.inflation)
        self._set(known_cost=cost[:, None], inflation=inflation)

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        xp = namespace(state.dual)
        mean, half = self.model.confidence(state.posterior, state.round + 1)
        u_f = mean[:, 0] + self.inflation * half[:, 0]
        u_g = xp.where(self.known_safe, self.known_cost, mean[:, 1:] + half[:, 1:])
        arm = best_mixture(u_f, u_g).draw(draws.uniform[:, -1])  # x_t ~ pi_t
        return self._choice(arm, u_f, u_g)
