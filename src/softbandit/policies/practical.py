"""CKB for users who know neither the kernel nor the bounds: all of it is learned from the data, again and again.

Outside the theorem, which takes them as known; the ledger says so.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np

from softbandit import validation
from softbandit.backend.random import DrawCount, Draws
from softbandit.backend.shapes import Array
from softbandit.domains.spaces import Domain
from softbandit.errors import ArgumentError
from softbandit.gp.exact import Exact
from softbandit.gp.fitting import Fit, fit
from softbandit.gp.kernels import Kernel, Scaled
from softbandit.model.from_settings import probes
from softbandit.policies.base import About, Choice, Policy, Stage, State
from softbandit.policies.ckb import CKB
from softbandit.policies.dual_settings import slater_margin
from softbandit.theory.assumptions import VIOLATED, Row, Truth
from softbandit.theory.ledger import Guarantees
from softbandit.backend.shapes import Floats

MOST = 400  # rounds that hyperparameters are learned from, evenly taken: more take minutes and tell little more
LEAST_LAMBDA = 1e-6
LEAST_SLATER = 0.05  # in units of a cost's scale, where the data show less


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What one trial has seen, in the user's units, and CKB as learned from the first `fitted` rounds of it.

    Inside, outputs are in units of their scales, and the reward is less its offset; costs keep
    their zero, which is the constraint.
    """

    policy: "Practical"
    X: Floats  # (t, d)
    Y: Floats  # (t, 1 + m)
    fitted: int = 0
    units: Floats = field(default_factory=lambda: np.empty((0, 3)))  # of each output: scale, offset, lambda
    ckb: CKB | None = None
    posterior: tuple[Exact, ...] = ()

    @property
    def scale(self) -> Floats:
        return self.units[:, 0]

    @property
    def price(self) -> Floats:
        """What a dual in the user's units is multiplied by inside: (m,)."""
        return np.asarray(self.scale[1:] / self.scale[0])

    def inside(self, Y: Floats) -> Floats:
        return np.asarray((Y - self.units[:, 1]) / self.scale)

    def seen(self, x: Floats, y: Floats) -> "Knowledge":
        """After one more round; learned anew where that is due."""
        X, Y = np.concatenate([self.X, x[None]]), np.concatenate([self.Y, y[None]])
        if self.policy.due(len(X)):
            return replace(self, X=X, Y=Y, fitted=len(X)).learned()
        inner = tuple(each.condition(x, self.inside(y)[i : i + 1]) for i, each in enumerate(self.posterior))
        return replace(self, X=X, Y=Y, posterior=inner)

    def learned(self) -> "Knowledge":
        """With hyperparameters, bounds and CKB from the first `fitted` rounds, and a posterior of all."""
        X, Y, n = self.X[: self.fitted], self.Y[: self.fitted], self.fitted
        some = np.unique(np.linspace(0, n - 1, min(n, MOST)).round().astype(int))
        fits = [
            self.policy.normalised(fit(self.policy.kernel, X[some], y, centred=i == 0)) for i, y in enumerate(Y[some].T)
        ]
        units = np.array([(each.scale, each.offset, max(each.regularisation, LEAST_LAMBDA)) for each in fits])
        units[:, 2] *= 1 + 1e-12 * np.arange(len(units))  # no two alike: each output keeps a posterior of its own
        new = replace(self, units=units)
        inside = new.inside(Y)
        posterior = [
            Exact.of(each.kernel, lam, X, inside[:, i : i + 1])
            for i, (each, lam) in enumerate(zip(fits, units[:, 2], strict=True))
        ]
        ckb = self.policy.tuned([each.kernel for each in fits], units, posterior)
        for x, y in zip(self.X[n:], new.inside(self.Y[n:]), strict=True):
            posterior = [each.condition(x, y[i : i + 1]) for i, each in enumerate(posterior)]
        return replace(new, ckb=ckb, posterior=tuple(posterior))

    def arrays(self) -> Iterator[Any]:
        yield from (self.X, self.Y, self.fitted)

    def refilled(self, values: Iterator[Any]) -> Self:
        """What was learned is learned again from the same data, which gives the same."""
        X, Y, fitted = next(values), next(values), int(next(values))
        if X.shape != (len(X), self.X.shape[1]) or Y.shape != (len(X), self.Y.shape[1]) or not 0 <= fitted <= len(X):
            raise ValueError(f"expected {self.X.shape[1]} and {self.Y.shape[1]} columns, got {X.shape} and {Y.shape}")
        if not (np.isfinite(X).all() and np.isfinite(Y).all()):
            raise ValueError("NaN in the data")
        raw = replace(self, X=X, Y=Y, fitted=fitted)
        return cast(Self, raw.learned() if fitted else raw)


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The posterior in the user's units, as an agent shows it."""

    factors: Sequence[Any] = ()

    def usable(self, posterior: Sequence[Knowledge]) -> bool:
        return all(np.isfinite(each.coefficients).all() for own in posterior for each in own.posterior)

    def moments(self, own: Knowledge, X: Floats) -> tuple[Floats, Floats]:
        if own.ckb is None:
            raise ArgumentError.of("posterior", "rounds to learn from", len(own.X), "Play the first rounds.")
        mean, std = own.ckb.surrogate.moments(tuple(own.posterior), X)
        return mean * own.scale[:, None] + own.units[:, 1:2], std * own.scale[:, None]


@dataclass(frozen=True, eq=False)
class Practical(Policy):
    """CKB on a space, with kernel, noise, bounds, widths and Slater margin learned from the data.

    The first rounds are uniformly random. Then each output gets a kernel of the given form, fitted
    by marginal likelihood (`fit`), and CKB is built on what follows: lambda = the noise's variance;
    B and G, the norms of the posterior means; the theory's width with them, times `width_scale`; and,
    unless given, the margin that the means show. All is learned anew when the number of rounds has
    doubled, or every `relearn` rounds.

    Parameters
    ----------
    space
        A `Box` or `Space` that is searched.
    kernel
        Its form: one length scale for each dimension lets each have its own.
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

    space: Any
    kernel: Kernel
    horizon: int
    constraints: int = 1
    explore: Any = "ucb"
    explore_cost: Any = None
    relearn: str | int = "doubling"
    initial: int | None = None
    width_scale: float = 0.1
    slater: float | None = None
    confidence: float = 0.1
    dual: str = "projected"
    arms: Any = field(init=False, repr=False)
    surrogate: Beliefs = field(default_factory=Beliefs, init=False, repr=False)
    template: CKB = field(init=False, repr=False)

    about: ClassVar[About] = About(
        "CKB with kernel, noise, bounds and widths learned from the data",
        "Zhou & Ji 2022; marginal likelihood",
        "horizon",
        "none: the theorem takes them as known",
    )

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        if not isinstance(self.space, Domain):
            raise ArgumentError.of("space", "a Box or a Space", self.space, "For example sb.Box([0, 0], [1, 1]).")
        put("arms", self.space)
        d = self.space.dimension
        put(
            "initial",
            max(8, 2 * (d + 1)) if self.initial is None else validation.whole("initial", self.initial, least=2),
        )
        if self.relearn != "doubling":
            validation.whole("relearn", self.relearn, least=1)
        if self.slater is not None:
            validation.positive("slater", self.slater)
        m = validation.whole("constraints", self.constraints, least=0)
        blank = np.array([[1.0, 0.0, 1.0 + i] for i in range(1 + m)])
        rough = Exact(self.kernel, 1.0, 1, d)
        put("template", self.tuned([self.normalised(Fit(self.kernel, 1, 0, 1, 0)).kernel] * (1 + m), blank, [rough]))
        if not self.template.continuous:
            remedy = "Its points are few: give CKB the space, which becomes finite arms."
            raise ArgumentError.of("space", "a space that is searched", self.space, remedy)

    def due(self, t: int) -> bool:
        """Whether to learn anew after t rounds."""
        first = cast(int, self.initial)
        if self.relearn == "doubling":
            return t % first == 0 and (t // first).bit_count() == 1
        return t >= first and (t - first) % cast(int, self.relearn) == 0

    def normalised(self, found: Fit) -> Fit:
        """With k(x, x) <= 1 on the space."""
        most = float(found.kernel.diag(probes(self.space)).max())
        if most <= 1:
            return found
        return replace(found, kernel=Scaled(found.kernel, 1 / most), scale=found.scale * math.sqrt(most))

    def tuned(self, kernels: Sequence[Kernel], units: Floats, posterior: Sequence[Exact]) -> CKB:
        """CKB with the settings that the data suggest, in units of the outputs' scales.

        With lambda = R^2 the width is B + sqrt(2 (gain + 1 + ln((m + 1) / alpha))): that of the theory for R = 1.
        """
        bounds = [_norm(each) for each in posterior] + [1.0] * (len(kernels) - len(posterior))
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

    def stage(self, round: int) -> Stage:
        return Stage(cast(Any, self), 0, math.inf)

    def draws(self) -> DrawCount:
        normal, uniform = self.template.draws()
        return DrawCount(normal, max(uniform, self.space.dimension))

    def init(self, trials: int) -> State:
        blank = Knowledge(self, np.empty((0, self.space.dimension)), np.empty((0, 1 + self.constraints)))
        return State(0, np.zeros((trials, self.constraints)), (blank,) * trials)

    def decide(self, state: State, draws: Draws, among: Array | None = None) -> Choice:
        own = [
            self._decide(each, state, dual, Draws(normal[None], uniform[None]))
            for each, dual, normal, uniform in zip(
                state.posterior, state.dual, draws.normal, draws.uniform, strict=True
            )
        ]
        return Choice(*(np.concatenate(parts) for parts in zip(*own, strict=True)))

    def _decide(self, own: Knowledge, state: State, dual: Floats, draws: Draws) -> Choice:
        if own.ckb is None:
            x = self.space.at(draws.uniform[:, : self.space.dimension])
            return Choice(x, np.zeros(1), np.zeros((1, self.constraints)))
        inside = State(state.round, dual[None] * own.price, (own.posterior,))
        x, f, g = own.ckb.decide(inside, Draws(draws.normal, draws.uniform[:, : self.template.draws().uniform]))
        return Choice(x, f * own.scale[0] + own.units[0, 1], g * own.scale[1:])

    def update(self, state: State, choice: Choice, reward: Array, cost: Array) -> State:
        dual = np.array(
            [
                each if own.ckb is None else own.ckb.dual_rule.step(each * own.price, g / own.scale[1:]) / own.price
                for own, each, g in zip(state.posterior, state.dual, choice.cost_estimate, strict=True)
            ]
        ).reshape(state.dual.shape)
        Y = np.concatenate([reward[:, None], cost], axis=1)
        seen = tuple(own.seen(x, y) for own, x, y in zip(state.posterior, choice.arm, Y, strict=True))
        return State(state.round + 1, dual, seen)

    def refuted(self, state: State) -> None:
        return None

    def guarantees(self, problem: Truth | None = None) -> Guarantees:
        """The ledger: what is learned from the data is what the theorem takes as known."""
        names = ["kernel", "norms B and G", "noise R", "widths", "rho and V" if self.constraints else ""]
        rows = tuple(Row(name, VIOLATED, "learned from the data") for name in names if name)
        why_not = "practical mode: kernel, bounds, noise and widths come from the data; the theorem takes them as known"
        return Guarantees("Practical CKB", self.horizon, rows, "not decided", "outside the theorem", None, why_not)


def _norm(posterior: Exact) -> float:
    """The norm of the posterior mean, sqrt(alpha^T K alpha), or the largest output: whichever is larger; at least 1."""
    if not posterior.t:
        return 1.0
    squared = float(np.sum(posterior.coefficients * posterior.fitted))
    return max(1.0, math.sqrt(max(squared, 0.0)), float(np.abs(posterior.y).max()))


def _margin(costs: Sequence[Exact]) -> float:
    """The largest margin by which the posterior means meet every constraint at a point seen."""
    if not costs or not costs[0].t:
        return 1.0
    means = np.concatenate([each.fitted for each in costs], axis=1)
    return max(LEAST_SLATER, float((-means.max(axis=1)).max()))
