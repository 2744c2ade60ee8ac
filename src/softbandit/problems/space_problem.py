"""Problems on a continuous or mixed domain, and their optimum with the resolution to which it is known."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from softbandit import validation
from softbandit.backend import DrawCount, Draws, Floats, PerCost, PerTrial, drop_single
from softbandit.domains import Domain, Objective, maximise
from softbandit.errors import ArgumentError, Description
from softbandit.gp import Kernel
from softbandit.problems.noise import GaussianNoise, Noise, ResampledNoise
from softbandit.problems.problem import BaseProblem, Problem
from softbandit.theory.optimum import best_arm, randomized_optimum
from softbandit.theory.space_optimum import INITIAL_POINTS, Candidates, Function, generate_candidates

PENALTY = 1e3  # for a violation, in units of the reward's range, in the search for the best feasible point


@dataclass(frozen=True, eq=False, repr=False)
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
    norms: Floats | None = None  # (1 + m,): of f and g in the kernel's space, if they are known
    witnesses: Floats | None = None  # (n, d): points known to be good or feasible, if those are hard to find
    cost_noise: float | Sequence[float] | None = None  # R of the costs, if it is not the reward's

    contexts: ClassVar[None] = None

    def __post_init__(self) -> None:
        if not isinstance(self.arms, Domain):
            raise ArgumentError.of("arms", "a Box or a Space", self.arms, "For finite arms use sb.problems.Problem.")
        if not isinstance(self.law, Noise) or isinstance(self.law, ResampledNoise):
            raise ArgumentError.of("law", "a Noise that needs no arms", self.law, "For example GaussianNoise().")
        validation.function("function", self.function)
        values = np.asarray(validation.result("function", self.function, self.arms.corners()[:2]))
        if values.ndim != 2 or len(values) != 2 or values.dtype.kind not in "fiu" or not np.isfinite(values).all():
            expected = "finite numbers, one row per point: the reward, then each cost"
            got = Description(f"{values.tolist()} at two points")
            raise ArgumentError.of("function", expected, got, "Check it on an array of two points.")
        self._check_constants(values.shape[1] - 1)
        self._check_what_is_known(values.shape[1])

    def _check_what_is_known(self, outputs: int) -> None:
        if self.known_best is not None:
            validation.store(self, known_best=validation.number("known_best", self.known_best))
        if self.norms is not None:
            validation.store(self, norms=validation.vector("norms", self.norms, outputs))
        if self.witnesses is not None:
            validation.store(self, witnesses=self.arms.points("witnesses", self.witnesses))

    @cached_property
    def constraints(self) -> int:
        return int(self.function(self.arms.corners()[:1]).shape[1]) - 1

    @cached_property
    def candidates(self) -> Candidates:
        """Points of the domain, extended until a search finds no better one at the prices of pi*."""
        return generate_candidates(self.function, self.arms, self.witnesses)

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
        y = values + self.law.sample(self.noises, x, draws)
        return y[:, 0], y[:, 1:]

    def discretised(self, points: object) -> Problem:
        """Return the problem with the same functions on finite arms (n, d)."""
        X = self.arms.points("points", points)
        h = self.function(X)
        constants = (self.noise, self.reward_bound, self.cost_bound, self.slater)
        name, f, g = f"{self.name}, {len(X)} arms", h[:, 0], drop_single(h[:, 1:])
        return Problem(X, self.kernel, f, g, *constants, name=name, law=self.law, cost_noise=self.cost_noise)


def optimum_on(problem: SpaceProblem) -> float:
    """Return E_pi*[f] over the candidates."""
    if not problem.constraints:
        return float(problem.reward.max())
    return randomized_optimum(problem.reward, problem.costs).value


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
