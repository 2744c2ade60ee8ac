"""Autopilot's view of a round: optimistic estimates of the candidates, and the prices of the limits.

    phi = [max(phi_LP, min(phi_repay, max(4 phi_LP, u))) + 2 u debt / (s_g sqrt(T))]_+    u = s_f / s_g

Autopilot's docstring explains the symbols.
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
REPAYMENT = 4.0  # the highest price of repaying a debt, as a multiple of the limit's own price (or of u / 4)
SURE = 2.5  # posterior standard deviations by which estimates are optimistic before a limit counts as out of reach
PATIENCE = 100  # rounds left for which an arm that may be better by 1.2 standard deviations is worth a try

Moments = tuple[Floats, Floats]  # mean and variance (c,) of one output, in its own units


class Outlook(NamedTuple):
    """The candidates of a round, what is expected of them, and the prices."""

    where: Ints  # (c,): the arm of each candidate; on a continuous domain -1
    points: Floats  # (c, d)
    f: Floats  # (c,): optimistic
    g: Floats  # (m, c)
    prices: Prices
    phi: Floats  # (m,)
    moments: list[Moments]  # of each output


@dataclass(frozen=True)
class Standing:
    """The state of a run: what is owed, and in how many rounds it is to be repaid."""

    debt: Floats  # (m,): the total of each cost
    spreads: Floats  # (1 + m,): of each output over the observed points
    rounds: float | Floats  # T, of each limit or of all
    left: int  # rounds until the horizon
    repay_within: float | Floats  # rounds, of each limit or of all
    optimism: float = 1.0

    @property
    def width(self) -> float:
        """The number of posterior standard deviations by which estimates are optimistic."""
        return self.optimism * math.sqrt(2 * math.log1p(self.left / PATIENCE))


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


def limit_and_debt_prices(
    models: Sequence[OutputModel],
    estimates: tuple[Floats, Floats],
    moments: list[Moments],
    standing: Standing,
    contexts: Ints | None,
) -> tuple[Prices, Floats]:
    """Return the limits' own prices, and phi (m,)."""
    f, g = estimates
    prices = limit_prices(f, g, contexts)
    u = standing.spreads[0] / standing.spreads[1:]
    highest = REPAYMENT * np.maximum(prices.phi, u / 4)
    phi = np.maximum(prices.phi, np.minimum(_repayment_prices(models, f, moments, standing, contexts), highest))
    owed = PRICE_GAIN * u * (standing.debt / standing.spreads[1:]) / np.sqrt(standing.rounds)
    return prices, np.maximum(phi + owed, 0.0)


def _repayment_prices(
    models: Sequence[OutputModel], f: Floats, moments: list[Moments], standing: Standing, contexts: Ints | None
) -> Floats:
    """Return the prices (m,) at which debts are repaid in time; inf if no mixture does."""
    debt = np.maximum(standing.debt, 0.0)
    if not debt.any():
        return np.zeros_like(debt)
    means = [mean for mean, _ in in_user_units(models, moments)]
    costs = np.array(means[1:]) + (debt / standing.repay_within)[:, None]
    if (costs.min(axis=1) <= 0).all():
        prices = limit_prices(f, costs, contexts)
        if prices.feasible:
            return prices.phi
    return np.where(debt > 0, np.inf, 0.0)


def acquisition(o: Outlook, models: Sequence[OutputModel], standing: Standing) -> Floats:
    """Return what is maximised over the candidates.

    If no mixture meets the limits, that is minus the least violation that is plausible: a region in which the
    limits might still be met is tried before they count as out of reach.
    """
    if o.prices.feasible:
        return np.asarray(o.f - o.phi @ o.g)
    _, g = optimistic(models, o.moments, max(standing.width, SURE))
    s = standing.spreads
    return np.asarray(-(np.maximum(g, 0.0) / s[1:, None]).sum(axis=0) + 1e-6 * o.f / s[0])
