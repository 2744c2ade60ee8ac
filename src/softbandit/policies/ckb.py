"""CKB, the constrained kernelized bandit: Algorithms 1 and 2 of Zhou & Ji,
*On Kernelized Multi-Armed Bandits with Constraints*.
"""

from dataclasses import dataclass, field

import numpy as np

from softbandit import validation
from softbandit.backend.blas_threads import one_thread
from softbandit.backend.random import Draws
from softbandit.backend.shapes import ArmIndex, ArmMask, Floats, OutputsPerArm, PerArm, PerCost, PerTrial
from softbandit.backend.ties import best_arm
from softbandit.backend.traced_fields import Traced
from softbandit.backend.vocabulary import drop_single, namespace, restrict, weighted_sum
from softbandit.domains import Objective, accuracy, maximise
from softbandit.gp import Anchored
from softbandit.model import Exploration, Field, PerConstraint, generator
from softbandit.policies.base import About, Choice, State, StepPolicy
from softbandit.policies.dual import RULES, Dual, checked_slack, dual_cap, dual_rule, inverse_step


@dataclass(frozen=True, eq=False)
class CKB(StepPolicy):
    """Maximise reward while each cost is at most zero on average.

    Parameters
    ----------
    arms
        The n actions, as rows of d features; or a `Box` or `Space` of them, which is searched each round.
    kernel, cost_kernel
        k with k(x, x) <= 1, for the reward; for the costs (one, or one per constraint) the same by default.
    explore, explore_cost
        The paper's A_f and A_g: "ucb", "ts", "rand", "greedy" or any `Exploration`; A_g defaults to A_f.
    reward_bound, cost_bound
        B and G: bounds on the functions' norms, hence on their sizes. G may be one per constraint.
    noise, cost_noise
        R: sub-Gaussian scales of the noise (the standard deviation, if Gaussian). The costs' default to the reward's.
    horizon
        T, the number of rounds. Use `Doubling` if it is not known.
    slater
        delta in (0, 1]: some mixture of arms keeps every cost at -delta or below.
    confidence
        alpha, the probability with which the guarantees may fail.
    regularisation
        lambda; one number, or one per output. Default 1 + 2 / T or, with the tight width, 10 R^2 / B^2.
    width, width_scale
        beta_t: "theory" (the paper's), "tight" (as valid, and much narrower), a number (or one per output), or a
        function of t = 1, 2, ...; and a factor on it.
    dual_feedback
        What moves the dual: "estimate" (the paper's optimistic g_t) or "measured" (the observed cost, so that
        the price rises whenever the limit is exceeded, whatever the model believes).
    dual, rho, V
        "projected" (Algorithm 1, the dual in [0, rho]) or "queue" (Algorithm 2); the dual's cap, 4 B / delta
        by default, and its inverse step size, G sqrt(T) / rho by default.
    slack
        epsilon <= delta / 2: aim at costs below -epsilon, which trades reward for less violation.
    constraints
        m, the number of costs. With 0 this is IGP-UCB ("ucb") or GP-TS ("ts").
    ties
        "random" or "first": which of the maximisers to choose.
    budget
        On a space: the number of points that represent all observations, so that the cost of a round stops growing;
        None for the exact posterior, O(t^2) in round t.
    factors
        Factorised kernels to reuse, one per distinct kernel (see `theory.features`). By default they are computed, if
        the rank is low or functions are sampled.

    Examples
    --------
    >>> import softbandit as sb
    >>> arms = np.linspace(0, 1, 100)[:, None]
    >>> policy = sb.CKB(arms, sb.SquaredExponential(0.2), reward_bound=1, cost_bound=1, noise=0.1,
    ...                 horizon=1000, slater=0.5)
    >>> policy.rho, round(policy.V, 6)
    (8.0, 3.952847)
    """

    explore: str | Exploration = "ucb"
    explore_cost: str | Exploration | None = None
    dual: str = "projected"
    dual_feedback: str = "estimate"
    rho: Traced[float | None] = None
    V: Traced[PerConstraint | None] = None
    slack: Traced[float] = 0.0
    budget: int | None = None
    dual_rule: Traced[Dual] = field(init=False, repr=False)

    takes_spaces = True
    about = About(
        "primal-dual: the best reward less the price of the costs, at prices that follow the violation",
        "Zhou & Ji 2022",
        "horizon, Slater margin",
        "R_+ and violation O(sqrt(T)); see policy.guarantees()",
    )

    # -- Algorithm 1, with the paper's line numbers. --

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        if self.continuous:
            with one_thread():
                return self._decide_on_space(state, draws)
        h = self.model.estimate(state.posterior, state.round + 1, draws)  # line 2: f_t, g_t
        phi = self.dual_rule.price(state.dual)
        z, f_bar, g_bar = self._acquisition(h, phi)  # lines 3-5

        def scale(arm: ArmIndex) -> PerTrial:
            """Return the sum of the magnitudes of z's terms at an arm."""
            xp, (_, f, g) = namespace(phi), self._choice(arm, f_bar, g_bar)
            return xp.abs(f) + xp.vecdot(phi, xp.abs(g))

        arm = self._best(restrict(z, among), draws, scale)  # line 6
        return self._choice(arm, f_bar, g_bar)

    def _acquisition(self, h: OutputsPerArm, phi: PerCost) -> tuple[PerArm, PerArm, OutputsPerArm]:
        """Return the pseudo-acquisition z and the truncated estimates, given h at any arms or points."""
        B, G = self.bounds[0, 0], self.bounds[1:]
        f_bar = h[:, 0].clip(-B, B)  # line 3: to [-B, B]
        g_bar = h[:, 1:].clip(-G, G)  # line 4: to [-G, G]
        return f_bar - weighted_sum(phi, g_bar), f_bar, g_bar  # line 5

    def update(self, state: State, choice: Choice, reward: PerTrial, cost: PerCost) -> State:
        heard = cost if self.dual_feedback == "measured" else choice.cost_estimate
        dual = self.dual_rule.step(state.dual, heard)  # line 7
        posterior = self._learn(state, choice, reward, cost)  # line 8
        return State(state.round + 1, dual, posterior)

    # -- The same on a space: estimates are functions, and line 6 is a search. --

    def acquisitions(self, state: State, draws: Draws) -> list[Objective]:
        """Return each trial's pseudo-acquisition in this round, as a function on the space."""
        fields = self.model.fields(state.posterior, state.round + 1, draws)  # line 2: f_t, g_t
        return [self._objective(h, phi) for h, phi in zip(fields, self.dual_rule.price(state.dual), strict=True)]

    def _objective(self, h: Field, phi: Floats) -> Objective:
        B, weights = self.bounds, np.append(1.0, -phi)[:, None]

        def value_at(X: Floats) -> Floats:
            return np.asarray(self._acquisition(h(X)[None], phi[None])[0][0])

        def slope_at(X: Floats) -> tuple[Floats, Floats]:
            at_x, pull = h.linearised(X)
            inside = np.abs(at_x) < B  # a truncated estimate is flat
            return self._acquisition(at_x[None], phi[None])[0][0], pull(weights * inside)

        return Objective(value_at, slope_at if h.smooth else None, unit=float(B[:, 0] @ np.abs(weights[:, 0])))

    def _decide_on_space(self, state: State, draws: Draws) -> Choice:
        fields = self.model.fields(state.posterior, state.round + 1, draws)  # line 2: f_t, g_t
        per_trial = zip(fields, self.dual_rule.price(state.dual), state.posterior, draws.uniform, strict=True)
        choices = [self._search(*trial, state.round + 1) for trial in per_trial]
        return Choice(*map(np.concatenate, zip(*choices, strict=True)))

    def _search(self, h: Field, phi: Floats, posterior: tuple[Anchored, ...], uniform: Floats, t: int) -> Choice:
        """Return one trial's choice; the last two uniform numbers seed the search and break ties."""
        z, B = self._objective(h, phi), float(self.bounds[0, 0])
        evaluated = maximise(z, self.arms, self._by_acquisition(posterior, phi), generator(uniform[-2]), accuracy(t, B))
        tie_break = uniform[-1:] if self.ties == "random" else None
        x = evaluated.points[best_arm(evaluated.values[None], tie_break, lambda _: np.array([z.unit]))]  # line 6
        _, f_bar, g_bar = self._acquisition(h(x)[None], phi[None])
        return Choice(x, f_bar[:, 0], g_bar[:, :, 0])

    def _by_acquisition(self, posterior: tuple[Anchored, ...], phi: Floats) -> Floats:
        """Return the points observed so far, sorted by z of their posterior means."""
        points, means = self.model.observed(posterior)
        z, *_ = self._acquisition(means[None], phi[None])
        return np.asarray(points[np.argsort(-z[0], kind="stable")])

    # -- Settings: the paper's defaults where none are given. --

    def _complete(self) -> None:
        B, G = float(self.bounds[0, 0]), self.bounds[1:, 0]
        validation.named("dual_feedback", self.dual_feedback, dict.fromkeys(["estimate", "measured"]))
        validation.named("dual", self.dual, RULES)
        self._set(slack=checked_slack(self.slack, self.slater))
        needed = self.constraints > 0 and not (self.dual == "queue" and self.V is not None)
        rho = dual_cap(self.rho, B, self.slater, needed)
        V = inverse_step(self.V, G, self.horizon, rho)
        self._set(rho=rho, V=drop_single(V), dual_rule=dual_rule(self.dual, rho, V, self.slack))
