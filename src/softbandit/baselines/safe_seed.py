"""The base of policies that need a safe arm to begin with."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from softbandit import validation
from softbandit.backend import Bools, HostOnly, Traced, namespace
from softbandit.errors import Description, SafeSeedError, SoftbanditError
from softbandit.policies import State, StepPolicy


@dataclass(frozen=True, eq=False)
class Seeded(StepPolicy):
    """A policy that begins with arms known to be safe.

    Parameters
    ----------
    safe
        The seed: one arm known to be safe, or several.
    """

    safe: HostOnly[int | Sequence[int] | None] = None
    known_safe: Traced[Bools] = field(init=False, repr=False)  # (n,), true at the seed's arms

    takes_contexts = False

    def refuted(self, state: State) -> Bools | None:
        """Return the trials in which the lower confidence bound of some cost of the seed is above 0."""
        xp = namespace(state.dual)
        mean, half = self.model.confidence(state.posterior, state.round + 1)
        return xp.any((mean[:, 1:] - half[:, 1:] > 0) & self.known_safe, axis=(1, 2))

    def objection(self) -> SoftbanditError:
        arms = ", ".join(map(str, np.flatnonzero(self.known_safe)))
        got = Description(f"a lower confidence bound of a cost above 0 among arms {arms}")
        return SafeSeedError.of("safe", "a seed that agrees with the observations", got, "Name another arm.")

    def _complete(self) -> None:
        known_safe = validation.marked("safe", () if self.safe is None else self.safe, len(self.arms))
        if not known_safe.any():
            raise SafeSeedError.of("safe", "at least one arm known to be safe", self.safe, "Name it, as safe=.")
        self._set(known_safe=known_safe)
