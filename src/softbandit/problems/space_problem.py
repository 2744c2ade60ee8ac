"""Problems on a continuous or mixed domain, and their optimum with the resolution to which it is known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend import DrawCount, Draws, Floats, PerCost, PerTrial, drop_single
from softbandit.domains import Domain, Objective, maximise
from softbandit.errors import ArgumentError, Description
from softbandit.gp import Kernel
from softbandit.problems.noise import GaussianNoise, Noise, ResampledNoise
from softbandit.problems.problem import BaseProblem, Problem
from softbandit.theory.optimum import best_arm, optimal_dual, randomized_optimum

INITIAL_POINTS = 4096  # that a search starts with
MAX_ROUNDS = 20  # of column generation
TARGET_RESOLUTION = 1e-7  # relative to the size of f - phi . g; the linear program is no more accurate
STEP = 1e-6  # of a difference quotient, relative to the domain's width
PENALTY = 1e3  # for a violation, in units of the reward's range, in the search for the best feasible point

Function = Callable[[Floats], Floats]  # (n, d) -> (n, 1 + m)


class Candidates(NamedTuple):
    """Points that represent the domain: pi* over them is within `resolution` of pi* over the whole domain."""

    points: Floats  # (n, d)
    values: Floats  # (n, 1 + m)
    resolution: float


@dataclass(frozen=True, eq=False)
class SpaceProblem(BaseProblem):
    """Reward f and costs g_i on a domain, and the constants that the theory needs.

    `function` returns (n, 1 + m) at points (n, d): the reward, then each cost.
    """

    arms: Domain
    kernel: Kernel
    function: Function
    noise: float  # R
    reward_bound: float  # B
    cost_bound: float | Sequence[float]  # G: one number, or one per constraint
    slater: float  # delta, capped at 1
    name: str = "problem"
    law: Noise = field(default_factory=GaussianNoise)
    source: str = "synthetic"
    known_best: float | None = None  # f at the best feasible point, if it is known
    witnesses: Floats | None = None  # (n, d): points known to be good or feasible, if those are hard to find

    contexts: ClassVar[None] = None

    def __post_init__(self) -> None:
        if not isinstance(self.arms, Domain):
            raise ArgumentError.of("arms", "a Box or a Space", self.arms, "For finite arms use sb.problems.Problem.")
        if not isinstance(self.law, Noise) or isinstance(self.law, ResampledNoise):
            raise ArgumentError.of("law", "a Noise that needs no arms", self.law, "For example GaussianNoise().")
        values = np.asarray(self.function(self.arms.corners()[:2]), dtype=float)
        if values.ndim != 2 or len(values) != 2 or not np.isfinite(values).all():
            expected = "finite numbers, one row per point: the reward, then each cost"
            got = Description(f"{values.tolist()} at two points")
            raise ArgumentError.of("function", expected, got, "Check it on an array of two points.")
        self._check_constants(values.shape[1] - 1)

    @cached_property
    def constraints(self) -> int:
        return int(self.function(self.arms.corners()[:1]).shape[1]) - 1

    @cached_property
    def candidates(self) -> Candidates:
        """Points of the domain, extended until a search finds no better one at the prices of pi*."""
        return _generate_candidates(self.function, self.arms, self.witnesses)

    @property
    def reward(self) -> Floats:
        """f at the candidates, (n,)."""
        return self.candidates.values[:, 0]

    @property
    def costs(self) -> Floats:
        """g at the candidates, (n, m)."""
        return self.candidates.values[:, 1:]

    @property
    def cost(self) -> Floats:
        """g at the candidates: (n,) with one constraint, else (n, m)."""
        return np.asarray(drop_single(self.costs))

    @cached_property
    def best_value(self) -> float:
        """f at the best feasible point: known, or the best of a search; NaN if the search found none."""
        if self.known_best is not None:
            return self.known_best
        values = _search_feasible(self.function, self.arms)
        best = best_arm(values[:, 0], values[:, 1:])
        return float("nan") if best is None else float(values[best, 0])

    def draws(self) -> DrawCount:
        """Return the count of random numbers per round."""
        return self.law.draws(1 + self.constraints)

    def available(self, draws: Draws) -> None:
        """Return None: every round offers the whole domain."""
        return

    def observe(self, x: Floats, draws: Draws) -> tuple[PerTrial, PerCost]:
        """Return the noisy reward (trials,) and costs (trials, m) at the points (trials, d)."""
        # One trial at a time: a product's rounding depends on the number of rows, and a trial must not.
        values = np.concatenate([self.function(x[i : i + 1]) for i in range(len(x))])
        y = values + self.law.sample(self.noise, x, draws)
        return y[:, 0], y[:, 1:]

    def discretised(self, points: object) -> Problem:
        """Return the problem with the same functions on finite arms (n, d)."""
        X = validation.points("points", points)
        h = self.function(X)
        constants = (self.noise, self.reward_bound, self.cost_bound, self.slater)
        name = f"{self.name}, {len(X)} arms"
        return Problem(X, self.kernel, h[:, 0], drop_single(h[:, 1:]), *constants, name=name, law=self.law)


def optimum_on(problem: SpaceProblem) -> float:
    """Return E_pi*[f] over the candidates."""
    if not problem.constraints:
        return float(problem.reward.max())
    return randomized_optimum(problem.reward, problem.costs).value


def _generate_candidates(function: Function, space: Domain, witnesses: Floats | None) -> Candidates:
    """Column generation: find pi* over the points and its prices phi*, add the domain's best points at phi*, repeat.

    By duality E_pi*[f] over the whole domain is at most max_x f(x) - phi* . g(x). The resolution
    is the excess of that maximum, as found by a search, over the value on the candidates.
    """
    rng = np.random.default_rng(0)
    d, n = space.dimension, INITIAL_POINTS
    X = np.concatenate([space.at(np.linspace(0, 1, n + 1)[:, None] if d == 1 else rng.random((n, d))), space.corners()])
    X = X if witnesses is None else np.concatenate([X, witnesses])
    h = function(X)
    resolution = np.inf
    for _ in range(MAX_ROUNDS):
        phi, value = optimal_dual(h[:, 0], h[:, 1:]) if h.shape[1] > 1 else (np.zeros(0), h[:, 0].max())
        z = _lagrangian(function, space, phi)
        best_first = X[np.argsort(-(h[:, 0] - h[:, 1:] @ phi))]
        maximum = maximise(z, space, best_first, rng, 1e-12 * z.unit)
        resolution = min(resolution, max(0.0, float(maximum.values.max()) - value))
        added = maximum.points[np.argsort(-maximum.values)[:4]]
        X, h = np.concatenate([X, added]), np.concatenate([h, function(added)])
        if resolution <= TARGET_RESOLUTION * z.unit:
            break
    return Candidates(X, h, resolution)


def _lagrangian(function: Function, space: Domain, phi: Floats) -> Objective:
    """Return f - phi . g, with difference quotients for its gradient."""
    weights, step = np.append(1.0, -phi), STEP * (space.upper - space.lower)

    def value(X: Floats) -> Floats:
        return np.asarray(function(X) @ weights)

    def slope(X: Floats) -> tuple[Floats, Floats]:
        low, high = np.maximum(X - step, space.lower), np.minimum(X + step, space.upper)
        columns = []
        for j, along in enumerate(np.eye(space.dimension, dtype=bool)):
            up, down = np.where(along, high, X), np.where(along, low, X)
            columns.append((value(up) - value(down)) / (high[:, j] - low[:, j]))
        return value(X), np.stack(columns, axis=1)

    size = float(np.abs(function(space.corners())).max(axis=0) @ np.abs(weights))
    return Objective(value, slope, unit=size or 1.0)


def _search_feasible(function: Function, space: Domain) -> Floats:
    """Search for the best feasible point with an exact penalty. Return the values (n, 1 + m) at the last points."""
    rng = np.random.default_rng(1)
    X = space.at(rng.random((INITIAL_POINTS, space.dimension)))
    h = function(X)
    rate = PENALTY * (np.ptp(h[:, 0]) or 1.0) / np.maximum(np.ptp(h[:, 1:], axis=0), 1e-300)

    def penalised(X: Floats) -> Floats:
        h = function(X)
        return np.asarray(h[:, 0] - np.maximum(h[:, 1:], 0.0) @ rate)

    for _ in range(4):
        X = maximise(Objective(penalised, None), space, X[np.argsort(-penalised(X))], rng).points
    return function(X)
