"""The description of a tuner."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from softbandit import validation
from softbandit.backend import Floats
from softbandit.domains import Categorical, Float, Integer, LogFloat, Space
from softbandit.errors import FeedbackError

KINDS = {kind.__name__: kind for kind in (Float, LogFloat, Integer, Categorical)}


@dataclass(frozen=True)
class Description:
    """All that a user says about a tuner."""

    space: Any
    metric: str
    maximize: bool = True
    limits: Any = ()
    context: Any = None
    baseline: Any = None
    rounds: int | None = None
    forget: Any = None
    explore_share: float | None = None
    deadline: float | None = None
    noise: Any = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("space", "context"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, Space):
                validation.store(self, **{name: Space(given)})
        validation.store(self, limits=tuple(self.limits), seed=validation.seed(self.seed))

    def to_json(self) -> dict[str, Any]:
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        return plain | {"space": _space(self.space), "context": self.context and _space(self.context), "version": 1}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "Description":
        given = {name: value for name, value in plain.items() if name != "version"}
        given |= {"space": _from(given["space"]), "context": given["context"] and _from(given["context"])}
        return cls(**given | {"limits": tuple(given["limits"])})

    def differences(self, other: "Description") -> list[str]:
        mine, others = self.to_json(), other.to_json()
        return [f"{name}: {mine[name]!r} and {others[name]!r}" for name in mine if mine[name] != others[name]]

    def check_metrics(self, metrics: Mapping[str, object]) -> dict[str, float]:
        if self.metric not in metrics:
            raise FeedbackError.of("metrics", f"{self.metric!r}", dict(metrics), "Report it.")
        return {name: validation.number(name, value, FeedbackError) for name, value in metrics.items()}

    def outputs(self, metrics: Mapping[str, float]) -> Floats:
        return np.array([metrics[self.metric]])

    def changed(self, **changes: Any) -> "Description":
        return replace(self, **changes)


def _space(space: Space) -> list[Any]:
    return [[name, type(p).__name__, list(vars(p).values())] for name, p in space.parameters]


def _from(plain: list[Any]) -> Space:
    return Space({name: KINDS[kind](*values) for name, kind, values in plain})
