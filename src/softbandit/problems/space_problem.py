"""Problems on a continuous or mixed domain, and their optimum with the resolution to which it is known."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend.random import DrawCount, Draws
from softbandit.backend.shapes import Floats, PerCost, PerTrial
from softbandit.backend.vocabulary import drop_single
from softbandit.domains.search import Objective, maximise
from softbandit.domains.spaces import Box, Domain
from softbandit.errors import ArgumentError, Description, InfeasibleError
from softbandit.gp.kernels import Kernel, SquaredExponential
from softbandit.policies.dual_settings import slater_margin
from softbandit.problems.noise import GaussianNoise, Noise, ResampledNoise
from softbandit.problems.problem import Problem
from softbandit.problems.synthetic import LEAST_SLATER, REDRAWS
from softbandit.theory.optimum import best_arm, largest_margin, optimal_dual, randomized_optimum

SPREAD = 4096  # points of the first candidate set
COLUMNS = 20  # rounds of improvement
RESOLUTION = 1e-7  # that is good enough, relative to the size of f - phi . g: the linear program has no more
STEP = 1e-6  # of a difference quotient, relative to the domain's width
PENALTY = 1e3  # for a violation, in units of the reward's range, when the best single point is searched for


class Candidates(NamedTuple):
    """Points that stand for the domain: pi* on them is within `resolution` of pi* on all of it."""

    points: Floats  # (n, d)
    values: Floats  # (n, 1 + m)
    resolution: float


@dataclass(frozen=True, eq=False)
class SpaceProblem:
    """Reward f and costs g_i on a domain, with the constants that the theory asks for.

    `function` gives (n, 1 + m) at points (n, d): the reward, then each cost.
    """

    arms: Domain
    kernel: Kernel
    function: Callable[[Floats], Floats]
    noise: float  # R
    reward_bound: float  # B
    cost_bound: Any  # G
    slater: float  # delta, capped at 1
    name: str = "problem"
    law: Noise = field(default_factory=GaussianNoise)
    source: str = "synthetic"
    known_best: float | None = None  # f at the best feasible point, where it is known
    witnesses: Any = None  # (n, d): points that are known to be good or feasible, where those are hard to find

    contexts: ClassVar[None] = None

    def __post_init__(self) -> None:
        if not isinstance(self.arms, Domain):
            raise ArgumentError.of("arms", "a Box or a Space", self.arms, "For finite arms use sb.problems.Problem.")
        if not isinstance(self.law, Noise) or isinstance(self.law, ResampledNoise):
            raise ArgumentError.of("law", "a Noise that needs no arms", self.law, "For example GaussianNoise().")
        values = np.asarray(self.function(self.arms.corners()[:2]), dtype=float)
        if values.ndim != 2 or len(values) != 2 or not np.isfinite(values).all():
            expected = "finite numbers, a row for each point: reward, costs"
            raise ArgumentError.of("function", expected, Description(f"shape {values.shape}"), "Check it.")
        validation.nonnegative("noise", self.noise)
        validation.positive("reward_bound", self.reward_bound)
        validation.numbers_above("cost_bound", self.cost_bound, values.shape[1] - 1, least=0.0, strict=True)
        slater_margin(self.slater)

    @cached_property
    def constraints(self) -> int:
        return int(self.function(self.arms.corners()[:1]).shape[1]) - 1

    @cached_property
    def candidates(self) -> Candidates:
        """A candidate set improved until no point of the domain does better at pi*'s own prices."""
        none = np.empty((0, self.arms.dimension))
        return improved(self.function, self.arms, none if self.witnesses is None else self.witnesses)

    @property
    def reward(self) -> Floats:
        """f on the candidate set."""
        return self.candidates.values[:, 0]

    @property
    def costs(self) -> Floats:
        return self.candidates.values[:, 1:]

    @property
    def cost(self) -> Any:
        return drop_single(self.costs)

    @cached_property
    def best_value(self) -> float:
        """f at the best feasible point: known, or the best found by a search; NaN if none was found."""
        if self.known_best is not None:
            return self.known_best
        seen = feasible_search(self.function, self.arms)
        best = best_arm(seen[:, 0], seen[:, 1:])
        return float("nan") if best is None else float(seen[best, 0])

    @property
    def sub_gaussian(self) -> float:
        """The sub-Gaussian scale of the noise that is seen."""
        return self.law.sub_gaussian(self.noise)

    def draws(self) -> DrawCount:
        return self.law.draws(1 + self.constraints)

    def available(self, draws: Draws) -> None:
        return None

    def observe(self, x: Floats, draws: Draws) -> tuple[PerTrial, PerCost]:
        """Noisy reward (trials,) and costs (trials, m) at the points (trials, d)."""
        # One trial at a time: a product's rounding depends on the number of rows, and a trial must not.
        seen = np.concatenate([self.function(x[i : i + 1]) for i in range(len(x))])
        h = seen + self.law.sample(self.noise, x, draws)
        return h[:, 0], h[:, 1:]

    def settings(self) -> dict[str, Any]:
        """What a policy is told of the problem: `sb.CKB(**problem.settings(), horizon=1000)`."""
        names = ["arms", "kernel", "noise", "reward_bound", "cost_bound", "slater", "constraints"]
        return {name: getattr(self, name) for name in names}

    def discretised(self, points: Any) -> Problem:
        """The same functions on finite arms (n, d)."""
        X = validation.points("points", points)
        h = self.function(X)
        told = (self.noise, self.reward_bound, self.cost_bound, self.slater)
        return Problem(
            X, self.kernel, h[:, 0], drop_single(h[:, 1:]), *told, name=f"{self.name}, {len(X)} arms", law=self.law
        )


def improved(function: Callable[[Floats], Floats], space: Domain, witnesses: Floats) -> Candidates:
    """Column generation: pi* on some points has prices phi*; the domain's best point at those prices joins them.

    By duality E_pi*[f] on the whole domain is at most max_x f(x) - phi* . g(x), so what that maximum,
    as far as it was found, exceeds the value on the candidates by is the resolution.
    """
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, SPREAD + 1)[:, None] if space.dimension == 1 else rng.random((SPREAD, space.dimension))
    X = np.concatenate([space.at(grid), space.corners(), witnesses])
    h = function(X)
    resolution = np.inf
    for _ in range(COLUMNS):
        phi, value = optimal_dual(h[:, 0], h[:, 1:]) if h.shape[1] > 1 else (np.zeros(0), h[:, 0].max())
        z = _lagrangian(function, space, phi)
        near = X[np.argsort(-(h[:, 0] - h[:, 1:] @ phi))]
        found = maximise(z, space, near, rng, 1e-12 * z.unit)
        resolution = min(resolution, max(0.0, float(found.values.max()) - value))
        best = np.argsort(-found.values)[:4]
        X, h = np.concatenate([X, found.points[best]]), np.concatenate([h, function(found.points[best])])
        if resolution <= RESOLUTION * z.unit:
            break
    return Candidates(X, h, resolution)


def _lagrangian(function: Callable[[Floats], Floats], space: Domain, phi: Floats) -> Objective:
    """f - phi . g, with difference quotients for its gradient."""
    weights, step = np.append(1.0, -phi), STEP * (space.upper - space.lower)

    def value(X: Floats) -> Floats:
        return np.asarray(function(X) @ weights)

    def slope(X: Floats) -> tuple[Floats, Floats]:
        low, high = np.maximum(X - step, space.lower), np.minimum(X + step, space.upper)
        columns = []
        for j in range(space.dimension):
            up, down = X.copy(), X.copy()
            up[:, j], down[:, j] = high[:, j], low[:, j]
            columns.append((value(up) - value(down)) / (high[:, j] - low[:, j]))
        return value(X), np.stack(columns, axis=1)

    size = float(np.abs(function(space.corners())).max(axis=0) @ np.abs(weights))
    return Objective(value, slope, unit=size or 1.0)


def feasible_search(function: Callable[[Floats], Floats], space: Domain) -> Floats:
    """Values (n, 1 + m) at points seen in the search of the best feasible one, by an exact penalty."""
    rng = np.random.default_rng(1)
    X = space.at(rng.random((SPREAD, space.dimension)))
    h = function(X)
    rate = PENALTY * (np.ptp(h[:, 0]) or 1.0) / np.maximum(np.ptp(h[:, 1:], axis=0), 1e-300)

    def value(X: Floats) -> Floats:
        h = function(X)
        return np.asarray(h[:, 0] - np.maximum(h[:, 1:], 0.0) @ rate)

    for _ in range(4):
        found = maximise(Objective(value, None), space, X[np.argsort(-value(X))], rng)
        X = found.points
    return function(X)


def rkhs_on(
    space: Domain | None = None,
    kernel: Kernel | None = None,
    noise: float = 0.1,
    seed: int = 0,
    constraints: int = 1,
    coefficients: int = 100,
) -> SpaceProblem:
    """f = sum_i a_i k(., x_i) on a domain, a_i uniform on [-1, 1] and x_i uniform; g likewise.

    As `rkhs`, on [0, 1] with a squared exponential of length scale 0.2 by default. Bounds are
    the functions' norms, and costs are redrawn until the Slater margin is 0.1.

    >>> problem = rkhs_on(Box([0, 0], [1, 1]), seed=1)
    >>> problem.arms.dimension, problem.slater >= 0.1
    (2, True)
    """
    space = Box(0, 1) if space is None else space
    k = SquaredExponential(0.2) if kernel is None else kernel
    m, p = (
        validation.whole("constraints", constraints, least=0),
        validation.whole("coefficients", coefficients, least=1),
    )
    rng = np.random.default_rng(validation.whole("seed", seed, least=0))
    probes = space.at(rng.random((SPREAD, space.dimension)))
    for _ in range(REDRAWS):
        centres = space.at(rng.random((p, space.dimension)))
        a = rng.uniform(-1, 1, (p, 1 + m))
        margin = largest_margin(k(probes, centres) @ a[:, 1:]).margin if m else 1.0
        if margin >= LEAST_SLATER:
            break
    else:
        remedy = "Ask for fewer constraints or another seed."
        raise InfeasibleError.of("rkhs_on", f"a Slater margin of {LEAST_SLATER}", Description("none"), remedy)
    norms = np.sqrt(np.einsum("ij,ik,kj->j", a, k(centres, centres), a))

    def function(X: Floats) -> Floats:
        return np.asarray(k(X, centres) @ a)

    G = drop_single(norms[1:])
    return SpaceProblem(space, k, function, noise, float(norms[0]), G, min(margin, 1.0), f"rkhs_on(seed {seed})")


def optimum_on(problem: SpaceProblem) -> float:
    """E_pi*[f] on the candidate set."""
    if not problem.constraints:
        return float(problem.reward.max())
    return randomized_optimum(problem.reward, problem.costs).value
