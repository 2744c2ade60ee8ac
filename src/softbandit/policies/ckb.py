"""CKB, the constrained kernelized bandit: Algorithms 1 and 2 of Zhou & Ji,
*On Kernelized Multi-Armed Bandits with Constraints*.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from softbandit.backend.namespace import drop_single, namespace, project, restrict, weighted_sum
from softbandit.backend.random import Draws
from softbandit.backend.shapes import Array
from softbandit.backend.ties import pick
from softbandit.backend.blas_threads import one_thread
from softbandit.domains.search import Objective, accuracy, search
from softbandit.model.continuous import Field, generator
from softbandit.model.explorations import Exploration
from softbandit.policies.base import TIE, About, Choice, State, StepPolicy
from softbandit.policies.dual import Dual, dual_rule
from softbandit.policies.dual_settings import checked_slack, dual_cap, inverse_step
from softbandit.theory.assumptions import Subject, Truth
from softbandit.theory.ledger import Guarantees, assess
from softbandit.theory.ledger_on_spaces import assess_on_space


@dataclass(frozen=True, eq=False)
class CKB(StepPolicy):
    """Maximise reward while each cost is at most zero on average.

    Parameters
    ----------
    arms
        The n actions, as rows of d features; or a `Box` or `Space` of them, which is searched each round.
    kernel, cost_kernel
        k with k(x, x) <= 1, for the reward; for the costs (one, or one a constraint) the same by default.
    explore, explore_cost
        The paper's A_f and A_g: "ucb", "ts", "rand", "greedy" or any `Exploration`; A_g defaults to A_f.
    reward_bound, cost_bound
        B and G: bounds on the functions' norms, hence on their sizes. G may be one a constraint.
    noise, cost_noise
        R: sub-Gaussian scales of the noise (the standard deviation, if Gaussian). The costs' default to the reward's.
    horizon
        T, the number of rounds. Use `Doubling` where it is not known.
    slater
        delta in (0, 1]: some mixture of arms keeps every cost at -delta or below.
    confidence
        alpha, the probability with which the guarantees may fail.
    regularisation
        lambda; one number, or one for the reward and each cost. Default 1 + 2 / T.
    width, width_scale
        beta_t: "theory", a number (or one an output), or a function of t = 1, 2, ...; and a factor on it.
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
        On a space: at most so many points stand for all that was seen, and the cost of a round stops growing;
        None for the exact posterior, O(t^2) in round t.
    factors
        Factorised kernels to reuse, one for each distinct kernel (see `features`); made anew by default.

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
    rho: float | None = None
    V: float | Sequence[float] | None = None
    slack: float = 0.0
    budget: int | None = None
    dual_rule: Dual = field(init=False, repr=False)

    takes_spaces: ClassVar[bool] = True
    about: ClassVar[About] = About(
        "primal-dual: the best reward less the price of the costs, at prices that follow the violation",
        "Zhou & Ji 2022",
        "horizon, Slater margin",
        "R_+ and violation O(sqrt(T)); see policy.guarantees()",
    )

    # -- Algorithm 1, with the paper's line numbers. Arrays are (trials, ...). --

    def init(self, trials: int) -> State:
        return State(0, self.dual_rule.start(trials), self.surrogate.prior(trials))

    def decide(self, state: State, draws: Draws, among: Array | None = None) -> Choice:
        xp = namespace(state.dual)
        if self.continuous:
            with one_thread():
                return self._decide_on_space(state, draws)
        h = self.surrogate.estimate(state.posterior, state.round + 1, draws)  # line 2: f_t, g_t
        phi = self.dual_rule.price(state.dual)
        z, f_bar, g_bar = self._acquisition(h, phi)  # lines 3-5

        def size(arm: Array) -> Array:
            """Of the terms of z at an arm."""
            _, f, g = self._choice(arm, f_bar, g_bar)
            return xp.abs(f) + xp.vecdot(phi, xp.abs(g))

        arm = self._best(restrict(z, among), draws, size, self._largest())  # line 6
        return self._choice(arm, f_bar, g_bar)

    def _acquisition(self, h: Array, phi: Array) -> tuple[Array, Array, Array]:
        """The pseudo-acquisition z (b, n), and the truncated estimates, of h (b, 1 + m, n) at any points."""
        B, G = self.bounds[0, 0], self.bounds[1:]
        f_bar = project(h[:, 0], -B, B)  # line 3: to [-B, B]
        g_bar = project(h[:, 1:], -G, G)  # line 4: to [-G, G]
        return f_bar - weighted(phi, g_bar), f_bar, g_bar  # line 5

    def _largest(self) -> Any:
        """What the terms of z can amount to, at most; None if there is no such number."""
        if self.dual_rule.cap is None:
            return None
        return 2 * (self.bounds[0, 0] + (self.dual_rule.cap * self.bounds[1:, 0]).sum())  # twice, for rounding

    def update(self, state: State, choice: Choice, reward: Array, cost: Array) -> State:
        dual = self.dual_rule.step(state.dual, choice.cost_estimate)  # line 7
        posterior = self._learn(state, choice, reward, cost)  # line 8
        return State(state.round + 1, dual, posterior)

    # -- The same where the arms are a space: estimates are functions, and line 6 is a search. --

    def acquisitions(self, state: State, draws: Draws) -> list[Objective]:
        """Each trial's pseudo-acquisition in this round, as a function on the space."""
        fields = self.surrogate.fields(state.posterior, state.round + 1, draws)  # line 2: f_t, g_t
        return [self._objective(h, phi) for h, phi in zip(fields, self.dual_rule.price(state.dual), strict=True)]

    def _objective(self, h: Field, phi: Array) -> Objective:
        B, weights = self.bounds[:, 0], np.append(1.0, -phi)

        def value(X: Array) -> Array:
            return self._acquisition(h(X).T[None], phi[None])[0][0]

        def slope(X: Array) -> tuple[Array, Array]:
            at, pull = h.linearised(X)
            inside = np.abs(at) < B  # a truncated estimate is flat
            return self._acquisition(at.T[None], phi[None])[0][0], pull(weights * inside)

        return Objective(value, slope if h.smooth else None, unit=float(B @ np.abs(weights)))

    def _decide_on_space(self, state: State, draws: Draws) -> Choice:
        B, t = float(self.bounds[0, 0]), state.round + 1
        fields = self.surrogate.fields(state.posterior, t, draws)  # line 2: f_t, g_t
        chosen, estimates = [], []
        for i, (h, phi) in enumerate(zip(fields, self.dual_rule.price(state.dual), strict=True)):
            z = self._objective(h, phi)
            near = self._best_so_far(state.posterior[i], phi)
            found = search(z, self.arms, near, generator(draws.uniform[i, -2]), accuracy(t, B))
            tied = found.values >= found.values.max() - TIE * z.unit
            u = draws.uniform[i : i + 1, -1] if self.ties == "random" else None
            chosen.append(found.points[pick(tied[None], u)])  # line 6
            _, *bars = self._acquisition(h(chosen[-1]).T[None], phi[None])
            estimates.append(bars)
        f_bar, g_bar = (np.concatenate(bars) for bars in zip(*estimates, strict=True))
        return Choice(np.concatenate(chosen), f_bar[:, 0], g_bar[:, :, 0])

    def _best_so_far(self, posterior: Any, phi: Array) -> Array:
        """The points seen, by z of their posterior means."""
        points, means = self.surrogate.seen(posterior)
        z, *_ = self._acquisition(means[None], phi[None])
        return points[np.argsort(-z[0], kind="stable")]

    # -- What is known of it. --

    def guarantees(self, problem: Truth | None = None) -> Guarantees:
        """The ledger of this policy's guarantee; with a problem, assumptions are verified on it.

        >>> import softbandit as sb
        >>> problem = sb.problems.rkhs(seed=1)
        >>> ledger = sb.CKB(**problem.settings(), horizon=1000).guarantees(problem)
        >>> ledger.covered, ledger.bound.theorem
        (True, 'Theorem 3.3')
        """
        modelled = self.surrogate.by_output()
        subject = Subject(
            name=f"{type(self).__name__} with {self.surrogate.describe()}",
            arms=self.arms,
            horizon=self.horizon,
            bound=self.bounds[:, 0],
            noise=self.surrogate.noise,
            regularisation=np.array([group.regularisation for group, _ in modelled]),
            features=() if self.continuous else [group.features for group, _ in modelled],
            explorations=[exploration for _, exploration in modelled],
            confidence=self.confidence,
            width=self.width,
            width_scale=self.width_scale,
            projected=self.dual == "projected",
            slater=self.slater,
            slack=self.slack,
            rho=float(self.rho or 0.0),
            V=np.atleast_1d(np.asarray(self.V, dtype=float)),
        )
        return assess_on_space(subject, problem, self.budget) if self.continuous else assess(subject, problem)

    # -- Settings: checked, and the paper's defaults where none are given. --

    def __post_init__(self) -> None:
        put = self._settle(self.explore, self.explore_cost, budget=self.budget)
        B, G = float(self.bounds[0, 0]), self.bounds[1:, 0]
        put("slack", checked_slack(self.slack, self.slater))
        needed = self.constraints > 0 and not (self.dual == "queue" and self.V is not None)
        rho = dual_cap(self.rho, B, self.slater, needed)
        V = inverse_step(self.V, G, self.horizon, rho)
        put("rho", rho)
        put("V", drop_single(V))
        put("dual_rule", dual_rule(self.dual, rho, V, self.slack))
