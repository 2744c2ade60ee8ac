"""CKB, the constrained kernelized bandit: Algorithms 1 and 2 of Zhou & Ji,
*On Kernelized Multi-Armed Bandits with Constraints*.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from softbandit.arrays import Array, Draws, at, drop_single, namespace, project, restrict
from softbandit.dual import Dual, dual_rule
from softbandit.explore import Exploration
from softbandit.policy import About, Choice, State, StepPolicy
from softbandit.theory.assumptions import Subject, Truth
from softbandit.theory.ledger import Guarantees, assess
from softbandit.theory.slater import checked_slack, dual_cap, inverse_step


@dataclass(frozen=True, eq=False)
class CKB(StepPolicy):
    """Maximise reward while each cost is at most zero on average.

    Parameters
    ----------
    arms
        The n actions, as rows of d features.
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
    dual_rule: Dual = field(init=False, repr=False)

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
        h = self.surrogate.estimate(state.posterior, state.round + 1, draws)  # line 2: f_t, g_t
        f_bar = project(h[:, 0], -self.bounds[0], self.bounds[0])  # line 3: to [-B, B]
        g_bar = project(h[:, 1:], -self.bounds[1:], self.bounds[1:])  # line 4: to [-G, G]
        phi = self.dual_rule.price(state.dual)
        z = f_bar - xp.einsum("bm,bmn->bn", phi, g_bar)  # line 5: the pseudo-acquisition
        arm = self._best(  # line 6
            restrict(z, among), draws, size=lambda x: xp.abs(at(f_bar, x)) + xp.vecdot(phi, xp.abs(at(g_bar, x)))
        )
        return self._choice(arm, f_bar, g_bar)

    def update(self, state: State, choice: Choice, reward: Array, cost: Array) -> State:
        dual = self.dual_rule.step(state.dual, choice.cost_estimate)  # line 7
        posterior = self._learn(state, choice, reward, cost)  # line 8
        return State(state.round + 1, dual, posterior)

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
        return assess(
            Subject(
                name=f"{type(self).__name__} with {self.surrogate.describe()}",
                arms=self.arms,
                horizon=self.horizon,
                bound=self.bounds[:, 0],
                noise=self.surrogate.noise,
                regularisation=np.array([group.regularisation for group, _ in modelled]),
                features=[group.features for group, _ in modelled],
                explorations=[exploration for _, exploration in modelled],
                confidence=self.confidence,
                width=self.width,
                width_scale=self.width_scale,
                projected=self.dual == "projected",
                slater=self.slater,
                slack=self.slack,
                rho=float(self.rho or 0.0),
                V=np.atleast_1d(np.asarray(self.V, dtype=float)),
            ),
            problem,
        )

    # -- Settings: checked, and the paper's defaults where none are given. --

    def __post_init__(self) -> None:
        put = self._settle(self.explore, self.explore_cost)
        B, G = float(self.bounds[0, 0]), self.bounds[1:, 0]
        put("slack", checked_slack(self.slack, self.slater))
        needed = self.constraints > 0 and not (self.dual == "queue" and self.V is not None)
        rho = dual_cap(self.rho, B, self.slater, needed)
        V = inverse_step(self.V, G, self.horizon, rho)
        put("rho", rho)
        put("V", drop_single(V))
        put("dual_rule", dual_rule(self.dual, rho, V, self.slack))
