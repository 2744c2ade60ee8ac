"""Autopilot's view of a round: optimistic estimates of the candidates, the prices of the limits, and what to play.

A round is drawn from the best mixture of candidates: that with the largest optimistic reward whose costs keep the
limits and repay what is owed,

    maximise E_pi[f]  subject to  E_pi[g_i] + debt_i / min(5 sqrt(T), rounds left) <= 0,

or debt_i / sqrt(t) if the horizon is unknown, with the expected cost where there is a debt, and the optimistic one
where there is none. To play the best candidate at the mixture's prices instead would be to play its extremes in turn:
at these prices all of its candidates are equally good, and a small debt decides between them.

If there is no such mixture, or its price of a limit is above max(4 phi_LP, u), it would take too much: then the round
plays argmax f - phi . g with

    phi = max(4 phi_LP, u) + 2 u debt / (s_g sqrt(T))    u = s_f / s_g

for limits with a debt. Autopilot's docstring explains the symbols.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats, Ints
from softbandit.policies.base import Quantile
from softbandit.policies.output_models import OutputModel
from softbandit.policies.prices import Prices, limit_prices

PRICE_GAIN = 2.0  # of the debt
REPAY_WITHIN = 5.0  # roots of the horizon
HIGHEST_PRICE = 4.0  # at which debts are repaid by a mixture, as a multiple of the limit's own price (or of u / 4)
SURE = 2.5  # posterior standard deviations by which estimates are optimistic before a limit counts as out of reach
PATIENCE = 100  # rounds left for which an arm that may be better by 1.2 standard deviations is worth a try

Moments = tuple[Floats, Floats]  # mean and variance (c,) of one output, in its own units


class Outlook(NamedTuple):
    """The candidates of a round, what is expected of them, the prices, and the mixture to draw from."""

    where: Ints  # (c,): the arm of each candidate; on a continuous domain -1
    points: Floats  # (c, d)
    f: Floats  # (c,): optimistic
    g: Floats  # (m, c)
    prices: Prices  # without debts
    phi: Floats  # (m,)
    weights: Floats  # (c,): of the mixture; all 0 if the round plays the best candidate at the prices phi
    moments: list[Moments]  # of each output

    def among(self, some: Ints | slice) -> "Outlook":
        """Return the outlook for a round that offers some of the candidates."""
        return self._replace(
            where=self.where[some],
            points=self.points[some],
            f=self.f[some],
            g=self.g[:, some],
            weights=self.weights[some],
            moments=[(mean[some], variance[some]) for mean, variance in self.moments],
        )


@dataclass(frozen=True)
class Standing:
    """The state of a run: what is owed, and in how many rounds it is to be repaid."""

    debt: Floats  # (m,): the total of each cost
    spreads: Floats  # (1 + m,): of each output over the observed points
    rounds: float | Floats  # T, of each limit or of all: until the horizon, or in the limit's window
    left: int  # rounds until the horizon
    repay_within: float | Floats  # rounds, of each limit or of all
    optimism: float = 1.0

    @property
    def width(self) -> float:
        """The number of posterior standard deviations by which estimates are optimistic."""
        return self.optimism * math.sqrt(2 * math.log1p(self.left / PATIENCE))


def repayment_rounds(t: int, horizon: int | None) -> float:
    """Return in how many rounds a debt is to be repaid.

    That is by the horizon at the latest; if it is unknown, any round may be the last one, and sooner is better. The
    rounds grow as sqrt(T): a model that is always off by b leaves a debt of order b sqrt(T), and the mean tends to the
    limit.
    """
    if horizon is None:
        return math.sqrt(max(t, 1))
    return min(REPAY_WITHIN * math.sqrt(max(horizon, t)), max(horizon - t, 1))


def quantiles(models: Sequence[OutputModel], moments: Iterable[Moments]) -> Quantile:
    """Return the quantiles of all outputs in the user's units: k deviations above the medians (1 + m, c)."""
    parts = [(model, mean, np.sqrt(variance)) for model, (mean, variance) in zip(models, moments, strict=True)]

    def quantile(k: Floats | float) -> Floats:
        rows = np.broadcast_to(k, (len(parts), np.shape(k)[-1] if np.ndim(k) else 1))
        pairs = zip(parts, rows, strict=True)
        return np.array([model.units.outside(z + row * std, model.effects.noise) for (model, z, std), row in pairs])

    return quantile


def optimistic(models: Sequence[OutputModel], moments: Iterable[Moments], width: float) -> tuple[Floats, Floats]:
    """Return f_t (c,) and g_t (m, c): rewards above and costs below their medians by `width` deviations."""
    signs = np.array([1.0] + [-1.0] * (len(models) - 1))
    h = quantiles(models, moments)(width * signs[:, None])
    return h[0], h[1:]


def in_user_units(models: Sequence[OutputModel], moments: Iterable[Moments]) -> list[Moments]:
    """Return mean and standard deviation of each output in the user's units."""
    return [m.units.moments(*pair, m.effects.noise) for m, pair in zip(models, moments, strict=True)]


def plan_round(
    models: Sequence[OutputModel],
    estimates: tuple[Floats, Floats],
    moments: list[Moments],
    standing: Standing,
    contexts: Ints | None,
) -> tuple[Prices, Floats, Floats]:
    """Return the prices without debts, phi (m,), and the weights of the mixture to draw from, (c,)."""
    f, g = estimates
    prices, owes = limit_prices(f, g, contexts), standing.debt > 0
    u = standing.spreads[0] / standing.spreads[1:]
    highest = np.maximum(HIGHEST_PRICE * prices.phi, u)
    repayment = np.where(owes, np.inf, 0.0)
    if prices.feasible:
        costs = g.copy()
        for i in np.flatnonzero(owes).tolist():
            ((costs[i], _),) = in_user_units([models[1 + i]], [moments[1 + i]])
        plan = limit_prices(f, costs + (standing.debt / standing.repay_within)[:, None], contexts)
        if plan.feasible and (plan.phi <= highest).all():
            return prices, plan.phi, plan.weights
        if plan.feasible:
            repayment = np.where(owes, plan.phi, 0.0)
    owed = PRICE_GAIN * u * (standing.debt / standing.spreads[1:]) / np.sqrt(standing.rounds)
    phi = np.clip(repayment, prices.phi, highest) + owed
    return prices, np.maximum(phi, 0.0), np.zeros(len(f))


def choose(o: Outlook, models: Sequence[OutputModel], standing: Standing, uniform: float) -> int:
    """Return the candidate to play, given a number that is uniform in (0, 1)."""
    if o.weights.any():
        mixed = np.flatnonzero(o.weights)
        share = np.cumsum(o.weights[mixed])
        return int(mixed[np.searchsorted(share[:-1], uniform * share[-1], side="right")])
    z = acquisition(o, models, standing)
    best = np.flatnonzero(z >= z.max() - 1e-12 * np.abs(z).max())
    return int(best[int(uniform * len(best))])


def acquisition(o: Outlook, models: Sequence[OutputModel], standing: Standing) -> Floats:
    """Return what is maximised over the candidates if no mixture repays the debts.

    If no mixture meets the limits, that is minus the least violation that is plausible: a region in which the
    limits might still be met is tried before they count as out of reach.
    """
    if o.prices.feasible:
        return np.asarray(o.f - o.phi @ o.g)
    _, g = optimistic(models, o.moments, max(standing.width, SURE))
    s = standing.spreads
    return np.asarray(-(np.maximum(g, 0.0) / s[1:, None]).sum(axis=0) + 1e-6 * o.f / s[0])
