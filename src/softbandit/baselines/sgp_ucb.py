"""SGP-UCB: uniform play of a safe seed, then UCB over the arms known to be safe."""

import math
from dataclasses import dataclass, field

import numpy as np

from softbandit import validation
from softbandit.backend.engine_operations import operations
from softbandit.backend.random import DrawCount, Draws
from softbandit.backend.shapes import ArmMask, Floats
from softbandit.backend.ties import pick
from softbandit.backend.traced_fields import HostOnly, Traced
from softbandit.backend.vocabulary import namespace, restrict
from softbandit.baselines.safe_seed import Seeded
from softbandit.errors import ArgumentError, Description
from softbandit.policies import About, Choice, State


@dataclass(frozen=True, eq=False)
class SGPUCB(Seeded):
    """t <= T':  x_t uniform over the seed
    t > T':  x_t = argmax u_f(x)  over the seed and {x: u_i(x) <= 0 for every i}  (not intersected)

    Amani, Alizadeh & Thrampoulidis 2020, *Regret Bounds for Safe Gaussian Process Bandit
    Optimization*. Written from a summary of it, since no program is public: its formula for T', and
    whether it intersects bounds over time, could not be checked. Its widths are for functions drawn
    from a Gaussian process; here they are CKB's.

    Parameters
    ----------
    initial_rounds
        T': a number; "features" for 8 max|phi|^2 ln(r / alpha) / kappa rounds, after which (by the matrix
        Chernoff bound) all r directions of the features have been observed at half their rate, kappa being the
        smallest eigenvalue of the seed's mean phi phi^T, if it is positive (the paper's T' also depends on the gap
        at the optimum); by default sqrt(T), a choice of this package.
    """

    initial_rounds: HostOnly[int | str | None] = None
    uniform_rounds: Traced[int] = field(init=False, repr=False)  # T'

    about = About(
        "uniform play of a safe seed, then the best upper bound among arms known to be safe",
        "Amani et al. 2020",
        "a safe arm, better several; horizon",
        "no violation in any round, with probability 1 - alpha",
    )

    def _complete(self) -> None:
        super()._complete()
        self._set(uniform_rounds=self._initial())

    def draws(self) -> DrawCount:
        return DrawCount(0, 2)  # the seed's arm, and ties

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        xp = namespace(state.dual)
        mean, half = self.model.confidence(state.posterior, state.round + 1)
        low, up = mean - half, mean + half
        seed = xp.broadcast_to(self.known_safe, up[:, 0].shape)
        safe = self.known_safe | xp.all(up[:, 1:] <= 0, axis=1)
        arm = operations(state.dual).branch(
            state.round < self.uniform_rounds,
            lambda: pick(seed, draws.uniform[:, 0]),  # x_t for t <= T'
            lambda: self._best(restrict(up[:, 0], safe), draws),  # x_t for t > T'
        )
        return self._choice(arm, up[:, 0], low[:, 1:])

    def _initial(self) -> int:
        if self.initial_rounds is None:
            return math.isqrt(self.horizon)
        if not isinstance(self.initial_rounds, str):
            return validation.whole("initial_rounds", self.initial_rounds, least=0, most=2**53)
        validation.named("initial_rounds", self.initial_rounds, dict.fromkeys(["features"]))
        costs = [group.features for group, _ in self.model.by_output()[1:]]
        return max(self._rounds_to_span(features.phi[self.known_safe]) for features in costs)

    def _rounds_to_span(self, phi: Floats) -> int:
        """Return the rounds after which uniform play of arms with these features has observed every direction."""
        kappa = float(np.linalg.eigvalsh(phi.T @ phi / len(phi))[0])
        if kappa <= 1e-9:
            got = Description(f"a seed of {len(phi)} arms that does not span {phi.shape[1]} directions")
            remedy = "Pass initial_rounds as a number, or a larger seed."
            raise ArgumentError.of("initial_rounds", "a seed whose features span the space", got, remedy)
        return math.ceil(8 * float(np.vecdot(phi, phi).max()) * math.log(phi.shape[1] / self.confidence) / kappa)
