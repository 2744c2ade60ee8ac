"""The decision that policies without constraints share."""

from dataclasses import dataclass
from typing import ClassVar

from softbandit.backend.random import Draws
from softbandit.backend.shapes import ArmMask
from softbandit.policies.base import Choice, State, StepPolicy


@dataclass(frozen=True, eq=False)
class Unconstrained(StepPolicy):
    """x_t = argmax f_t(x), with a model of the reward only: costs are neither modelled nor observed."""

    models_costs: ClassVar[bool] = False

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        f, g = self._estimates(state, draws)
        return self._play_best(f, f, g, among, draws)  # x_t
