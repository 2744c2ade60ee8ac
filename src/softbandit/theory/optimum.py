"""Linear programs over mixtures of arms: the optimum pi*, its dual phi*, and Slater's margin delta."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softbandit import validation
from softbandit.backend import Floats
from softbandit.errors import ArgumentError, Description, InfeasibleError


class Optimum(NamedTuple):
    """The best mixture of arms, pi*, and its expected reward."""

    value: float
    weights: Floats  # (n,), at most m + 1 of them positive (with contexts, m + their number)


class OptimalDual(NamedTuple):
    """phi* = argmin over phi >= 0 of max_x f(x) - phi . g(x), and the minimum, which equals E_pi*[f].

    With contexts the maximum is taken in each, and the mean of the maxima is minimised.
    """

    price: Floats  # (m,)
    value: float


class Slater(NamedTuple):
    """The largest margin delta, and a mixture pi_0 that has it: E_pi0[g_i] <= -delta."""

    margin: float
    weights: Floats


def randomized_optimum(reward: Floats, cost: Floats, contexts: ArrayLike | None = None) -> Optimum:
    """Maximise E_pi[f] subject to E_pi[g_i] <= 0, over mixtures pi of the arms.

    `cost` is (n,) for one constraint, or (n, m). `contexts` (n,) is the context of each arm, if
    there are several: pi must then give every context the same weight.

    >>> randomized_optimum([0.0, 1.0], [-1.0, 3.0])
    Optimum(value=0.25, weights=array([0.75, 0.25]))
    """
    f, g = functions(reward, cost)
    contexts = None if contexts is None else validation.labels("contexts", contexts, len(f))
    best = best_arm(f, g) if contexts is None else None
    pair = contexts is None and g.shape[1] == 1
    weights = _best_pair(f, g[:, 0], best) if pair else _best_vertex(f, g, contexts)
    value = float(f @ weights)
    if best is not None and f[best] >= value:  # one arm is as good: return it without rounding
        return Optimum(float(f[best]), single_arm(len(f), best))
    return Optimum(value, weights)


def _best_vertex(f: Floats, g: Floats, contexts: ArrayLike | None) -> Floats:
    """Return pi* by linear program, with the same weight for every context."""
    members = _members(len(f), contexts)
    x = minimise_linear(
        c=-f / _magnitude(f),
        A_ub=(g / _magnitude(g, axis=0)).T,
        b_ub=np.zeros(g.shape[1]),
        A_eq=members,
        b_eq=np.full(len(members), 1 / len(members)),
    )
    return _mixture(x)


def _members(n: int, contexts: ArrayLike | None) -> Floats:
    """Return which arms each context has, (contexts, n): 1 or 0."""
    values, labels = np.unique(np.zeros(n) if contexts is None else contexts, return_inverse=True)
    return np.asarray(labels == np.arange(len(values))[:, None], dtype=np.float64)


def _best_pair(f: Floats, g: Floats, best: int | None) -> Floats:
    """Return pi* for one constraint, without a solver: an edge of the upper hull of the points (g, f), or one arm.

    From the best feasible arm take the steepest line to an infeasible arm, from there the flattest
    line back to a feasible arm, and so on until neither changes: no point is above the last line.
    """
    if best is None:
        raise _infeasible()
    f, g = _near_one(f), _near_one(g)  # differences of huge numbers overflow
    feasible, i, j = g <= 0, best, -1
    if not (f[~feasible] > f[best]).any():
        return single_arm(len(f), best)
    for _ in range(len(f)):  # rounding may make lines take turns
        with np.errstate(divide="ignore", invalid="ignore"):
            up = int(np.where(feasible, -np.inf, (f - f[i]) / (g - g[i])).argmax())
            back = int(np.where(feasible, (f[up] - f) / (g[up] - g), np.inf).argmin())
        if (back, up) == (i, j):
            break
        i, j = back, up
    weights = single_arm(len(f), i)
    if j >= 0:
        weights[[i, j]] = g[j] / (g[j] - g[i]), -g[i] / (g[j] - g[i])
    return weights


def best_arm(reward: Floats, cost: Floats) -> int | None:
    """Return the best single arm with every g_i <= 0; None if there is none."""
    f, g = functions(reward, cost)
    feasible = (g <= 0).all(axis=1)
    return int(np.where(feasible, f, -np.inf).argmax()) if feasible.any() else None


def optimal_dual(reward: Floats, cost: Floats, contexts: ArrayLike | None = None) -> OptimalDual:
    """Return phi*: minimise mean(u) over (u, phi >= 0) with u_z >= f(x) - phi . g(x) at every arm x of every context z.

    Without contexts u is one number. phi* exists if Slater's condition holds, and then
    sum_i phi*_i <= (E_pi*[f] - E_pi0[f]) / delta.

    >>> optimal_dual([0.0, 1.0], [-1.0, 3.0]).price
    array([0.25])
    """
    f, g = functions(reward, cost)
    slater_condition(g, contexts)
    f_scale, g_scale = _magnitude(f), _magnitude(g, axis=0)
    members = _members(len(f), contexts)
    K, m = len(members), g.shape[1]
    x = minimise_linear(
        c=np.r_[np.full(K, 1 / K), np.zeros(m)],
        A_ub=np.c_[-members.T, -g / g_scale],
        b_ub=-f / f_scale,
        bounds=[(None, None)] * K + [(0, None)] * m,
    )
    return OptimalDual(np.maximum(x[K:], 0.0) * f_scale / g_scale, float(x[:K].mean() * f_scale))


def largest_margin(cost: Floats, contexts: ArrayLike | None = None) -> Slater:
    """Maximise min_i -E_pi[g_i] over mixtures pi, which with contexts give every context the same weight.

    The margin is not positive if Slater's condition fails; `slater_condition` raises then.

    >>> largest_margin([0.5, -0.2]).margin
    0.2
    """
    g = _costs(cost)
    n, m = g.shape
    contexts = None if contexts is None else validation.labels("contexts", contexts, n)
    if m == 1 and contexts is None:
        best = int(g.argmin())
        return Slater(float(-g[best, 0]), single_arm(n, best))
    members = _members(n, contexts)
    K = len(members)
    # Variables (pi, delta): maximise delta subject to g^T pi + delta <= 0, and 1 / K as the sum of pi in each context.
    x = minimise_linear(
        c=np.r_[np.zeros(n), -1.0],
        A_ub=np.c_[g.T / _magnitude(g), np.ones(m)],
        b_ub=np.zeros(m),
        A_eq=np.c_[members, np.zeros(K)],
        b_eq=np.full(K, 1 / K),
        bounds=[(0, None)] * n + [(None, None)],
    )
    weights = _mixture(x[:n])
    return Slater(float(-(weights @ g).max()), weights)


def slater_condition(cost: Floats, contexts: ArrayLike | None = None) -> Slater:
    """Return `largest_margin`; raise if it is not positive, since no policy can meet the constraints then."""
    if not _costs(cost).size:
        raise ArgumentError.of("cost", "at least one constraint", Description("none"), "There is nothing to satisfy.")
    slater = largest_margin(cost, contexts)
    if slater.margin <= 0:
        g = slater.weights @ _costs(cost)
        worst = int(g.argmax())
        expected = "some mixture of arms with every E[g_i] below 0 (Slater's condition)"
        got = Description(f"even the best mixture has E[g_{worst}] = {g[worst]:.3g}")
        raise InfeasibleError.of("cost", expected, got, f"Relax constraint {worst}, or add arms of lower cost.")
    return slater


def functions(reward: Floats, cost: Floats) -> tuple[Floats, Floats]:
    """Check f (n,) and g (n,) or (n, m), and return them as (n,) and (n, m)."""
    f = validation.matrix("reward", validation.array("reward", reward).reshape(-1, 1))[:, 0]
    g = _costs(cost)
    if len(g) != len(f):
        got = Description(f"{len(f)} and {len(g)} rows")
        raise ArgumentError.of("reward, cost", "one row per arm in both", got, "Pass (n,) and (n,) or (n, m).")
    return f, g


def _costs(cost: object) -> Floats:
    """Return g as (n, m), for any m."""
    g = validation.array("cost", cost)
    if g.ndim == 2 and len(g) and not g.size:  # no constraints
        return g
    return validation.matrix("cost", g[:, None] if g.ndim == 1 else g)


def _mixture(x: Floats) -> Floats:
    weights = np.maximum(x, 0.0)
    return np.asarray(weights / weights.sum())


def single_arm(n: int, arm: int) -> Floats:
    """Return the mixture with all weight on one arm."""
    return np.asarray(np.eye(1, n, arm)[0])


def _near_one(values: Floats) -> Floats:
    """Return the values times a power of two, which changes no digit, with the largest between 1/2 and 1."""
    return np.asarray(np.ldexp(values, -np.frexp(np.abs(values).max(initial=0.0))[1]))


def _magnitude(values: Floats, axis: int | None = None) -> Floats:
    """Return the scale to divide by before solving, since the solver's tolerances are absolute."""
    largest = np.abs(values).max(axis=axis, initial=0.0)
    return np.where(largest > 0, largest, 1.0)


def minimise_linear(**program: object) -> Floats:
    """Return the minimiser of a linear program: a vertex, since the method is dual simplex."""
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
