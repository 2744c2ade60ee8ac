"""Decisions of a tuner: Autopilot's rule, with many rounds in flight, contexts, forgetting, and limits over a window.

The decider is a fold over the events of a tuner, and its decisions are a function of those events, the number of the
ask and its context: any process that has followed the same events decides the same.

1. `BASELINE_ROUNDS` rounds play the baseline, which tells the noise.
2. Until there are enough measurements to learn from, rounds are far from one another.
3. After that a round is drawn from the best mixture of configurations in its context, as `policies.outlook`
   describes. A pending round counts as measured at its mean: it reduces the variance there, and its expected costs are
   part of the debt. With contexts the price of a limit is the same in all of them, since the limit is on the average
   over time: it is that of the best mixture over this context and a sample of those so far.
4. A round that may not explore, by `explore_share`, plays the configuration that `recommend` names.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from softbandit import errors
from softbandit.backend import DrawCount, Floats, draw
from softbandit.backend.random import POLICY
from softbandit.domains import Values
from softbandit.errors import ArgumentError
from softbandit.policies.autopilot import far_from
from softbandit.policies.outlook import choose
from softbandit.tuner.deciding import notes
from softbandit.tuner.deciding.beliefs import BASELINE_ROUNDS, Beliefs
from softbandit.tuner.deciding.effects import Effect, varied
from softbandit.tuner.deciding.evidence import Evidence
from softbandit.tuner.deciding.forecast import SAFE, Forecast, Forecaster
from softbandit.tuner.deciding.memory import Memory
from softbandit.tuner.deciding.recommendation import Estimate, Recommendation, estimates, recommend
from softbandit.tuner.words.description import Description


@dataclass(frozen=True)
class Proposal:
    """A configuration for a round."""

    values: Values
    kind: str  # "baseline", "first rounds", "explore", "best" or "paused"
    expected: dict[str, float]  # the metric, what each limit is on, and its price; empty before anything is learned


class Decider:
    """The knowledge of a tuner, from which it decides. Events change it; decisions do not."""

    def __init__(self, evidence: Evidence, learned: Mapping[str, Any] | None = None) -> None:
        """Continue from evidence. What `learned()` returned for it, or for its beginning, only saves time."""
        self.evidence, self.memory = evidence, Memory(evidence)
        if learned is not None:
            self.memory.use(learned)
        self._forecaster = Forecaster(self.memory)

    @classmethod
    def start(cls, description: Description) -> "Decider":
        return cls(Evidence(description))

    @property
    def description(self) -> Description:
        return self.evidence.description

    # -- Events. --

    def asked(self, id: int, values: Values, context: Values | None, kind: str) -> None:
        self.evidence.asked(id, values, context, kind)

    def told(self, id: int, metrics: Mapping[str, Any]) -> None:
        """Learn from a round, which may have expired."""
        self.evidence.told(id, metrics)

    def failed(self, id: int) -> None:
        """Learn from a round that failed, as the worst of what was seen so far."""
        self.evidence.failed(id)

    def expired(self, id: int) -> None:
        self.evidence.expired(id)

    def observed(self, values: Values, metrics: Mapping[str, Any], context: Values | None = None) -> None:
        """Learn from a measurement that counts in no limit."""
        self.evidence.observed(values, metrics, context)

    def changed(self, description: Description) -> None:
        """Use another description. What was measured is kept."""
        self.memory.change(description)

    def learned(self) -> dict[str, Any]:
        """Return what was expensive to learn, as small arrays."""
        return self.memory.learned()

    # -- Decisions. --

    def decide(self, ask: int, context: Values | None = None) -> Proposal:
        """Return the configuration of an ask, given its number."""
        if self._baseline_is_due():
            values = dict(self.description.baseline or {})
            return Proposal(values, "baseline", self.expected(values, context))
        rng, beliefs = np.random.default_rng([self.description.seed, ask]), self.memory.beliefs
        if beliefs is None:
            return self._first_round(ask, rng)
        forecast = self._forecaster.forecast(beliefs, context, rng)
        i = self._chosen(beliefs, forecast, ask) if self._may_explore(ask) else forecast.best
        x, best = forecast.configurations[[i, forecast.best]]
        kind = "best" if (x == best).all() else "explore"
        expected = self._in_words(forecast.posterior.quantile(0.0)[:, i])
        prices = {f"price of {limit}": price for limit, price in self._prices(forecast).items()}
        return Proposal(self.description.space.values(x), kind, expected | prices)

    def prepare(self) -> None:
        """Do the slow part of the next decision, which does not depend on its number or context."""
        beliefs = self.memory.beliefs
        if beliefs is not None:
            self._forecaster.prepare(beliefs)

    def fall_back(self, ask: int, context: Values | None = None) -> Proposal:
        """Return the configuration of an ask that tries nothing: the baseline, or else the best one so far."""
        values = self.description.baseline
        if values is None and self.has_learned:
            forecast = self._forecast_now(context)
            values = self.description.space.values(forecast.configurations[forecast.best])
        elif values is None:
            values = self._first_configuration(ask)
        return Proposal(dict(values), "paused", self.expected(dict(values), context))

    def expected(self, values: Values, context: Values | None = None) -> dict[str, float]:
        """Return what is expected of a configuration, in the user's units; nothing before anything is learned."""
        beliefs = self.memory.beliefs
        if beliefs is None:
            return {}
        X = self.description.space.encode(values)[None]
        return self._in_words(self._forecaster.posterior(beliefs, X, context).quantile(0.0)[:, 0])

    # -- What was learned. --

    @property
    def has_learned(self) -> bool:
        return self.memory.beliefs is not None

    def recommend(self, context: Values | None = None, probability: float = SAFE) -> Recommendation:
        """Return the configuration to keep in a context, with intervals of that probability, and mixtures."""
        forecast = self._forecast_now(context)
        return recommend(self.description, forecast.configurations, forecast.posterior, probability)

    def prices(self, context: Values | None = None) -> dict[str, float]:
        """Return the price of each limit: reward per unit of what it is on."""
        return self._prices(self._forecast_now(context))

    def _prices(self, forecast: Forecast) -> dict[str, float]:
        phi = forecast.outlook.phi.tolist()
        return {limit.text: price for limit, price in zip(self.description.limits, phi, strict=True)}

    def estimate(self, values: Mapping[str, Any], context: Values | None = None) -> list[Estimate]:
        """Return the metric, then what each limit is on, at a configuration: intervals of probability 90%."""
        return self._estimates(self.description.space.encode(values)[None], context)[0]

    def gain_over_baseline(self, context: Values | None = None) -> Estimate | None:
        """Return by how much the metric is better at the recommended configuration than at the baseline.

        The two are taken as independent in the posterior, which makes the interval wider rather than narrower.
        """
        if self.description.baseline is None or not self.has_learned:
            return None
        best, base = self.recommend(context).metric, self.estimate(self.description.baseline, context)[0]
        half = math.hypot(best.high - best.low, base.high - base.low) / 2
        gain = self.description.sign * (best.value - base.value)
        return Estimate(gain, gain - half, gain + half)

    def notes(self, context: Values | None = None) -> list[str]:
        """Return remarks that the user should read."""
        shifts = notes.shifts(self.evidence, self.memory.shifts)
        remarks = [*notes.failures(self.evidence), *shifts, *notes.units(self.evidence)]
        if self.has_learned and self.description.limits:
            remarks += notes.infeasible(self.evidence, self._forecast_now(context))
        return remarks

    def effects(self, context: Values | None = None) -> list[Effect]:
        """Return the effect of each parameter at the recommended configuration, with intervals of probability 90%."""
        forecast, space = self._forecast_now(context), self.description.space
        rows = varied(space, forecast.configurations[forecast.best])
        return [
            Effect(name, [space.values(x)[name] for x in X], np.array(self._estimates(X, context)).swapaxes(0, 1))
            for name, X in rows.items()
        ]

    def _estimates(self, X: Floats, context: Values | None) -> list[list[Estimate]]:
        """Return the estimates at each of the configurations (n, d)."""
        posterior = self._forecaster.posterior(self._beliefs(), X, context)
        return [estimates(self.description, posterior, SAFE, share) for share in np.eye(len(X))]

    def _forecast_now(self, context: Values | None) -> Forecast:
        """Return the forecast of a round in a context, which is by default the last one."""
        if context is None and self.description.context is not None:
            context = self.evidence.rows[-1].context
        return self._forecaster.forecast(self._beliefs(), context, np.random.default_rng(self.description.seed))

    def _beliefs(self) -> Beliefs:
        beliefs = self.memory.beliefs
        if beliefs is None:
            got = errors.Description(f"{len(self.evidence)}")
            raise ArgumentError.of("recommend", "rounds to learn from", got, "Report the first rounds.")
        return beliefs

    # -- Parts of a decision. --

    def _chosen(self, beliefs: Beliefs, forecast: Forecast, ask: int) -> int:
        """Return the candidate to play, by the draw of the ask."""
        uniform = draw(DrawCount(0, 1), self.description.seed, [0], ask, 1, POLICY).uniform[0, 0, 0]
        return choose(forecast.outlook, beliefs.models, forecast.standing, float(uniform))

    def _baseline_is_due(self) -> bool:
        if self.description.baseline is None:
            return False
        x = self.description.space.encode(self.description.baseline)
        return int((self._played() == x).all(axis=1).sum()) < BASELINE_ROUNDS

    def _played(self) -> Floats:
        """Return the configurations that were measured, and those that are pending, (t, d)."""
        points = np.concatenate([self.evidence.X, self.evidence.pending_points])
        return points[:, : self.description.space.dimension]

    def _first_round(self, ask: int, rng: np.random.Generator) -> Proposal:
        """Return a configuration far from those before; if the round may not explore, one that was asked for before."""
        if not self._may_explore(ask):
            return Proposal(dict(self.description.baseline or self._first_configuration(ask)), "best", {})
        pool = self._forecaster.pool(rng)
        return Proposal(self.description.space.values(pool[far_from(self._played(), pool)]), "first rounds", {})

    def _first_configuration(self, ask: int) -> Values:
        """Return the first configuration that was asked for and is still in the space; else one far from its border."""
        space = self.description.space
        for earlier in self.evidence.asks.values():
            x = space.encode_if_possible(earlier.values)
            if x is not None and np.array_equal(space.snap(x[None])[0], x):
                return earlier.values
        pool = self._forecaster.pool(np.random.default_rng([self.description.seed, ask]))
        return space.values(pool[far_from(self._played(), pool)])

    def _may_explore(self, ask: int) -> bool:
        """Return whether exploring in this ask keeps the share of those that explored."""
        share = self.description.explore_share
        return share is None or self.evidence.explored + 1 <= share * ask

    def _in_words(self, outputs: Floats) -> dict[str, float]:
        """Return the metric, and what each limit is on, in the user's units."""
        reward, *costs = outputs.tolist()
        limits = zip(self.description.limits, costs, strict=True)
        return {self.description.metric: self.description.sign * reward} | {
            limit.name: limit.measure(cost) for limit, cost in limits
        }
