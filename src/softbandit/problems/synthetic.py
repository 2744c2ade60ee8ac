"""Synthetic functions of known norm, as in the paper's simulations."""

from collections.abc import Callable

import numpy as np

from softbandit import validation
from softbandit.backend import Floats, drop_single
from softbandit.domains import Box, Domain
from softbandit.errors import Description, InfeasibleError
from softbandit.gp import Kernel, SquaredExponential, checked_kernel
from softbandit.policies import MOST_CONSTRAINTS
from softbandit.problems.noise import Noise, as_noise
from softbandit.problems.problem import Problem
from softbandit.problems.space_problem import SpaceProblem
from softbandit.theory import largest_margin

Draw = tuple[tuple[Floats, Floats], float]  # two arrays that define the functions, and their Slater margin
LEAST_SLATER = 0.1
REDRAWS, MOST_COSTS = 1000, 20_000  # draws, and costs in all of them: seconds
PROBES = 4096  # points of a domain at which the Slater margin is computed


def rkhs(
    arms: int = 100,
    lengthscale: float = 0.2,
    noise: float = 0.1,
    seed: int = 0,
    constraints: int = 1,
    dimension: int = 1,
    coefficients: int = 100,
    kernel: Kernel | None = None,
    law: Noise | str = "gaussian",
) -> Problem:
    """Draw f = sum_i a_i k(., x_i) with a_i uniform on [-1, 1] and x_i uniform over the arms; g likewise.

    The arms are an even grid on [0, 1] in one dimension, and uniform draws from the unit cube in
    more. The kernel is a squared exponential with that length scale, unless another is passed.
    The `law` of the noise is "gaussian", "uniform", "student" or a `Noise`. The bounds are the
    norms of the functions, sqrt(a^T K a). The costs are redrawn until some mixture of arms has
    every cost at -0.1 or below.

    >>> problem = rkhs(seed=3)
    >>> problem.arms.shape, problem.slater >= 0.1
    ((100, 1), True)
    """
    n, d = validation.whole("arms", arms, least=1), validation.whole("dimension", dimension, least=1)
    m = validation.whole("constraints", constraints, least=1, most=MOST_CONSTRAINTS)
    p = validation.whole("coefficients", coefficients, least=1)
    validation.affordable("arms, dimension, coefficients", n, max(d, p, m))
    noise_law = as_noise("law", law)
    k = SquaredExponential(lengthscale) if kernel is None else checked_kernel("kernel", kernel)
    rng = np.random.default_rng(validation.seed(seed))
    X = np.linspace(0, 1, n)[:, None] if d == 1 else rng.random((n, d))
    reward, B = _draw_function(k, X, p, rng)

    def draw_costs() -> Draw:
        values, norms = zip(*(_draw_function(k, X, p, rng) for _ in range(m)), strict=True)
        cost = np.stack(values, axis=1)
        return (cost, np.array(norms)), largest_margin(cost).margin

    (cost, G), margin = _redraw_until_slater("rkhs", m, draw_costs)
    name = f"rkhs({n} arms, seed {seed})"
    return Problem(X, k, reward, drop_single(cost), noise, B, drop_single(G), margin, name, law=noise_law)


def rkhs_on(
    space: Domain | None = None,
    kernel: Kernel | None = None,
    noise: float = 0.1,
    seed: int = 0,
    constraints: int = 1,
    coefficients: int = 100,
) -> SpaceProblem:
    """Draw f = sum_i a_i k(., x_i) on a domain, with a_i uniform on [-1, 1] and x_i uniform; g likewise.

    Like `rkhs`, by default on [0, 1] with a squared exponential of length scale 0.2. The bounds
    are the norms of the functions. All are redrawn until the Slater margin is at least 0.1.

    >>> problem = rkhs_on(Box([0, 0], [1, 1]), seed=1)
    >>> problem.arms.dimension, problem.slater >= 0.1
    (2, True)
    """
    space = Box(0, 1) if space is None else space
    validation.instance("space", space, Domain, "a Box or a Space", "For example sb.Box([0, 0], [1, 1]).")
    k = SquaredExponential(0.2) if kernel is None else checked_kernel("kernel", kernel)
    m = validation.whole("constraints", constraints, least=0, most=MOST_CONSTRAINTS)
    p = validation.whole("coefficients", coefficients, least=1)
    validation.affordable("coefficients", p, max(p, PROBES, m))
    rng = np.random.default_rng(validation.seed(seed))
    probes = space.at(rng.random((PROBES, space.dimension)))

    def draw_coefficients() -> Draw:
        centres = space.at(rng.random((p, space.dimension)))
        a = rng.uniform(-1, 1, (p, 1 + m))
        return (centres, a), largest_margin(k(probes, centres) @ a[:, 1:]).margin if m else 1.0

    (centres, a), margin = _redraw_until_slater("rkhs_on", m, draw_coefficients)
    norms = np.sqrt(np.einsum("ij,ik,kj->j", a, k(centres, centres), a))

    def function(X: Floats) -> Floats:
        return np.asarray(k(X, centres) @ a)

    name = f"rkhs_on(seed {seed})"
    constants = (noise, float(norms[0]), drop_single(norms[1:]), margin)
    return SpaceProblem(space, k, function, *constants, name=name, norms=norms)


def _draw_function(kernel: Kernel, X: Floats, p: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Draw a function. Return its values over the arms, and its norm."""
    a = rng.uniform(-1, 1, p)
    centres = X[rng.integers(len(X), size=p)]
    return kernel(X, centres) @ a, float(np.sqrt(a @ kernel(centres, centres) @ a))


def _redraw_until_slater(maker: str, m: int, draw: Callable[[], Draw]) -> Draw:
    """Return the first draw of m costs with a Slater margin of at least 0.1, and the margin, capped at 1."""
    redraws = min(REDRAWS, MOST_COSTS // max(m, 1))
    for _ in range(redraws):
        drawn, margin = draw()
        if margin >= LEAST_SLATER:
            return drawn, min(margin, 1.0)
    got = Description(f"none in {redraws} draws")
    remedy = "Ask for fewer constraints, more coefficients or another seed."
    raise InfeasibleError.of(maker, f"a Slater margin of {LEAST_SLATER}", got, remedy)
