"""Autopilot after rounds that were chosen elsewhere, some of them not measured, or not yet."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from softbandit.backend import POLICY, Floats, draw
from softbandit.policies import Autopilot, State
from softbandit.policies.autopilot_knowledge import Knowledge
from softbandit.policies.base import LARGEST, without_tiny


class Round(NamedTuple):
    """A point and its outputs."""

    x: tuple[float, ...]
    y: tuple[float | None, ...]  # reward, then costs: None for what was not measured, -inf for the worst so far


@dataclass(frozen=True, eq=False)
class Learned:
    """A policy, and what it knows after some rounds."""

    policy: Autopilot
    known: Knowledge
    rounds: tuple[Round, ...] = ()

    @classmethod
    def nothing(cls, policy: Autopilot) -> "Learned":
        return cls(policy, policy.init(1).posterior[0])

    @property
    def state(self) -> State:
        return State(len(self.rounds), np.zeros((1, self.policy.constraints)), (self.known,))

    def after(self, rounds: Sequence[Round]) -> "Learned":
        """Return what is known after these rounds. Only those that are new are learned from, if they come last."""
        n = len(self.rounds)
        if tuple(rounds[:n]) != self.rounds:
            return Learned.nothing(self.policy).after(rounds)
        learned = self
        for round in rounds[n:]:
            learned = learned.plus(round)
        return learned

    def plus(self, round: Round) -> "Learned":
        """Return what is known after one more round."""
        x, arms = np.array(round.x), self.policy.arms
        arm = -1 if self.policy.continuous else int(((arms - x) ** 2).sum(axis=1).argmin())
        y = without_tiny(self._completed(np.array(round.y, dtype=float), arm, x))
        return replace(self, known=self.known.observe(arm, x, y), rounds=(*self.rounds, round))

    def _completed(self, y: Floats, arm: int, x: Floats) -> Floats:
        """Return outputs with what is expected in place of NaN, and cut to the range so far if they are infinite."""
        y = np.where(np.isnan(y), self._expected(arm, x), y)
        before = self.known.Y if len(self.known.Y) else np.zeros((1, len(y)))
        return np.where(np.abs(y) <= LARGEST, y, np.clip(y, before.min(axis=0), before.max(axis=0)))

    def _expected(self, arm: int, x: Floats) -> Floats:
        """Return the posterior means at a point; before there is a model, the mean of all rounds."""
        if not self.known.models:
            return np.asarray(self.known.Y.sum(axis=0) / max(len(self.known.Y), 1))
        mean, _ = self.policy.moments(self.state, x[None] if self.policy.continuous else None)
        return np.asarray(mean[:, 0 if self.policy.continuous else arm])

    def decide(self, seed: int, round: int) -> Floats:
        """Return the point to play, with the random numbers of that round."""
        draws = next(draw(self.policy.draws(), seed, [0], round, 1, POLICY).rounds())
        chosen = self.policy.decide(self.state, draws).arm[0]
        return np.asarray(chosen if self.policy.continuous else self.policy.arms[int(chosen)])
