"""Linear programs over mixtures of arms: the optimum pi*, its dual phi*, and Slater's margin delta."""

from typing import Any, NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend.shapes import Floats
from softbandit.errors import ArgumentError, Description, InfeasibleError


class Optimum(NamedTuple):
    """The best mixture of arms, pi*, and its expected reward."""

    value: float
    weights: Floats  # (n,), at most m + 1 of them positive (m + the number of contexts)


class OptimalDual(NamedTuple):
    """phi* = argmin over phi >= 0 of max_x f(x) - phi . g(x), and that minimum, which is E_pi*[f]."""

    price: Floats  # (m,)
    value: float


class Slater(NamedTuple):
    """The largest margin delta, and a mixture pi_0 that has it: E_pi0[g_i] <= -delta."""

    margin: float
    weights: Floats


def randomized_optimum(reward: Floats, cost: Floats, contexts: Any = None) -> Optimum:
    """max E_pi[f] subject to E_pi[g_i] <= 0, over mixtures pi of the arms.

    `cost` is (n,) for one constraint, or (n, m). With `contexts` (n,), the context that each arm
    belongs to, pi must give every context the same weight.

    >>> randomized_optimum([0.0, 1.0], [-1.0, 3.0])
    Optimum(value=0.25, weights=array([0.75, 0.25]))
    """
    f, g = functions(reward, cost)
    if contexts is not None:
        if np.shape(contexts) != f.shape:
            got = Description(f"shape {np.shape(contexts)}")
            raise ArgumentError.of("contexts", f"one for each of {len(f)} arms", got, "Check the shape.")
        weights = _best_vertex(f, g, np.unique(contexts, return_inverse=True)[1].astype(float))
        return Optimum(float(f @ weights), weights)
    best = best_arm(f, g)
    weights = _best_pair(f, g[:, 0], best) if g.shape[1] == 1 else _best_vertex(f, g, np.zeros(len(f)))
    value = float(f @ weights)
    if best is not None and f[best] >= value:  # one arm does as well: say so, without rounding
        return Optimum(float(f[best]), _only(len(f), best))
    return Optimum(value, weights)


def _best_vertex(f: Floats, g: Floats, contexts: Floats) -> Floats:
    """pi* by linear program, with the same weight for every context."""
    belongs = (contexts == np.unique(contexts)[:, None]).astype(float)
    x = _solve(
        c=-f / _unit(f),
        A_ub=(g / _units(g)).T,
        b_ub=np.zeros(g.shape[1]),
        A_eq=belongs,
        b_eq=np.full(len(belongs), 1 / len(belongs)),
    )
    return _mixture(x)


def _best_pair(f: Floats, g: Floats, best: int | None) -> Floats:
    """pi* for one constraint, without a solver: an edge of the upper hull of the points (g, f), or one arm.

    From the best feasible arm, the steepest line to a costly arm, then from that one the flattest
    line back to a feasible arm, and so on until neither changes: no point lies above that line.
    """
    if best is None:
        raise _infeasible()
    feasible, i, j = g <= 0, best, -1
    while (f[~feasible] > f[best]).any():
        with np.errstate(divide="ignore", invalid="ignore"):
            up = int(np.where(feasible, -np.inf, (f - f[i]) / (g - g[i])).argmax())
            back = int(np.where(feasible, (f[up] - f) / (g[up] - g), np.inf).argmin())
        if (back, up) == (i, j):
            break
        i, j = back, up
    weights = np.zeros(len(f))
    if j < 0:
        weights[i] = 1.0
    else:
        weights[[i, j]] = g[j] / (g[j] - g[i]), -g[i] / (g[j] - g[i])
    return weights


def best_arm(reward: Floats, cost: Floats) -> int | None:
    """The best single arm with every g_i <= 0, if there is one."""
    f, g = functions(reward, cost)
    feasible = (g <= 0).all(axis=1)
    return int(np.where(feasible, f, -np.inf).argmax()) if feasible.any() else None


def optimal_dual(reward: Floats, cost: Floats) -> OptimalDual:
    """phi*: minimise u over (u, phi >= 0) with u >= f(x) - phi . g(x) at every arm.

    It exists where Slater's condition holds, and then sum_i phi*_i <= (E_pi*[f] - E_pi0[f]) / delta.

    >>> optimal_dual([0.0, 1.0], [-1.0, 3.0]).price
    array([0.25])
    """
    f, g = functions(reward, cost)
    slater_condition(g)
    size, units = _unit(f), _units(g)
    u, *phi = _solve(
        c=np.r_[1.0, np.zeros(g.shape[1])],
        A_ub=np.c_[-np.ones(len(f)), -g / units],
        b_ub=-f / size,
        bounds=[(None, None)] + [(0, None)] * g.shape[1],
    )
    return OptimalDual(np.maximum(phi, 0.0) * size / units, float(u) * size)


def largest_margin(cost: Floats) -> Slater:
    """max over mixtures pi of min_i -E_pi[g_i].

    The margin is not positive where Slater's condition fails; `slater_condition` refuses that.

    >>> largest_margin([0.5, -0.2]).margin
    0.2
    """
    g = _costs(cost)
    n, m = g.shape
    if m == 1:
        best = int(g.argmin())
        return Slater(float(-g[best, 0]), _only(n, best))
    # Variables (pi, delta): maximise delta subject to g^T pi + delta <= 0, sum pi = 1.
    x = _solve(
        c=np.r_[np.zeros(n), -1.0],
        A_ub=np.c_[g.T / _unit(g), np.ones(m)],
        b_ub=np.zeros(m),
        A_eq=np.r_[np.ones(n), 0.0][None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * n + [(None, None)],
    )
    weights = _mixture(x[:n])
    return Slater(float(-(weights @ g).max()), weights)


def slater_condition(cost: Floats) -> Slater:
    """`largest_margin`, refusing a problem that has none: then no policy can meet the constraints."""
    if np.ndim(cost) != 1 and np.shape(cost)[-1] == 0:
        raise ArgumentError.of("cost", "at least one constraint", Description("none"), "There is nothing to satisfy.")
    found = largest_margin(cost)
    if found.margin <= 0:
        g = found.weights @ _costs(cost)
        worst = int(g.argmax())
        raise InfeasibleError.of(
            "cost",
            "some mixture of arms with every E[g_i] below 0 (Slater's condition)",
            Description(f"even the best mixture has E[g_{worst}] = {g[worst]:.3g}"),
            f"Relax constraint {worst}, or add arms of lower cost.",
        )
    return found


def functions(reward: Floats, cost: Floats) -> tuple[Floats, Floats]:
    """f (n,) and g (n, m), checked."""
    f = validation.points("reward", np.reshape(reward, (-1, 1)))[:, 0]
    if np.ndim(cost) not in (1, 2) or len(cost) != len(f):
        got = Description(f"shapes {np.shape(reward)} and {np.shape(cost)}")
        raise ArgumentError.of("reward, cost", "one row for each arm in both", got, "Pass (n,) and (n,) or (n, m).")
    return f, _costs(cost)


def _costs(cost: Floats) -> Floats:
    g = np.asarray(cost, dtype=float)
    g = g[:, None] if g.ndim == 1 else g
    return validation.points("cost", g) if g.size else g


def _mixture(x: Floats) -> Floats:
    weights = np.maximum(x, 0.0)
    return np.asarray(weights / weights.sum())


def _only(n: int, arm: int) -> Floats:
    """All weight on one arm."""
    weights = np.zeros(n)
    weights[arm] = 1.0
    return weights


def _unit(values: Floats) -> float:
    """The size of the values: the solver's tolerances are absolute."""
    return float(np.abs(values).max(initial=0.0)) or 1.0


def _units(g: Floats) -> Floats:
    return np.array([_unit(column) for column in g.T])


def _solve(**program: Any) -> Floats:
    """The minimiser of a linear program; by the dual simplex method, hence a vertex."""
    from scipy.optimize import linprog

    result = linprog(**program, method="highs-ds")
    if result.status == 2:
        raise _infeasible()
    if result.status != 0:
        raise InfeasibleError(f"A linear program over the arms was not solved: {result.message}")
    return np.asarray(result.x)


def _infeasible() -> InfeasibleError:
    remedy = "Loosen the constraints or add arms of lower cost."
    return InfeasibleError.of("cost", "a mixture of arms with every E[g] <= 0", Description("none"), remedy)
