"""Standard constrained test problems, with their optima.

They are stated as published: minimise f subject to c_i <= 0. `problem()` turns one into a bandit
problem with the reward (centre - f) / unit and the costs c_i / unit_i, in units such that each
has standard deviation 1 over the domain. B, G and the kernel are plausible settings, not
proven norms: no theorem covers a run on these problems.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from softbandit import validation
from softbandit.backend import Floats, drop_single
from softbandit.domains import Box, Domain, Float, Integer, Space
from softbandit.gp import Matern
from softbandit.problems import engineering_designs
from softbandit.problems.space_problem import SpaceProblem
from softbandit.theory import largest_margin

SAMPLE = 4096  # points from which the units are computed


@dataclass(frozen=True, eq=False)
class Standard:
    """min f(x) subject to c_i(x) <= 0."""

    name: str
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    raw: Callable[[Floats], Floats]  # (n, d) -> (n, 1 + m): f, c_1, ..., c_m
    best: float | None  # the smallest f of a feasible point, if it is known
    at: tuple[float, ...]  # that point, or another feasible one
    source: str
    whole: tuple[int, ...] = ()  # coordinates that are whole numbers

    @property
    def space(self) -> Domain:
        """A box, or a space with coordinates x1, x2, ... if some of them are whole numbers."""
        if not self.whole:
            return Box(self.lower, self.upper)
        bounds = enumerate(zip(self.lower, self.upper, strict=True))
        return Space({f"x{j + 1}": Integer(int(a), int(b)) if j in self.whole else Float(a, b) for j, (a, b) in bounds})

    def problem(self, noise: float = 0.01, lengthscale: float = 0.3) -> SpaceProblem:
        """Return the bandit problem, with a Matern kernel of that length scale relative to the domain's width."""
        scale = validation.positive("lengthscale", lengthscale)
        space, rng = self.space, np.random.default_rng(0)
        sample = space.at(rng.random((SAMPLE, space.dimension)))
        h = self._evaluate(sample)
        centre, unit = float(h[:, 0].mean()), h.std(axis=0)

        def function(X: Floats) -> Floats:
            h = self._evaluate(X)
            return np.asarray(np.concatenate([centre - h[:, :1], h[:, 1:]], axis=1) / unit)

        witnesses = self._points_near_the_best(space, rng)
        values = function(np.concatenate([sample, witnesses]))
        bound = np.abs(values).max(axis=0)
        return SpaceProblem(
            space,
            Matern((scale * (space.upper - space.lower)).tolist()),
            function,
            noise,
            reward_bound=float(bound[0]),
            cost_bound=drop_single(bound[1:]),
            slater=min(1.0, largest_margin(values[:, 1:]).margin),
            name=self.name,
            source=self.source,
            known_best=None if self.best is None else (centre - self.best) / float(unit[0]),
            witnesses=witnesses,
        )

    def _points_near_the_best(self, space: Domain, rng: np.random.Generator) -> Floats:
        """Return the point `at` and points around it, because feasible points may be rare."""
        best = np.subtract(self.at, self.lower) / np.subtract(self.upper, self.lower) if self.whole else self.at
        steps = 0.05 * (space.upper - space.lower) * rng.standard_normal((256, space.dimension))
        return space.snap(np.concatenate([[best], best + steps]))

    def _evaluate(self, X: Floats) -> Floats:
        """Return f and c at points of `space`, which are in the unit cube if some coordinates are whole numbers."""
        return self.raw(np.asarray(self.lower + X * np.subtract(self.upper, self.lower)) if self.whole else X)


def _gardner_1(X: Floats) -> Floats:
    x, y = X.T
    return np.stack([np.cos(2 * x) * np.cos(y) + np.sin(x), np.cos(x + y) - 0.5], axis=1)


def _gardner_2(X: Floats) -> Floats:
    x, y = X.T
    return np.stack([np.sin(x) + y, np.sin(x) * np.sin(y) + 0.95], axis=1)


def _branin(X: Floats) -> Floats:
    x, y = X.T
    f = (y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10
    return np.stack([f, (x - 2.5) ** 2 + (y - 7.5) ** 2 - 50], axis=1)


HARTMANN_A = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def _hartmann_6(X: Floats) -> Floats:
    distance = np.einsum("ij,nij->ni", HARTMANN_A, (X[:, None, :] - HARTMANN_P) ** 2)
    f = -np.exp(-distance) @ np.array([1.0, 1.2, 3.0, 3.2])
    return np.stack([f, np.sqrt((X * X).sum(axis=1)) - 1], axis=1)


def _ackley_10(X: Floats) -> Floats:
    root = np.sqrt((X * X).mean(axis=1))
    f = -20 * np.exp(-0.2 * root) - np.exp(np.cos(2 * np.pi * X).mean(axis=1)) + 20 + np.e
    return np.stack([f, X.sum(axis=1), np.sqrt((X * X).sum(axis=1)) - 5], axis=1)


STANDARD: dict[str, Standard] = {
    function.name: function
    for function in (
        Standard(
            name="gardner-1",
            lower=(0, 0),
            upper=(6, 6),
            raw=_gardner_1,
            best=-2.0,
            at=(1.5 * math.pi, 0.0),
            source="Gardner et al. 2014, simulation 1, with c = cos x cos y - sin x sin y - 1/2",
        ),
        Standard(
            name="gardner-2",
            lower=(0, 0),
            upper=(6, 6),
            raw=_gardner_2,
            best=math.asin(0.95) - 1,
            at=(1.5 * math.pi, math.asin(0.95)),
            source="Gardner et al. 2014, simulation 2",
        ),
        Standard(
            name="branin",
            lower=(-5, 0),
            upper=(10, 15),
            raw=_branin,
            best=0.39788735772973816,
            at=(math.pi, 2.275),
            source="Gelbart et al. 2014: Branin's function in a disc",
        ),
        Standard(
            name="hartmann-6",
            lower=(0,) * 6,
            upper=(1,) * 6,
            raw=_hartmann_6,
            best=-3.322368011415511,
            at=(0.20168952, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730054),
            source="Letham et al. 2019: Hartmann's function in the unit ball",
        ),
        Standard(
            name="ackley-10",
            lower=(-5,) * 10,
            upper=(10,) * 10,
            raw=_ackley_10,
            best=0.0,
            at=(0.0,) * 10,
            source="Eriksson & Poloczek 2021: Ackley's function, two constraints",
        ),
        Standard(
            name="speed-reducer",
            lower=(2.6, 0.7, 17, 7.3, 7.3, 2.9, 5.0),
            upper=(3.6, 0.8, 28, 8.3, 8.3, 3.9, 5.5),
            raw=engineering_designs.speed_reducer,
            best=2994.4710661,
            at=(3.5, 0.7, 17.0, 7.3, 7.7153199115, 3.3502146661, 5.2866544650),
            source="Golinski 1970, as in Mezura-Montes & Coello 2005; the number of teeth is whole",
            whole=(2,),
        ),
        Standard(
            name="pressure-vessel",
            lower=(1, 1, 10, 10),
            upper=(99, 99, 200, 200),
            raw=engineering_designs.pressure_vessel,
            best=6059.714335048436,
            at=(13, 7, 42.09844559585492, 176.63659584243945),
            source="Sandgren 1990, as in Kannan & Kramer 1994; plates in sixteenths of an inch",
            whole=(0, 1),
        ),
        Standard(
            name="welded-beam",
            lower=(0.1, 0.1, 0.1, 0.1),
            upper=(2, 10, 10, 2),
            raw=engineering_designs.welded_beam,
            best=1.7248523086,
            at=(0.2057296398, 3.4704886656, 9.0366239104, 0.2057296398),
            source="Ragsdell & Phillips 1976, as in Coello 2000",
        ),
        Standard(
            name="tension-spring",
            lower=(0.05, 0.25, 2),
            upper=(0.2, 1.3, 15),  # published as 2: thicker wires than 0.147 deflect too little and are not feasible
            raw=engineering_designs.tension_spring,
            best=0.0126652327883,
            at=(0.0516890614, 0.3567177465, 11.2889653601),
            source="Belegundu 1982, as in Arora 1989",
        ),
    )
}


def standard(name: str, noise: float = 0.01, lengthscale: float = 0.3) -> SpaceProblem:
    """Return a standard constrained test problem by name, with reward and costs in standard units.

    >>> standard("branin").arms
    Box(lower=array([-5.,  0.]), upper=array([10., 15.]))
    """
    return validation.named("name", name, STANDARD).problem(noise, lengthscale)
