"""The rule that policies without constraints share."""

from dataclasses import dataclass

from softbandit.backend.shapes import OutputsPerArm, PerArm
from softbandit.policies.base import State, StepPolicy


@dataclass(frozen=True, eq=False)
class Unconstrained(StepPolicy):
    """x_t = argmax f_t(x), with a model of the reward only: costs are neither modelled nor observed."""

    models_costs = False

    def acquisition(self, state: State, f: PerArm, g: OutputsPerArm) -> PerArm:
        return f
