"""Measures of a run in decisions.py, by the true functions.

Notation: f is the reward, g the costs (m of them, limits at 0), pi* the best mixture of arms that meets the limits on
average, lambda* the prices of the limits by the linear program, s_f and s_g the spreads (standard deviations over the
arms, on a space over random points), u = s_f / s_g. Rewards are counted in units of s_f.

    P(T)      = sum_t (f* - f(x_t)) + lambda* . [sum_t g(x_t)]_+
    strict(T) = sum_t (f* - f(x_t)) + 2 max(lambda*, u / 4) . [sum_t g(x_t)]_+
    gap(x)    = f* - f(x) + lambda* . g(x) >= 0,  what a round costs at these prices

With contexts f* is that of the round's context at the prices lambda*: max_x f - lambda* . g over its arms. So P(T) is
at least the sum of the gaps, and never negative.
"""

from typing import NamedTuple

import numpy as np

import softbandit as sb
from softbandit.domains import Domain

SPREAD_POINTS = 4096  # of a space
FIRST = 4  # rounds that nobody can choose well
STUCK = 0.95  # of the last half on one arm
WRONG = 0.1  # s_f per round: an arm that costs more than this is a wrong one to stay on


class Truth(NamedTuple):
    """All that is known to those who know the functions."""

    weights: np.ndarray  # (n,): pi* over the arms, on a space over the candidates
    best: np.ndarray  # (contexts,): f*; one if there are no contexts
    prices: np.ndarray  # (m,): lambda*
    spreads: np.ndarray  # (1 + m,): s_f, s_g
    noise: np.ndarray  # (1 + m,): standard deviations

    @property
    def rates(self):
        """u = s_f / s_g, (m,)."""
        return self.spreads[0] / self.spreads[1:]


def truth(problem):
    f, g = problem.reward, problem.costs
    labels = np.zeros(len(f), int) if problem.contexts is None else problem.contexts
    prices = sb.theory.optimal_dual(f, g, problem.contexts).price
    z = f - g @ prices
    best = np.array([z[labels == context].max() for context in np.unique(labels)])
    weights = sb.randomized_optimum(f, problem.cost, problem.contexts).weights
    return Truth(weights, best, prices, spread_values(problem).std(axis=0), problem.noises)


def spread_values(problem):
    """Return outputs (n, 1 + m) whose standard deviations are the spreads."""
    if not isinstance(problem.arms, Domain):
        return np.column_stack([problem.reward, problem.costs])
    rng = np.random.default_rng(0)
    return problem.function(problem.arms.at(rng.random((SPREAD_POINTS, problem.arms.dimension))))


def outputs(problem, played):
    """Return f and g of each round: (T,) and (T, m)."""
    if isinstance(problem.arms, Domain):
        h = problem.function(np.array(played))
        return h[:, 0], h[:, 1:]
    return problem.reward[played], problem.costs[played]


def gaps(problem, known, played):
    """Return the gap of each round, (T,), in units of s_f."""
    f, g = outputs(problem, played)
    return (round_best(problem, known, played) - f + g @ known.prices) / known.spreads[0]


def round_best(problem, known, played):
    """Return f* of each round: that of its context, if there are several."""
    return known.best[0] if problem.contexts is None else known.best[problem.contexts[played]]


def measures(problem, known, played):
    """Return the measures of a run by name; rewards in units of s_f."""
    f, g = outputs(problem, played)
    T, s_f = len(f), known.spreads[0]
    regret = (round_best(problem, known, played) - f).sum()
    violation = np.maximum(g.sum(axis=0), 0.0)
    gap = gaps(problem, known, played)
    return {
        "P": (regret + known.prices @ violation) / s_f,
        "strict": (regret + 2 * np.maximum(known.prices, known.rates / 4) @ violation) / s_f,
        "regret": regret / s_f,
        "violation": (violation / known.spreads[1:]).sum(),
        "over": (g > 0).any(axis=1).mean(),
        "excess": (g.mean(axis=0) / (3 * known.noise[1:] / np.sqrt(T))).max(),  # at most 1: the limits are kept
        "floor": floor(known, T),
        "gap_first": gap[: T // 3].mean(),
        "gap_last": gap[-(T // 3) :].mean(),
        **favourite(problem, known, played),
    }


def floor(known, rounds):
    """Return max(lambda*, u) noise_g sqrt(T) in units of s_f: the value of a total cost that nobody can tell from 0."""
    return (np.maximum(known.prices, known.rates) * known.noise[1:]).max() * np.sqrt(rounds) / known.spreads[0]


def repayable(problem, known, rounds):
    """Return whether FIRST rounds of average cost can be repaid: the limits are then kept by the safest mixture."""
    tolerance = 3 * known.noise[1:] * np.sqrt(rounds)
    owed = FIRST * spread_values(problem)[:, 1:].mean(axis=0) - tolerance
    return bool(sb.theory.largest_margin(problem.costs + owed / (rounds - FIRST)).margin >= 0)


def favourite(problem, known, played):
    """Return the share of the most played arm in the last half, what staying on it costs per round, and if it is stuck.

    A cost below the limit is worth something only to a run that exceeds that limit in total, and repays it. With
    contexts no run is stuck: every context has arms of its own.
    """
    last = played[len(played) // 2 :]
    keys = unit_cells(problem, last) if isinstance(problem.arms, Domain) else np.array(last)[:, None]
    _, first, counts = np.unique(keys, axis=0, return_index=True, return_counts=True)
    arm = [last[first[counts.argmax()]]]
    f, g = outputs(problem, arm)
    in_debt = outputs(problem, played)[1].sum(axis=0) > 0
    charged = np.where(in_debt, g, np.maximum(g, 0.0)) @ known.prices
    share, cost = counts.max() / len(last), (round_best(problem, known, arm) - f + charged)[0] / known.spreads[0]
    return {"top_share": share, "top_cost": cost, "stuck": int(share > STUCK and cost > WRONG)}


def unit_cells(problem, points):
    """Return the hundredth of the domain's width in which each coordinate of a point is."""
    lower, upper = problem.arms.lower, problem.arms.upper
    return np.round(100 * (np.array(points) - lower) / (upper - lower))
