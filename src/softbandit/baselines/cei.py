"""Constrained expected improvement."""

import math
from dataclasses import dataclass

from softbandit.backend import ArmMask, Draws, namespace, operations, restrict
from softbandit.policies import About, Choice, State, StepPolicy

TINY = 1e-300  # in place of a standard deviation of 0


@dataclass(frozen=True, eq=False)
class ConstrainedEI(StepPolicy):
    """x_t = argmax EI(x) prod_i P(g_i(x) <= 0),  with the posterior's own normal distributions:

    EI(x)          = (mu_f - f+) Phi(z) + sigma_f phi(z),  z = (mu_f - f+) / sigma_f
    P(g_i(x) <= 0) = Phi(-mu_i / sigma_i)

    The posterior is calibrated to the noise, lambda = R^2, unless `regularisation` is given;
    widths are not used. f+ is the best posterior mean of the reward among arms whose mean costs
    are all <= 0 (a noisy observation is no incumbent); if there is none, the probability of
    feasibility alone is maximised.

    Gardner, Kusner, Xu, Weinberger & Cunningham 2014, *Bayesian Optimization with Inequality
    Constraints*. Its incumbent is the best feasible observation, and it has no rule for noise; here
    f+ may be at an arm that was never played, which explores less.
    """

    calibrated = True
    about = About(
        "expected improvement times the probability of feasibility",
        "Gardner et al. 2014",
        "horizon",
        "none",
    )

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        xp, ops = namespace(state.dual), operations(state.dual)
        mean, std = self.model.mean(state.posterior), self.model.std(state.posterior)
        mu_f, mu_g, sigma_f, sigma_g = mean[:, 0], mean[:, 1:], std[:, 0], std[:, 1:]
        feasible = restrict(mu_f, xp.all(mu_g <= 0, axis=1))
        incumbent = xp.max(restrict(feasible, among), axis=1)[:, None]  # f+
        known = incumbent > -float("inf")
        gain = xp.where(known, mu_f - xp.where(known, incumbent, 0.0), 0.0)
        z = gain / xp.where(sigma_f == 0, 1.0, sigma_f)
        pdf = xp.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        ei = xp.where(sigma_f == 0, xp.maximum(gain, 0.0), gain * ops.normal_cdf(z) + sigma_f * pdf)
        odds = -mu_g / xp.where(sigma_g == 0, TINY, sigma_g)
        chance = xp.sum(ops.log_normal_cdf(odds), axis=1)  # ln prod_i P(g_i <= 0): the product may underflow
        merit = xp.where(known, ei * xp.exp(chance), chance)
        return self._choice(self._best(restrict(merit, among), draws), mu_f, mu_g)  # x_t
