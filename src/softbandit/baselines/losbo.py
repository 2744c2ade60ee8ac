"""LoSBO: a safe set from Lipschitz constants and a bound on the noise alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from softbandit import validation
from softbandit.backend import (
    ArmMask,
    Draws,
    Floats,
    HostOnly,
    OutputsPerArm,
    PerCost,
    PerTrial,
    Traced,
    namespace,
    restrict,
)
from softbandit.baselines.safe_sets import SafePolicy, distances
from softbandit.errors import ArgumentError
from softbandit.model import PerConstraint
from softbandit.policies import About, Choice, State

RULES = "widest", "ucb"


@dataclass(frozen=True, eq=False)
class LoSBO(SafePolicy):
    """S_t = the seed and {x: for every i some s < t with c_i(s) + E_i + Lip_i |x - x_s| <= 0}

    rule="widest":  x_t = argmax over M and E of max over outputs of u(x) - l(x), as SafeOpt (LoSBO)
    rule="ucb":     x_t = argmax over S_t of u_f(x) (LoS-GP-UCB)

    Safety does not depend on the Gaussian process, which serves exploration alone: M and E are
    those of safe_sets.py, with bounds that are not intersected over the rounds.

    Fiedler, Menn, Kreiskoether & Trimpe 2024, *On Safety in Safe Bayesian Optimization*, after
    the authors' program, where the reward is also the cost, and bounds have width=2. Several
    constraints, each with its own s, are this library's.

    Parameters
    ----------
    rule
        "widest" or "ucb".
    noise_bound
        E: a bound on the noise of the costs, one number or one per constraint; 3 R by default, which Gaussian
        noise exceeds in 1 of 740 observations.
    lipschitz
        As for SafeOpt, but there must be some.
    """

    rule: str = "widest"
    noise_bound: HostOnly[PerConstraint | None] = None
    lipschitz: HostOnly[float | Sequence[float] | str | None] = "arms"
    intersect: bool = field(default=False, init=False, repr=False)
    expanders: str = field(default="each", init=False, repr=False)
    excess: Traced[Floats] = field(init=False, repr=False)  # (m,): E

    about = About(
        "a safe set from Lipschitz constants and the bound on the noise; then as SafeOpt, or the best upper bound",
        "Fiedler et al. 2024",
        "a safe arm; Lipschitz constants; a bound on the noise; horizon",
        "no violation in any round, if the bound on the noise holds",
    )

    def _complete(self) -> None:
        super()._complete()
        if self.lip is None:
            raise ArgumentError.of("lipschitz", "a number, or 'arms'", None, "The safe set is made of them.")
        validation.named("rule", self.rule, dict.fromkeys(RULES))
        given = 3 * self.model.noise[1:] if self.noise_bound is None else self.noise_bound
        self._set(excess=validation.numbers_above("noise_bound", given, self.constraints, least=0.0, strict=False))

    def init(self, trials: int) -> State:
        unknown = np.full((trials, self.constraints, len(self.arms)), np.inf)
        return super().init(trials)._replace(memory=(unknown,))

    def update(self, state: State, choice: Choice, reward: PerTrial, cost: PerCost) -> State:
        xp, (highest,) = namespace(state.dual), state.memory
        assert self.lip is not None
        cone = self.lip[:, None] * distances(self.arms[choice.arm], self.arms)[:, None]  # (b, m, n)
        highest = xp.minimum(highest, (cost + self.excess)[:, :, None] + cone)  # g_i can be no higher
        return State(state.round + 1, state.dual, self._learn(state, choice, reward, cost), (highest,))

    def intervals(self, state: State) -> tuple[OutputsPerArm, OutputsPerArm, ArmMask]:
        xp, (highest,) = namespace(state.dual), state.memory
        mean, half = self.model.confidence(state.posterior, state.round + 1)
        return mean - half, mean + half, self.known_safe | xp.all(highest <= 0, axis=1)  # S_t

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        if self.rule == "widest":
            sets = self.sets(state)
            return self.widest(sets, sets.maximisers | sets.expanders, draws)  # x_t
        low, up, S = self.intervals(state)
        return self._choice(self._best(restrict(up[:, 0], S), draws), up[:, 0], low[:, 1:])  # x_t
