"""What policies share that must be given a safe arm to begin with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softbandit import checks
from softbandit.arrays import Array, namespace
from softbandit.errors import SafeSeedError, SoftbanditError, Words
from softbandit.policy import State, StepPolicy


@dataclass(frozen=True, eq=False)
class Seeded(StepPolicy):
    """A policy that begins with arms known to be safe.

    Parameters
    ----------
    safe
        The seed: one arm known to be safe, or several.
    """

    safe: int | Sequence[int] | None = None
    seed: Array = field(init=False, repr=False)  # (n,), true at safe arms

    def complaint(self, state: State) -> tuple[Array, SoftbanditError]:
        """The seed is refuted where the lower confidence bound of some cost is above 0."""
        xp = namespace(state.dual)
        mean, half = self.surrogate.confidence(state.posterior, state.round + 1)
        refuted = xp.any((mean[:, 1:] - half[:, 1:] > 0) & self.seed, axis=(1, 2))
        got = Words("a lower confidence bound of its cost above 0")
        return refuted, SafeSeedError.of("safe", "a seed that what was seen leaves possible", got, "Name another arm.")

    def _settle_seed(self) -> Callable[[str, Any], None]:
        put = self._settle()
        n = len(self.arms)
        seeds = [] if self.safe is None else np.atleast_1d(np.asarray(self.safe, dtype=object)).tolist()
        if not seeds:
            raise SafeSeedError.of("safe", "at least one arm known to be safe", self.safe, "Name it, as safe=.")
        seed = np.zeros(n, dtype=bool)
        seed[[checks.whole("safe", arm, 0, n - 1) for arm in seeds]] = True
        put("seed", seed)
        return put


def on_offer(arms: Array, among: Array | None) -> Array:
    """Those of the arms (b, n) that may be played this round."""
    return arms if among is None else arms & among
