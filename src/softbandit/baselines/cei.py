"""Constrained expected improvement."""

from dataclasses import dataclass
from typing import ClassVar

from softbandit.arrays import Array, Draws, namespace, normal_cdf, normal_pdf, restrict
from softbandit.baselines.memoryless import Memoryless
from softbandit.policy import About, Choice, State


@dataclass(frozen=True, eq=False)
class ConstrainedEI(Memoryless):
    """x_t = argmax EI(x) prod_i P(g_i(x) <= 0),  with the posterior's own normal distributions:

    EI(x)          = (mu_f - f+) Phi(z) + sigma_f phi(z),  z = (mu_f - f+) / sigma_f
    P(g_i(x) <= 0) = Phi(-mu_i / sigma_i)

    f+ is the best posterior mean of the reward among arms whose mean costs are all <= 0 (the
    noisy observations themselves are no incumbent); where there is none, the probability of
    feasibility alone is maximised.

    Gardner, Kusner, Xu, Weinberger & Cunningham 2014, *Bayesian Optimization with Inequality
    Constraints*.
    """

    about: ClassVar[About] = About(
        "expected improvement times the probability of feasibility",
        "Gardner et al. 2014",
        "nothing more",
        "none",
    )

    def __post_init__(self) -> None:
        self._settle()

    def decide(self, state: State, draws: Draws, among: Array | None = None) -> Choice:
        xp = namespace(state.dual)
        mean, std = self.surrogate.mean(state.posterior), self.surrogate.std(state.posterior)
        mu_f, mu_g, sigma_f, sigma_g = mean[:, 0], mean[:, 1:], std[:, 0], std[:, 1:]
        feasible = xp.all(mu_g <= 0, axis=1)
        known = xp.any(feasible, axis=1)[:, None]
        incumbent = xp.max(xp.where(feasible, mu_f, -float("inf")), axis=1)[:, None]
        gain = xp.where(known, mu_f - incumbent, 0.0)
        certain = sigma_f == 0
        z = gain / xp.where(certain, 1.0, sigma_f)
        ei = xp.where(certain, xp.maximum(gain, 0.0), gain * normal_cdf(z) + sigma_f * normal_pdf(z))
        likely = normal_cdf(-mu_g / xp.where(sigma_g == 0, 1.0, sigma_g))
        likely = xp.prod(xp.where(sigma_g == 0, (mu_g <= 0) * 1.0, likely), axis=1)
        arm = self._best(restrict(xp.where(known, ei, 1.0) * likely, among), draws)
        return self._choice(arm, mu_f, mu_g)
