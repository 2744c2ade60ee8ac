"""One trial's knowledge in Autopilot: its observations, the models learned from them, estimates and prices."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from softbandit.backend import Floats, Ints
from softbandit.gp import PivotPosterior, PointPosterior, Repeats, in_turn
from softbandit.policies.base import without_tiny
from softbandit.policies.outlook import (
    PATIENCE,
    Outlook,
    Standing,
    optimistic,
    plan_round,
    repayment_rounds,
)
from softbandit.policies.output_models import OutputModel, as_counted, learn_outputs
from softbandit.policies.output_units import Units
from softbandit.policies.prices import limit_prices

if TYPE_CHECKING:
    from softbandit.policies.autopilot import Autopilot

INITIAL = 4  # rounds far apart, before anything is learned
RELEARN = 1.5  # learn again when the rounds have grown by this factor
CANDIDATES = 512  # drawn in a round from what is too large to be looked at as a whole
CENTRES = 4  # promising points, near which candidates are looked for


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The observations of one trial, and what was learned from the first `fitted` of them."""

    policy: "Autopilot"
    where: Ints  # (t,): the arms; on a continuous domain -1
    X: Floats  # (t, d)
    Y: Floats  # (t, 1 + m)
    fitted: int = 0
    since: int = 0  # the round from which debts count: the last in which a limit was changed
    models: tuple[OutputModel, ...] = ()
    counted: Floats = field(default_factory=lambda: np.empty((0, 0)))  # (t, 1 + m): Y as it counts, without outliers
    posteriors: tuple[PivotPosterior, ...] = ()  # of each output, in its own units, if all arms are looked at
    fits: tuple[PointPosterior, ...] = ()  # the same if not

    # -- Learning. --

    def observe(self, where: int, x: Floats, y: Floats) -> "Knowledge":
        """Return the knowledge after one more round; learned again if that is due."""
        longer = replace(
            self,
            where=np.append(self.where, where),
            X=np.concatenate([self.X, x[None]]),
            Y=np.concatenate([self.Y, y[None]]),
        )
        if len(longer.X) >= max(INITIAL, math.ceil(RELEARN * self.fitted)):
            return longer.learn()
        return longer._with_round(len(self.X)) if self.models else longer

    def learn(self) -> "Knowledge":
        """Return the knowledge with models learned from all rounds."""
        unknown = [None] * self.Y.shape[1]
        starts = [model.theta for model in self.models] or unknown
        models = learn_outputs(self.policy.form, self._repeats, self.Y, starts, unknown)
        return replace(self, fitted=len(self.X), models=models).with_posteriors()

    def with_posteriors(self) -> "Knowledge":
        """Return the knowledge with posteriors over all arms, if they are few enough, or at any points."""
        if not self.models:
            return self
        n = self.fitted
        data = Repeats.of(self.X[:n], self.Y[:n, 0])
        known = replace(self, counted=as_counted(self.models, data, self.Y[:n]))
        outputs = range(len(self.models))
        if self.policy.looks_at_all:
            known = replace(known, posteriors=tuple(map(known._posterior, outputs)))
        else:
            known = replace(known, fits=tuple(known._fit(i, data) for i in outputs))
        for t in range(n, len(self.X)):
            known = known._with_round(t)
        return known

    def _posterior(self, i: int) -> PivotPosterior:
        """Return that of one output from the rounds learned from, by arm."""
        units, effects, _ = self.models[i]
        z, where = units.inside(self.counted[:, i]), self.where[: self.fitted]
        posterior = PivotPosterior.prior(effects, self.policy.arms)
        for arm in np.unique(where):
            values = z[where == arm]
            posterior = posterior.observe(int(arm), float(values.mean()), len(values))
        return posterior

    def _fit(self, i: int, data: Repeats) -> PointPosterior:
        """Return that of one output at any points, from the rounds learned from."""
        units, effects, _ = self.models[i]
        return PointPosterior.of(effects, data.with_values(units.inside(self.counted[:, i])))

    def _with_round(self, t: int) -> "Knowledge":
        """Return the knowledge with round t, the first since those that the posteriors know, in them."""
        place: Any = int(self.where[t]) if self.posteriors else self.X[t]
        posteriors: tuple[Any, ...] = self.posteriors or self.fits
        y = self.Y[t].copy()
        z = np.array([float(model.units.inside(value)) for model, value in zip(self.models, y, strict=True)])
        mean, variance = np.array(posteriors[0].predicted(place))[:, None]
        outliers = int((self.counted[self.fitted :, 0] != self.Y[self.fitted : t, 0]).sum())
        within = in_turn(z[:1], mean, variance, outliers)[0]
        if within != z[0]:
            z[0], y[0] = within, self.models[0].units.outside(within, 0.0)
        later = tuple(posterior.observe(place, value) for posterior, value in zip(posteriors, z.tolist(), strict=True))
        known = replace(self, counted=np.concatenate([self.counted, y[None]]))
        return replace(known, posteriors=later) if self.posteriors else replace(known, fits=later)

    def with_limits_raised(self, by: Floats) -> "Knowledge":
        """Return the knowledge for limits raised by (m,): all costs are lower by that, and debts start at zero."""
        changed = replace(self, Y=without_tiny(self.Y - np.append(0.0, by)), since=len(self.X))
        return changed.learn() if self.models else changed

    def by_point(self, i: int) -> Repeats:
        """Return the observations of one output by point, as they count, in the user's units."""
        return self._repeats.with_values(self.counted[:, i])

    @cached_property
    def _repeats(self) -> Repeats:
        return Repeats.of(self.X, self.Y[:, 0])

    @cached_property
    def spreads(self) -> Floats:
        """The spread of each output over the observed points, (1 + m,)."""
        return np.array([Units.of(self.by_point(i).means).spread for i in range(self.Y.shape[1])])

    @property
    def debt(self) -> Floats:
        """The total of each cost as measured, (m,)."""
        return np.asarray(self.Y[self.since :, 1:].sum(axis=0))

    # -- Deciding. --

    @cached_property
    def outlook(self) -> Outlook:
        """The candidates of the next round, their estimates, and the prices."""
        where, points, moments = self._candidates()
        estimates = optimistic(self.models, moments, self.standing.width)
        contexts = None if self.policy.context is None else self.policy.context[where]
        prices, phi, weights = plan_round(self.models, estimates, moments, self.standing, contexts)
        return Outlook(where, points, *estimates, prices, phi, weights, moments)

    @cached_property
    def standing(self) -> Standing:
        t, T = len(self.X), self.policy.horizon
        repay_within = repayment_rounds(t, T)
        return Standing(self.debt, self.spreads, max(T or t, t), self.rounds_left, repay_within, self.policy.optimism)

    @property
    def rounds_left(self) -> int:
        """The rounds until the horizon; if it is unknown, as many as there were, or PATIENCE if that is more."""
        t, T = len(self.X), self.policy.horizon
        return max(t, PATIENCE) if T is None else max(T - t, 1)

    def outlook_among(self, offered: Ints) -> Outlook:
        """Return the outlook for a round that offers some of the arms, at the same prices."""
        o = self.outlook
        if self.posteriors:
            return o.among(offered)
        drawn = self._generator(2).permutation(offered)[:CANDIDATES]
        arms = np.union1d(np.intersect1d(o.where, offered), drawn)
        points = self.policy.arms[arms]
        moments = [fit.at(points) for fit in self.fits]
        estimates = optimistic(self.models, moments, self.standing.width)
        return Outlook(arms, points, *estimates, o.prices, o.phi, np.zeros(len(arms)), moments)

    def _candidates(self) -> tuple[Ints, Floats, list[tuple[Floats, Floats]]]:
        """Return the candidates, and mean and variance of each output there, in its own units."""
        if self.posteriors:
            moments = [(p.mean, p.variance) for p in self.posteriors]
            return np.arange(len(self.policy.arms)), self.policy.arms, moments
        where, points = self.policy.candidates(self.X[self._promising()], self._generator(1))
        moments = [fit.moments(points) for fit in self.fits]
        first = self._repeats.first_rounds
        first = np.append(first[first < self.fitted], np.sort(first[first >= self.fitted]))  # as in the fits
        return np.append(self.where[first], where), np.concatenate([self.fits[0].points, points]), moments

    def _generator(self, purpose: int) -> np.random.Generator:
        """Return a generator that is a function of the order of the rewards: trials differ in it, and units do not."""
        order = np.argsort(self.Y[:, 0], kind="stable")
        return np.random.default_rng([crc32(order.tobytes()), purpose])

    def _promising(self) -> Ints:
        """Return rounds at which the best of the observed points were played, by their means and the limits' prices."""
        means = np.stack([self.by_point(i).means for i in range(self.Y.shape[1])])
        prices = limit_prices(means[0], means[1:])
        z = means[0] - prices.phi @ means[1:] if prices.feasible else -means[1:].sum(axis=0)
        best = np.argsort(-z, kind="stable")[:CENTRES]
        return self._repeats.first_rounds[best]

    # -- For a file. --

    def arrays(self) -> Iterator[Any]:
        """Iterate over what a file must hold."""
        yield from (self.where, self.X, self.Y, self.fitted, self.since)
        yield np.array([model.row for model in self.models])

    def refilled(self, values: Iterator[Any]) -> "Knowledge":
        """Return the knowledge in a file: nothing is learned again."""
        where, X, Y, fitted, since, table = (next(values) for _ in range(6))
        t = len(X)
        if X.shape != (t, self.X.shape[1]) or Y.shape != (t, self.Y.shape[1]) or where.shape != (t,):
            raise ValueError(f"expected {self.X.shape[1]} and {self.Y.shape[1]} columns, got {X.shape} and {Y.shape}")
        if not (np.isfinite(X).all() and np.isfinite(Y).all() and np.isfinite(table).all()):
            raise ValueError("NaN or infinity in the data")
        if not (0 <= fitted <= t and 0 <= since <= t):
            raise ValueError(f"expected rounds up to {t}, got {fitted} and {since}")
        if not np.isin(where, [-1] if self.policy.continuous else np.arange(len(self.policy.arms))).all():
            raise ValueError("an arm that there is not")
        if len(table) != (self.Y.shape[1] if fitted else 0):
            raise ValueError(f"expected a model of each output, got {len(table)}")
        models = tuple(OutputModel.from_row(row, self.policy.form) for row in table)
        told = replace(self, where=where, X=X, Y=Y, fitted=int(fitted), since=int(since))
        return replace(told, models=models).with_posteriors()
