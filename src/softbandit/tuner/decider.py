"""A stand-in until the real one is merged."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from softbandit.domains import Values
from softbandit.tuner.description import Description


@dataclass(frozen=True)
class Proposal:
    values: Values
    kind: str
    expected: dict[str, Any]


class Evidence:
    def __init__(self, description: Description) -> None:
        self.description, self.total, self.pending = description, 0.0, 0


class Decider:
    def __init__(self, evidence: Evidence, learned: Any = None) -> None:
        self.evidence, self.memory = evidence, self
        self.beliefs = None

    @classmethod
    def start(cls, description: Description) -> "Decider":
        return cls(Evidence(description))

    def asked(self, id: int, values: Values, context: Values | None, kind: str) -> None:
        self.evidence.pending += 1

    def told(self, id: int, metrics: Any) -> None:
        self.evidence.pending -= 1
        self.evidence.total = 0.99 * self.evidence.total + metrics[self.evidence.description.metric]

    def failed(self, id: int) -> None:
        self.evidence.pending -= 1

    def expired(self, id: int) -> None:
        self.evidence.pending -= 1

    def observed(self, values: Values, metrics: Any, context: Values | None) -> None:
        self.evidence.total += 1

    def changed(self, description: Description) -> None:
        self.evidence.description = description

    def expected(self, values: Values, context: Values | None) -> dict[str, float]:
        return {}

    def decide(self, ask: int, context: Values | None) -> Proposal:
        e = self.evidence
        rng = np.random.default_rng([e.description.seed, ask, int(abs(e.total) * 1000), max(0, e.pending)])
        space = e.description.space
        x = space.at(rng.random((1, space.dimension)))[0]
        return Proposal(space.values(x), "explore", {})

    def recommend(self, context: Values | None) -> Proposal:
        return self.decide(0, context)

    def learned(self) -> dict[str, Any]:
        return {"total": np.array([self.evidence.total])}
