"""Which arms may still be part of an optimal mixture, given confidence bounds on reward and costs."""

import numpy as np

from softbandit import validation
from softbandit.backend import Bools, Floats
from softbandit.errors import ArgumentError, Description, InfeasibleError
from softbandit.theory.optimum import minimise_linear, randomized_optimum
from softbandit.theory.run_bounds import Bounds

SLACK = 1e-7  # relative to the size of the bounds: the linear program's accuracy, in favour of plausible


def optimistic_value(bounds: Bounds) -> float:
    """Return an upper bound on E_pi*[f]: the optimum for the upper bound of the reward and the lower ones of the costs.

    It is infinite if there is none: then every mixture violates some constraint, as far as the bounds hold.
    """
    f, g = bounds.upper[0], bounds.lower[1:].T
    if not len(g.T):
        return float(f.max())
    try:
        return randomized_optimum(f, g).value
    except InfeasibleError:
        return np.inf


def plausible_arms(bounds: Bounds) -> Bools:
    """Return the arms (n,) that may be in the support of an optimal mixture, for some functions within the bounds.

    By complementary slackness an arm x in the support of pi* maximises f - phi* . g, and the maximum is E_pi*[f]. So
    if the bounds hold there are prices phi >= 0 and a number s <= v, the optimistic value, with

        s <= u_f(x) - phi . l_g(x)    and    s >= l_f(y) - phi . u_g(y) at every arm y.

    An arm without such phi and s is ruled out: a linear program each. (By duality: x, with any amount of the best
    mixture, could be replaced by a mixture that surely costs no more and surely earns more.)
    """
    validation.instance("bounds", bounds, Bounds, "Bounds(lower, upper)", "For example those of a certificate.")
    bounds = Bounds(*(validation.matrix(name, side) for name, side in bounds._asdict().items()))
    if bounds.lower.shape != bounds.upper.shape:
        got = Description(f"shapes {bounds.lower.shape} and {bounds.upper.shape}")
        raise ArgumentError.of("bounds", "one lower and one upper bound each", got, "Check the shapes.")
    size = np.abs(bounds.lower).max(axis=1).clip(min=1e-300) + np.abs(bounds.upper).max(axis=1)
    lower, upper = (side / size[:, None] for side in bounds)
    value = min(optimistic_value(bounds) / size[0], 2.0)
    return np.array([_has_prices(lower, upper, value, x) for x in range(lower.shape[1])])


def _has_prices(lower: Floats, upper: Floats, value: float, x: int) -> bool:
    """Return whether the linear program over (s, phi) has a point."""
    others = np.column_stack([-np.ones(lower.shape[1]), -upper[1:].T])  # -s - phi . u_g(y) <= -l_f(y)
    rows = np.vstack([others, np.append(1.0, lower[1:, x])])
    try:
        minimise_linear(
            c=np.zeros(len(lower)),
            A_ub=rows,
            b_ub=np.append(-lower[0], upper[0, x]) + SLACK,
            bounds=[(None, value + SLACK)] + [(0, None)] * (len(lower) - 1),
        )
    except InfeasibleError:
        return False
    return True
