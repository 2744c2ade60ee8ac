"""The best mixture of arms by optimistic rewards and optimistic costs."""

from dataclasses import dataclass

from softbandit.backend import ArmMask, Draws
from softbandit.policies import About, Choice, State, StepPolicy
from softbandit.policies.mixture import best_mixture


@dataclass(frozen=True, eq=False)
class OptimisticLP(StepPolicy):
    """Optimistic bounds u_f, l_i:

    pi_t = argmax E_pi[u_f]  subject to  E_pi[l_i] <= 0 for every i
    x_t  ~ pi_t

    OPB's twin, without a safe arm: it aims at the optimum pi* directly, without a dual. If no
    mixture meets the constraints, pi_t has the least violation (see `best_mixture`). With
    contexts, pi_t is a mixture of the round's arms, and meets the constraints in every context.
    Of equally good mixtures it takes that of the first arms, whatever `ties` says.

    Agrawal & Devanur 2014, *Bandits with concave rewards and convex knapsacks*, and the
    literature on knapsacks after it, with a Gaussian process in place of independent arms.
    Written from the usual statement of it.
    """

    about = About(
        "a mixture by linear program: upper bounds of the reward, and lower bounds of the costs on average",
        "Agrawal & Devanur 2014",
        "horizon",
        "regret and violation sublinear (as published, for independent arms)",
    )

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        u_f, l_g = self._estimates(state, draws)
        arm = best_mixture(u_f, l_g, among).draw(draws.uniform[:, -1])  # x_t ~ pi_t
        return self._choice(arm, u_f, l_g)
