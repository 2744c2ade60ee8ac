"""CKB for users who know neither the kernel nor the bounds: all of it is learned from the data, again and again.

Outside the theorem, which takes them as known; the ledger says so.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

import numpy as np

from softbandit import validation
from softbandit.backend import ArmMask, DrawCount, Draws, Floats, PerCost, PerTrial
from softbandit.domains import Domain
from softbandit.errors import ArgumentError
from softbandit.gp import Anchored, Exact, Fit, Kernel, Scaled, checked_kernel, fit
from softbandit.model import Exploration, probes
from softbandit.policies.base import MOST_CONSTRAINTS, About, Choice, State, Steps, check_size, without_tiny
from softbandit.policies.ckb import CKB
from softbandit.policies.dual import slater_margin

MOST_ROUNDS = 400  # used to fit hyperparameters, evenly spaced: more take minutes and add little
LEAST_LAMBDA = 1e-6
LEAST_SLATER = 0.05  # in units of a cost's scale, if the data show less


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The observations of one trial, in the user's units, and CKB as learned from the first `fitted` of them.

    Inside, outputs are in units of their scales, and the reward is less its offset; costs keep
    their zero, which is the constraint.
    """

    policy: "Practical"
    X: Floats  # (t, d)
    Y: Floats  # (t, 1 + m)
    fitted: int = 0
    units: Floats = field(default_factory=lambda: np.empty((0, 3)))  # of each output: scale, offset, lambda
    ckb: CKB | None = None
    posterior: tuple[Anchored, ...] = ()  # one per group of CKB's model

    @property
    def scale(self) -> Floats:
        return self.units[:, 0]

    @property
    def price_factor(self) -> Floats:
        """The factor (m,) from a dual in the user's units to one inside."""
        return np.asarray(self.scale[1:] / self.scale[0])

    def inside(self, Y: Floats) -> Floats:
        """Convert outputs from the user's units."""
        return np.asarray((Y - self.units[:, 1]) / self.scale)

    def observe(self, x: Floats, y: Floats) -> "Knowledge":
        """Return the knowledge after one more round; fitted again if that is due."""
        longer = replace(self, X=np.concatenate([self.X, x[None]]), Y=np.concatenate([self.Y, y[None]]))
        if self.policy.due(len(longer.X)):
            return longer.fit()
        if self.ckb is None:
            return longer
        posterior = self.ckb.model.condition((self.posterior,), x[None], self.inside(y)[None])[0]
        return replace(longer, posterior=posterior)

    def fit(self) -> "Knowledge":
        """Return the knowledge with CKB and its posteriors as learned from all rounds."""
        n = len(self.X)
        used = np.unique(np.linspace(0, n - 1, min(n, MOST_ROUNDS)).round().astype(int))
        fits = [
            self.policy.normalised(fit(self.policy.kernel, self.X[used], y, centred=i == 0))
            for i, y in enumerate(self.Y[used].T)
        ]
        units = np.array([(f.scale, f.offset, max(f.regularisation, LEAST_LAMBDA)) for f in fits])
        fresh = replace(self, units=units, fitted=n)
        Y = fresh.inside(self.Y)
        alone = [Exact.of(f.kernel, units[i, 2], self.X, Y[:, i : i + 1]) for i, f in enumerate(fits)]
        ckb = self.policy.tuned([f.kernel for f in fits], units, alone)
        posterior = tuple(
            Exact.of(prior.kernel, prior.regularisation, self.X, Y[:, outputs]) for outputs, prior in ckb.model.groups
        )
        return replace(fresh, ckb=ckb, posterior=posterior)

    def arrays(self) -> Iterator[Any]:
        """Iterate over what a file must hold."""
        yield from (self.X, self.Y, self.fitted)

    def refilled(self, values: Iterator[Any]) -> "Knowledge":
        """Return the knowledge in a file: CKB is fitted again to the same data, then observes the rounds since."""
        X, Y, n = next(values), next(values), int(next(values))
        if X.shape != (len(X), self.X.shape[1]) or Y.shape != (len(X), self.Y.shape[1]) or not 0 <= n <= len(X):
            raise ValueError(f"expected {self.X.shape[1]} and {self.Y.shape[1]} columns, got {X.shape} and {Y.shape}")
        if not (np.isfinite(X).all() and np.isfinite(Y).all()):
            raise ValueError("NaN in the data")
        known = replace(self, X=X[:n], Y=Y[:n])
        known = known.fit() if n else known
        for x, y in zip(X[n:], Y[n:], strict=True):
            known = known.observe(x, y)
        return known


@dataclass(frozen=True, eq=False)
class Practical(Steps):
    """CKB on a space, with kernel, noise, bounds, widths and Slater margin learned from the data.

    Deprecated, and removed in the next version: use `Autopilot`.

    The first rounds are uniformly random. Then each output gets a kernel of the given form, fitted
    by marginal likelihood (`fit`), and CKB is built on what follows: lambda = the noise's variance;
    B and G, the norms of the posterior means; the theory's width with them, times `width_scale`; and,
    unless given, the margin that the means show. All is learned again when the number of rounds has
    doubled, or every `relearn` rounds.

    Parameters
    ----------
    space
        A `Box` or `Space` that is searched.
    kernel
        Its form: one length scale per dimension lets them differ.
    horizon, constraints, confidence, dual, explore, explore_cost
        As for CKB.
    relearn
        "doubling", or a number of rounds.
    initial
        The number of random rounds; 2 (d + 1), and at least 8, by default.
    slater
        delta in the costs' units, if known.

    Examples
    --------
    >>> import softbandit as sb
    >>> policy = sb.Practical(sb.Box([0, 0], [1, 1]), sb.Matern([1.0, 1.0]), horizon=100)
    >>> policy.initial, policy.guarantees().covered
    (8, False)
    """

    space: Domain
    kernel: Kernel
    horizon: int
    constraints: int = 1
    explore: str | Exploration = "ucb"
    explore_cost: str | Exploration | None = None
    relearn: str | int = "doubling"
    initial: int | None = None
    width_scale: float = 0.1
    slater: float | None = None
    confidence: float = 0.1
    dual: str = "projected"
    arms: Domain = field(init=False, repr=False)
    template: CKB = field(init=False, repr=False)

    about = About(
        "CKB with kernel, noise, bounds and widths learned from the data",
        "Zhou & Ji 2022; marginal likelihood",
        "horizon",
        "none: the theorem takes them as known",
    )

    def __post_init__(self) -> None:
        remedy = "use sb.Autopilot(space, horizon=...), which needs no kernel and keeps its limits better"
        warnings.warn(f"Practical is deprecated; {remedy}.", DeprecationWarning, stacklevel=3)
        validation.instance("space", self.space, Domain, "a Box or a Space", "For example sb.Box([0, 0], [1, 1]).")
        checked_kernel("kernel", self.kernel)
        names = [f.name for f in fields(self) if f.init]
        validation.store(self, **{name: validation.plain(name, getattr(self, name)) for name in names})
        d = self.space.dimension
        initial = max(8, 2 * (d + 1)) if self.initial is None else self.initial
        validation.store(self, arms=self.space, initial=validation.whole("initial", initial, least=2))
        if isinstance(self.relearn, str):
            validation.named("relearn", self.relearn, dict.fromkeys(["doubling"]))
        else:
            validation.whole("relearn", self.relearn, least=1)
        if self.slater is not None:
            validation.positive("slater", self.slater)
        m = validation.whole("constraints", self.constraints, least=0, most=MOST_CONSTRAINTS)
        blank = np.array([[1.0, 0.0, 1.0 + i] for i in range(1 + m)])
        rough = Exact(self.kernel, 1.0, 1, d)
        kernel = self.normalised(Fit(self.kernel, 1, 0, 1, 0)).kernel
        object.__setattr__(self, "template", self.tuned([kernel] * (1 + m), blank, [rough]))
        if not self.template.continuous:
            remedy = "Its points are few: give CKB the space, which becomes finite arms."
            raise ArgumentError.of("space", "a space that is searched", self.space, remedy)

    def due(self, t: int) -> bool:
        """Return whether to learn again after t rounds."""
        first = cast(int, self.initial)
        if self.relearn == "doubling":
            return t % first == 0 and (t // first).bit_count() == 1
        return t >= first and (t - first) % cast(int, self.relearn) == 0

    def normalised(self, fit: Fit) -> Fit:
        """Return the fit with k(x, x) <= 1 on the space."""
        largest = float(fit.kernel.diag(probes(self.space)).max())
        if largest <= 1:
            return fit
        return replace(fit, kernel=Scaled(fit.kernel, 1 / largest), scale=fit.scale * math.sqrt(largest))

    def tuned(self, kernels: Sequence[Kernel], units: Floats, posterior: Sequence[Exact]) -> CKB:
        """Return CKB with the settings that the data suggest, in units of the outputs' scales.

        With lambda = R^2 the width is B + sqrt(2 (gain + 1 + ln((m + 1) / alpha))): that of the theory for R = 1.
        """
        bounds = [_norm(p) for p in posterior] + [1.0] * (len(kernels) - len(posterior))
        margin = _margin(posterior[1:]) if self.slater is None else float((self.slater / units[1:, 0]).min(initial=1.0))
        return CKB(
            self.space,
            kernels[0],
            cost_kernel=list(kernels[1:]),
            reward_bound=bounds[0],
            cost_bound=bounds[1:] if self.constraints else None,
            noise=1.0,
            regularisation=units[:, 2].tolist(),
            horizon=self.horizon,
            slater=slater_margin(min(margin, 1.0)),
            confidence=self.confidence,
            width_scale=self.width_scale,
            explore=self.explore,
            explore_cost=self.explore_cost,
            dual=self.dual,
            constraints=self.constraints,
        )

    def draws(self) -> DrawCount:
        normal, uniform = self.template.draws()
        return DrawCount(normal, max(uniform, self.space.dimension))

    def init(self, trials: int) -> State:
        blank = Knowledge(self, np.empty((0, self.space.dimension)), np.empty((0, 1 + self.constraints)))
        return State(0, np.zeros((trials, self.constraints)), (blank,) * trials)

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        per_trial = zip(state.posterior, state.dual, draws.normal, draws.uniform, strict=True)
        choices = [self._decide(k, state, dual, Draws(z[None], u[None])) for k, dual, z, u in per_trial]
        return Choice(*map(np.concatenate, zip(*choices, strict=True)))

    def _decide(self, known: Knowledge, state: State, dual: Floats, draws: Draws) -> Choice:
        if known.ckb is None:
            x = self.space.at(draws.uniform[:, : self.space.dimension])
            return Choice(x, np.zeros(1), np.zeros((1, self.constraints)))
        inside = State(state.round, dual[None] * known.price_factor, (known.posterior,))
        x, f, g = known.ckb.decide(inside, Draws(draws.normal, draws.uniform[:, : self.template.draws().uniform]))
        return Choice(x, f * known.scale[0] + known.units[0, 1], g * known.scale[1:])

    def update(self, state: State, choice: Choice, reward: PerTrial, cost: PerCost) -> State:
        per_trial = zip(state.posterior, state.dual, choice.cost_estimate, strict=True)
        dual = np.array([_next_dual(known, dual, g) for known, dual, g in per_trial]).reshape(state.dual.shape)
        Y = np.concatenate([reward[:, None], cost], axis=1)
        check_size(Y)
        Y = without_tiny(Y)
        observed = tuple(known.observe(x, y) for known, x, y in zip(state.posterior, choice.arm, Y, strict=True))
        return State(state.round + 1, dual, observed)

    def usable(self, state: State) -> bool:
        finite = all(np.isfinite(p.coefficients).all() for known in state.posterior for p in known.posterior)
        return bool(finite and np.isfinite(state.dual).all())

    def moments(self, state: State, points: Floats | None) -> tuple[Floats, Floats]:
        known: Knowledge = state.posterior[0]
        if known.ckb is None:
            raise ArgumentError.of("posterior", "rounds to learn from", len(known.X), "Play the first rounds.")
        mean, std = known.ckb.model.moments(known.posterior, points)
        return mean * known.scale[:, None] + known.units[:, 1:2], std * known.scale[:, None]


def _next_dual(known: Knowledge, dual: Floats, g: Floats) -> Floats:
    """Return the dual after a round, in the user's units."""
    if known.ckb is None:
        return dual
    inside = known.ckb.dual_rule.step(dual * known.price_factor, g / known.scale[1:])
    return np.asarray(inside / known.price_factor)


def _norm(posterior: Exact) -> float:
    """Return the larger of the posterior mean's norm, sqrt(alpha^T K alpha), and the largest output; at least 1."""
    if not posterior.t:
        return 1.0
    squared = float(np.sum(posterior.coefficients * posterior.fitted))
    return max(1.0, math.sqrt(max(squared, 0.0)), float(np.abs(posterior.y).max()))


def _margin(costs: Sequence[Exact]) -> float:
    """Return the largest margin by which the posterior means meet every constraint at an observed point."""
    if not costs or not costs[0].t:
        return 1.0
    means = np.concatenate([p.fitted for p in costs], axis=1)
    return max(LEAST_SLATER, float((-means.max(axis=1)).max()))
