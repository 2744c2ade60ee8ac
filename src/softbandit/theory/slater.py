"""Slater's condition: some mixture of arms satisfies every constraint with room to spare."""

from typing import NamedTuple

import numpy as np

from softbandit.checks import Floats


class Slater(NamedTuple):
    """The largest margin delta, and a mixture pi_0 that has it: E_pi0[g_i] <= -delta."""

    margin: float
    weights: Floats


def largest_margin(cost: Floats) -> Slater:
    """max over mixtures pi of min_i -E_pi[g_i], for costs (n, m), by linear program.

    The margin is negative where no mixture is feasible.

    >>> largest_margin(np.array([[0.5], [-0.2]])).margin
    0.2
    """
    n, m = cost.shape
    if m == 1:
        best = int(cost.argmin())
        return Slater(float(-cost[best, 0]), np.eye(n)[best])
    from scipy.optimize import linprog

    # Variables (pi, delta): maximise delta subject to cost^T pi + delta <= 0, sum pi = 1.
    result = linprog(
        c=np.r_[np.zeros(n), -1.0],
        A_ub=np.c_[cost.T, np.ones(m)],
        b_ub=np.zeros(m),
        A_eq=np.r_[np.ones(n), 0.0][None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * n + [(None, None)],
        method="highs-ds",
    )
    weights = np.maximum(result.x[:n], 0.0)
    weights /= weights.sum()
    return Slater(float(-(weights @ cost).max()), weights)
