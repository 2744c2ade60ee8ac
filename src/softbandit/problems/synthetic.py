"""Synthetic functions of known norm, as in the paper's simulations."""

import numpy as np

from softbandit import validation
from softbandit.backend.shapes import Floats
from softbandit.backend.vocabulary import drop_single
from softbandit.errors import Description, InfeasibleError
from softbandit.gp.kernels import Kernel, SquaredExponential
from softbandit.problems.noise import Noise, as_noise
from softbandit.problems.problem import Problem
from softbandit.theory.optimum import largest_margin

LEAST_SLATER = 0.1
REDRAWS = 1000


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
    """f = sum_i a_i k(., x_i) with a_i uniform on [-1, 1] and x_i uniform over the arms; g likewise.

    The arms discretise [0, 1] uniformly in one dimension, and are drawn uniformly from the
    unit cube in more. The kernel is a squared exponential of that length scale, unless
    another is given; the noise has the `law`
    "gaussian", "uniform", "student" or a `Noise`. The bounds are the functions' norms, sqrt(a^T K a). The costs are
    redrawn until some mixture of arms has every cost at -0.1 or below.

    >>> problem = rkhs(seed=3)
    >>> problem.arms.shape, problem.slater >= 0.1
    ((100, 1), True)
    """
    n, d = validation.whole("arms", arms, least=1), validation.whole("dimension", dimension, least=1)
    m, p = (
        validation.whole("constraints", constraints, least=1),
        validation.whole("coefficients", coefficients, least=1),
    )
    seen = as_noise("law", law)
    k = SquaredExponential(lengthscale) if kernel is None else kernel
    rng = np.random.default_rng(validation.whole("seed", seed, least=0))
    X = np.linspace(0, 1, n)[:, None] if d == 1 else rng.random((n, d))
    reward, B = _function(k, X, p, rng)
    for _ in range(REDRAWS):
        drawn = [_function(k, X, p, rng) for _ in range(m)]
        cost = np.stack([values for values, _ in drawn], axis=1)
        margin = largest_margin(cost).margin
        if margin >= LEAST_SLATER:
            break
    else:
        remedy = "Ask for fewer constraints, more coefficients or another seed."
        raise InfeasibleError.of(
            "rkhs", f"a Slater margin of {LEAST_SLATER}", Description(f"none in {REDRAWS} draws"), remedy
        )
    G = drop_single(np.array([norm for _, norm in drawn]))
    name = f"rkhs({n} arms, seed {seed})"
    return Problem(X, k, reward, drop_single(cost), noise, B, G, min(margin, 1.0), name, law=seen)


def _function(kernel: Kernel, X: Floats, p: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Values over the arms, and the norm."""
    a = rng.uniform(-1, 1, p)
    centres = X[rng.integers(len(X), size=p)]
    return kernel(X, centres) @ a, float(np.sqrt(a @ kernel(centres, centres) @ a))
