"""Forecasts of a round: what is expected of each configuration in its context, and the prices of the limits."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from softbandit.backend import Floats, Ints
from softbandit.domains import Values
from softbandit.gp import CandidatePosterior
from softbandit.policies.outlook import (
    PATIENCE,
    Moments,
    Outlook,
    Standing,
    optimistic,
    plan_round,
    repayment_rounds,
)
from softbandit.tuner.deciding import candidates
from softbandit.tuner.deciding.beliefs import Beliefs, half_life, has_fixed_candidates
from softbandit.tuner.deciding.evidence import Evidence
from softbandit.tuner.deciding.memory import Memory
from softbandit.tuner.deciding.recommendation import Posterior
from softbandit.tuner.words.description import Description

SAFE = 0.9  # probability with which the best configuration meets the limits

Posteriors = tuple[CandidatePosterior, ...]  # of each output


@dataclass(frozen=True, eq=False)
class Forecast:
    """The configurations of a round, and what is expected of them."""

    configurations: Floats  # (n, d)
    outlook: Outlook
    standing: Standing
    posterior: Posterior  # without pending rounds

    @cached_property
    def best(self) -> int:
        """The configuration to keep: the largest reward of those that probably meet the limits."""
        return int(self.posterior.best(SAFE).argmax())


class Forecaster:
    """Forecasts from the memory of a tuner. Posteriors over all configurations are kept while they hold."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._every: tuple[Description, Floats] | None = None
        self._posteriors: tuple[Beliefs, Posteriors] | None = None

    @property
    def evidence(self) -> Evidence:
        return self.memory.evidence

    def pool(self, rng: np.random.Generator) -> Floats:
        """Return configurations to choose from before anything is learned, (n, d)."""
        space = self.evidence.description.space
        if space.size <= candidates.FINITE_LIMIT:
            return rng.permutation(self.every)
        return space.at(rng.random((candidates.ALL, space.dimension)))

    @property
    def every(self) -> Floats:
        """All configurations of a finite space."""
        if self._every is None or self._every[0] is not self.evidence.description:
            self._every = self.evidence.description, self.evidence.description.space.every()
        return self._every[1]

    def prepare(self, beliefs: Beliefs) -> None:
        """Compute what forecasts of all rounds have in common."""
        if has_fixed_candidates(self.evidence.description):
            self._posteriors_at(beliefs, self.every)

    def forecast(self, beliefs: Beliefs, context: Values | None, rng: np.random.Generator) -> Forecast:
        """Return the forecast of a round."""
        if candidates.looks_at_all(self.evidence.description):
            configurations = self.every
        else:
            configurations = candidates.sample_configurations(self.evidence, beliefs, rng)
        X, labels = self._in_contexts(configurations, context, rng)
        return self._forecast(beliefs, configurations, X, labels)

    def _forecast(self, beliefs: Beliefs, configurations: Floats, X: Floats, labels: Ints | None) -> Forecast:
        models, n = beliefs.models, len(configurations)
        P, Z = self.memory.tail(beliefs)
        pending = self._at_now(self.evidence.pending_points)
        posteriors = self._posteriors_at(beliefs, X)
        measured = _given(posteriors, P, Z)
        moments, further = measured, np.concatenate([P, pending])
        if len(pending):
            moments = _given(posteriors, further, Z)
        standing = self._standing(beliefs, self._pending_costs(beliefs, posteriors, further, Z))
        estimates = optimistic(models, moments, standing.width)
        prices, phi, weights = plan_round(models, estimates, moments, standing, labels)
        outlook = Outlook(np.full(len(X), -1), X, *estimates, prices, phi, weights, moments).among(slice(n))
        posterior = Posterior(models, [(mean[:n], variance[:n]) for mean, variance in measured])
        return Forecast(configurations, outlook, standing, posterior)

    def posterior(self, beliefs: Beliefs, configurations: Floats, context: Values | None) -> Posterior:
        """Return the posterior at any configurations (n, d), without pending rounds."""
        P, Z = self.memory.tail(beliefs)
        X = self._at_now(candidates.joined(configurations, self._context(context)))
        return Posterior(beliefs.models, _given(beliefs.at(X), P, Z))

    def _posteriors_at(self, beliefs: Beliefs, X: Floats) -> Posteriors:
        """Return the posteriors at the candidates; they are kept if these are the same in every round."""
        if not has_fixed_candidates(self.evidence.description):
            return beliefs.at(X)
        if self._posteriors is None or self._posteriors[0] is not beliefs:
            self._posteriors = beliefs, beliefs.at(X)
        return self._posteriors[1]

    # -- Points. --

    def _context(self, context: Values | None) -> Floats:
        contexts = self.evidence.description.context
        return np.empty(0) if contexts is None or context is None else contexts.encode(context)

    def _at_now(self, X: Floats) -> Floats:
        """Return points as kernels see them: with the time now, if the functions drift."""
        return X if half_life(self.evidence.description) is None else np.c_[X, np.full(len(X), self.evidence.time)]

    def _in_contexts(
        self, configurations: Floats, context: Values | None, rng: np.random.Generator
    ) -> tuple[Floats, Ints | None]:
        """Return the configurations in this context, then some of them in others, and the number of their context."""
        X = candidates.joined(configurations, self._context(context))
        if context is None:
            return self._at_now(X), None
        few = rng.permutation(configurations)[: candidates.PER_CONTEXT]
        others = candidates.context_sample(self.evidence, self.memory.regime.start)
        joined = [X, *(candidates.joined(few, other) for other in others)]
        labels = np.repeat(np.arange(len(joined)), [len(points) for points in joined])
        return self._at_now(np.concatenate(joined)), labels

    # -- Debts. --

    def _pending_costs(self, beliefs: Beliefs, posteriors: Posteriors, further: Floats, Z: Floats) -> Floats:
        """Return the total of each cost that is expected of pending rounds, (m,)."""
        observed = Z.shape[1]
        if len(further) == observed:
            return np.zeros(len(Z) - 1)
        totals = [
            model.units.outside(c.mean_at(further, z)[observed:], model.effects.noise).sum()
            for model, c, z in zip(beliefs.models, posteriors, Z, strict=True)
        ]
        return np.array(totals[1:])

    def _standing(self, beliefs: Beliefs, pending_costs: Floats) -> Standing:
        """Return where the run is.

        A limit over a window is repaid within it, since older debts leave it; and what is left of it is not spent,
        since that leaves the window as well.
        """
        description, t = self.evidence.description, self.evidence.rounds
        left = max(t, PATIENCE) if description.rounds is None else max(description.rounds - t, 1)
        windows = np.array([limit.window or np.inf for limit in description.limits])
        rounds = np.minimum(max(description.rounds or t, t, 1), windows)
        debts = self.evidence.debts() + pending_costs
        debts = np.where(windows < np.inf, np.maximum(debts, 0.0), debts)
        repay_within = np.minimum(repayment_rounds(t, description.rounds), windows)
        return Standing(debts, beliefs.spreads, rounds, left, repay_within)


def _given(posteriors: Posteriors, P: Floats, Z: Floats) -> list[Moments]:
    """Return the moments of each output after the measurements Z (1 + m, o) at the first o of P."""
    return [c.given(P, z, outliers=i == 0) for i, (c, z) in enumerate(zip(posteriors, Z, strict=True))]
