"""How good a run was: regret, violation, and the optimum they are measured against."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softbandit import checks
from softbandit.arrays import drop_single
from softbandit.checks import Floats
from softbandit.errors import ArgumentError, InfeasibleError
from softbandit.problems.problem import Problem
from softbandit.simulate import Trace


class Optimum(NamedTuple):
    """The best mixture of arms, pi*, and its expected reward."""

    value: float
    weights: Floats  # (n,), at most m + 1 of them positive


@dataclass(frozen=True, eq=False)
class Scores:
    """Running totals after each round, (trials, rounds); the two violations have a last axis of m if m > 1."""

    regret: Floats  # R: against the best feasible arm (NaN if no arm is feasible)
    strong_regret: Floats  # R_+: against pi*
    violation: Floats  # V = [sum g]_+
    positive_violation: Floats  # sum [g]_+
    violated_rounds: Floats  # N: rounds with any g_i > 0


def score(trace: Trace, problem: Problem) -> Scores:
    """Score a trace against the true functions (not the noisy observations).

    >>> import softbandit as sb
    >>> problem = sb.problems.rkhs(seed=3)
    >>> trace = sb.simulate(sb.CKB(**problem.settings(), horizon=20), problem)
    >>> scores = sb.score(trace, problem)
    >>> bool((scores.regret <= scores.strong_regret).all())
    True
    """
    f, g = problem.reward[trace.arms], problem.costs[trace.arms]  # (b, T), (b, T, m)
    t = np.arange(1, f.shape[1] + 1)
    reward = np.cumsum(f, axis=1)
    return Scores(
        regret=t * best_arm_value(problem.reward, problem.cost) - reward,
        strong_regret=t * randomized_optimum(problem.reward, problem.cost).value - reward,
        violation=drop_single(np.maximum(np.cumsum(g, axis=1), 0.0)),
        positive_violation=drop_single(np.cumsum(np.maximum(g, 0.0), axis=1)),
        violated_rounds=np.cumsum((g > 0).any(axis=2), axis=1),
    )


def best_arm_value(reward: Floats, cost: Floats) -> float:
    """max f(x) over the arms with every g_i(x) <= 0; NaN where there is none."""
    f, g = _functions(reward, cost)
    feasible = (g <= 0).all(axis=1)
    return float(f[feasible].max()) if feasible.any() else float("nan")


def randomized_optimum(reward: Floats, cost: Floats) -> Optimum:
    """max E_pi[f] subject to E_pi[g_i] <= 0, over mixtures pi of the arms, by linear program.

    `cost` is (n,) for one constraint, or (n, m).

    >>> randomized_optimum([0.0, 1.0], [-1.0, 3.0])
    Optimum(value=0.25, weights=array([0.75, 0.25]))
    """
    f, g = _functions(reward, cost)
    weights = _vertex(f, g)
    value = float(f @ weights)
    feasible = (g <= 0).all(axis=1)
    if feasible.any() and f[feasible].max() >= value:  # one arm does as well: say so, without rounding
        best = int(np.where(feasible, f, -np.inf).argmax())
        return Optimum(float(f[best]), np.eye(len(f))[best])
    return Optimum(value, weights)


def _vertex(f: Floats, g: Floats) -> Floats:
    """A vertex of the feasible mixtures that maximises f: at most m + 1 positive weights."""
    from scipy.optimize import linprog

    unit = [float(np.abs(v).max()) or 1.0 for v in (f, *g.T)]  # the solver's tolerances are absolute
    result = linprog(
        c=-f / unit[0],
        A_ub=(g / unit[1:]).T if g.shape[1] else None,
        b_ub=np.zeros(g.shape[1]) if g.shape[1] else None,
        A_eq=np.ones((1, len(f))),
        b_eq=[1.0],
        method="highs-ds",
    )
    if result.status == 2:
        remedy = "Loosen the constraints or add arms of lower cost."
        raise InfeasibleError.of("cost", "a mixture of arms with every E[g] <= 0", "none", remedy)
    if result.status != 0:
        raise InfeasibleError(f"The linear program for pi* was not solved: {result.message}")
    weights = np.maximum(result.x, 0.0)
    return np.asarray(weights / weights.sum())


def _functions(reward: Floats, cost: Floats) -> tuple[Floats, Floats]:
    """f (n,) and g (n, m)."""
    f = checks.points("reward", np.reshape(reward, (-1, 1)))[:, 0]
    if np.ndim(cost) not in (1, 2) or len(cost) != len(f):
        got = f"shapes {np.shape(reward)} and {np.shape(cost)}"
        raise ArgumentError.of("reward, cost", "one row for each arm in both", got, "Pass (n,) and (n,) or (n, m).")
    g = np.reshape(np.asarray(cost, dtype=float), (len(f), -1))
    return f, checks.points("cost", g) if g.size else g
