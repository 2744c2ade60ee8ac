"""CKB, the constrained kernelized bandit: Algorithms 1 and 2 of Zhou & Ji,
*On Kernelized Multi-Armed Bandits with Constraints*.
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from softbandit import checks
from softbandit.arrays import Array, DrawCount, Draws, drop_single, namespace, pick, project
from softbandit.checks import Floats
from softbandit.dual import Dual, dual_rule
from softbandit.explore import Exploration
from softbandit.features import Features
from softbandit.kernels import Kernel
from softbandit.policy import Choice, State, StepPolicy
from softbandit.surrogate import MODEL_SETTINGS, Surrogate, model, norm_bounds
from softbandit.theory.ledger import Guarantees, Subject, Truth, assess
from softbandit.theory.slater import checked_slack, dual_cap, inverse_step

TIE = 1e-12  # acquisition values this close, relative to their terms, are ties


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

    arms: Floats
    kernel: Kernel
    _: KW_ONLY
    explore: str | Exploration = "ucb"
    explore_cost: str | Exploration | None = None
    reward_bound: float
    cost_bound: float | Sequence[float] | None = None
    noise: float
    cost_noise: float | Sequence[float] | None = None
    cost_kernel: Kernel | Sequence[Kernel] | None = None
    horizon: int
    slater: float | None = None
    confidence: float = 0.1
    regularisation: float | Sequence[float] | None = None
    width: str | float | Sequence[float] | Callable[[int], Any] = "theory"
    width_scale: float = 1.0
    dual: str = "projected"
    rho: float | None = None
    V: float | Sequence[float] | None = None
    slack: float = 0.0
    constraints: int = 1
    ties: str = "random"
    factors: Sequence[Features | Sequence[int]] | None = None
    surrogate: Surrogate = field(init=False, repr=False)
    dual_rule: Dual = field(init=False, repr=False)
    bounds: Floats = field(init=False, repr=False)  # (1 + m, 1): B, G_1, ..., G_m

    # -- Algorithm 1, with the paper's line numbers. Arrays are (trials, ...). --

    def init(self, trials: int) -> State:
        return State(0, self.dual_rule.start(trials), self.surrogate.prior(trials))

    def decide(self, state: State, draws: Draws) -> Choice:
        xp = namespace(state.dual)
        h = self.surrogate.estimate(state.posterior, state.round + 1, draws)  # line 2: f_t, g_t
        h_bar = project(h, -self.bounds, self.bounds)  # lines 3-4: to [-B, B], [-G, G]
        f_bar, g_bar = h_bar[:, 0], h_bar[:, 1:]
        phi = self.dual_rule.price(state.dual)
        z = f_bar - xp.einsum("bm,bmn->bn", phi, g_bar)  # line 5: the pseudo-acquisition
        x = self._argmax(z, f_bar, g_bar, phi, draws)  # line 6
        rows = xp.arange(x.shape[0])
        return Choice(x, f_bar[rows, x], g_bar[rows, :, x])

    def update(self, state: State, choice: Choice, reward: Array, cost: Array) -> State:
        xp = namespace(state.dual)
        dual = self.dual_rule.step(state.dual, choice.cost_estimate)  # line 7
        y = xp.concat([reward[:, None], cost], axis=1)
        posterior = self.surrogate.condition(state.posterior, choice.arm, y)  # line 8
        return State(state.round + 1, dual, posterior)

    def draws(self) -> DrawCount:
        normal, uniform = self.surrogate.draws()
        return DrawCount(normal, uniform + 1)  # the last one breaks ties

    def _argmax(self, z: Array, f_bar: Array, g_bar: Array, phi: Array, draws: Draws) -> Array:
        """A maximiser of each row of z, where rounding of the terms of z decides nothing."""
        xp = namespace(z)
        rows, best = xp.arange(z.shape[0]), xp.argmax(z, axis=1)
        size = xp.abs(f_bar[rows, best]) + xp.vecdot(phi, xp.abs(g_bar[rows, :, best]))
        tied = z >= (z[rows, best] - TIE * size)[:, None]
        return pick(tied, draws.uniform[:, -1] if self.ties == "random" else None)

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
                horizon=self.horizon,
                bound=self.bounds[:, 0],
                noise=self.surrogate.noise,
                regularisation=np.array([group.regularisation for group, _ in modelled]),
                features=[group.features for group, _ in modelled],
                explorations=[exploration for _, exploration in modelled],
                confidence=self.confidence,
                theory_width=self.width == "theory",
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
        put = self._remember_given()
        put("constraints", checks.whole("constraints", self.constraints, least=0))
        put("horizon", checks.whole("horizon", self.horizon, least=1, most=2**53))
        checks.named("ties", self.ties, dict.fromkeys(["random", "first"]))
        B, G = norm_bounds(self.reward_bound, self.cost_bound, self.constraints)
        put("bounds", np.append(B, G)[:, None])
        put("surrogate", model(**{name: getattr(self, name) for name in MODEL_SETTINGS}))
        queue = self.dual == "queue"
        put("slack", checked_slack(self.slack, self.slater))
        rho = dual_cap(self.rho, B, self.slater, needed=self.constraints > 0 and not (queue and self.V is not None))
        V = inverse_step(self.V, G, self.horizon, rho)
        put("rho", rho)
        put("V", drop_single(V))
        put("dual_rule", dual_rule(self.dual, rho, V, self.slack))
