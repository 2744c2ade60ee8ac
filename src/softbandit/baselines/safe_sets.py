"""Safe sets: the arms that SafeOpt and StageOpt know to be safe, and those that may be best or enlarge the set.

| symbol | meaning | shape |
|---|---|---|
| l, u | lower and upper bounds of every output, intersected over the rounds | b x (1 + m) x n |
| S | safe arms: the seed, and what follows from the bounds | b x n |
| M | maximisers: safe arms that may be best, u_f(x) >= max over S of l_f | b x n |
| E | expanders: safe arms that may show another to be safe | b x n |

With Lipschitz constants Lip_i of the costs, x' is safe if for every i some safe x has
u_i(x) + Lip_i |x - x'| <= 0, and x is an expander if for some x' outside S every
l_i(x) + Lip_i |x - x'| <= 0. Without them, x' is safe if every u_i(x') <= 0, and x is an
expander if seeing its most favourable value l_i(x) would make some x' outside S safe.
Pairs of arms are visited in blocks, so memory grows with n only.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend.random import Draws
from softbandit.backend.shapes import ArmMask, Floats, OutputsPerArm, PerCost, PerTrial
from softbandit.backend.traced_fields import HostOnly, Traced
from softbandit.backend.vocabulary import namespace, restrict
from softbandit.baselines.safe_seed import Seeded
from softbandit.errors import ArgumentError
from softbandit.gp import Kernel
from softbandit.policies import Choice, State

BLOCK_NUMBERS = 2**22  # pairs held at a time, over all trials and constraints


class Sets(NamedTuple):
    low: OutputsPerArm  # l
    up: OutputsPerArm  # u
    safe: ArmMask
    maximisers: ArmMask
    expanders: ArmMask


@dataclass(frozen=True, eq=False)
class SafePolicy(Seeded):
    """A policy that plays safe arms only.

    Parameters
    ----------
    lipschitz
        Lipschitz constants of the costs: a number, one per constraint, "arms" to compute them from the
        kernel and the norm bounds over all pairs of arms, or None to use none.
    """

    lipschitz: HostOnly[float | Sequence[float] | str | None] = None
    lip: Traced[Floats | None] = field(init=False, repr=False)  # (m,)

    def init(self, trials: int) -> State:
        wide = np.full((trials, 1 + self.constraints, len(self.arms)), np.inf)
        return super().init(trials)._replace(memory=(-wide, wide, np.tile(self.known_safe, (trials, 1))))

    def update(self, state: State, choice: Choice, reward: PerTrial, cost: PerCost) -> State:
        return super().update(state, choice, reward, cost)._replace(memory=self.intervals(state))

    def intervals(self, state: State) -> tuple[OutputsPerArm, OutputsPerArm, ArmMask]:
        """Return l, u and S of the next round."""
        xp = namespace(state.dual)
        low, up, S = state.memory
        mean, half = self.model.confidence(state.posterior, state.round + 1)
        low, up = xp.maximum(low, mean - half), xp.minimum(up, mean + half)  # l_t, u_t: intersected
        known = xp.all(up[:, 1:] <= 0, axis=1) if self.lip is None else self._reached(up[:, 1:], S)
        return low, up, self.known_safe | known  # S_t

    def sets(self, state: State) -> Sets:
        """Return S, M and E of the next round."""
        xp = namespace(state.dual)
        low, up, S = self.intervals(state)
        floor = xp.max(restrict(low[:, 0], S), axis=1)
        M = S & (up[:, 0] >= floor[:, None])  # maximisers
        E = S & (self._may_expand(state, low[:, 1:], S) if self.lip is None else self._reaches_out(low[:, 1:], S))
        return Sets(low, up, S, M, E)  # E: expanders

    def widest(self, sets: Sets, candidates: ArmMask, draws: Draws) -> Choice:
        """Return the candidate with the widest interval of any output; any safe arm, if crossing bounds leave none."""
        xp = namespace(candidates)
        candidates = xp.where(xp.any(candidates, axis=1)[:, None], candidates, sets.safe)
        arm = self._best(restrict(xp.max(sets.up - sets.low, axis=1), candidates), draws)
        return self._choice(arm, sets.up[:, 0], sets.low[:, 1:])

    def _reached(self, up: OutputsPerArm, S: ArmMask) -> ArmMask:
        """Return the arms x' with, for every constraint, some safe x at u_i(x) + Lip_i |x - x'| <= 0."""
        xp = namespace(up)
        from_safe = xp.where(S[:, None, :], up, np.inf)[:, :, :, None]
        parts = [xp.all(xp.min(from_safe + cone, axis=2) <= 0, axis=1) for _, cone in self._cones(len(up))]
        return xp.concat(parts, axis=1)

    def _reaches_out(self, low: OutputsPerArm, S: ArmMask) -> ArmMask:
        """Return the arms x with some x' outside S at l_i(x) + Lip_i |x - x'| <= 0 for every constraint."""
        xp = namespace(low)
        expanders = xp.zeros_like(S)
        for block, cone in self._cones(len(low)):
            becomes_safe = xp.all(low[:, :, :, None] + cone <= 0, axis=1)  # (b, n, block)
            expanders = expanders | xp.any(becomes_safe & ~S[:, None, block], axis=2)
        return expanders

    def _may_expand(self, state: State, low: OutputsPerArm, S: ArmMask) -> ArmMask:
        """Return the arms x whose lowest costs l_i(x), if observed, would make some x' outside S safe."""
        xp = namespace(low)
        mean = self.model.mean(state.posterior)
        expanders = xp.zeros_like(S)
        for block in self._blocks(len(low)):
            becomes_safe = ~S[:, None, block]  # (b, 1, block)
            for i in range(1, 1 + self.constraints):
                k, var, beta, lam = self.model.pairs(state.posterior, i, state.round + 1, block)
                d = lam + var
                shift = k * ((low[:, i - 1] - mean[:, i]) / d)[:, :, None]
                left = xp.maximum(var[:, None, block] - k * k / d[:, :, None], 0.0)
                upper = mean[:, i, None, block] + shift + beta[:, :, None] * xp.sqrt(left)
                becomes_safe = becomes_safe & (upper <= 0)
            expanders = expanders | xp.any(becomes_safe, axis=2)
        return expanders

    def _blocks(self, trials: int) -> Iterator[slice]:
        n = len(self.arms)
        size = max(1, BLOCK_NUMBERS // (trials * n * max(1, self.constraints)))
        return (slice(first, min(first + size, n)) for first in range(0, n, size))

    def _cones(self, trials: int) -> Iterator[tuple[slice, Floats]]:
        """Iterate over blocks of x', with Lip_i |x - x'| for all x: (m, n, block)."""
        assert self.lip is not None
        for block in self._blocks(trials):
            yield block, self.lip[:, None, None] * distances(self.arms, self.arms[block])

    def _complete(self) -> None:
        super()._complete()
        self._set(lip=self._lipschitz())

    def _lipschitz(self) -> Floats | None:
        if self.lipschitz is None:
            return None
        if not isinstance(self.lipschitz, str):
            return validation.numbers_above("lipschitz", self.lipschitz, self.constraints, least=0.0, strict=True)
        if self.lipschitz != "arms":
            raise ArgumentError.of("lipschitz", "a number, 'arms' or None", self.lipschitz, "Pass one of them.")
        kernels = [group.kernel for group, _ in self.model.by_output()[1:]]
        slopes = {id(kernel): steepness(kernel, self.arms) for kernel in kernels}
        return np.array([G * slopes[id(kernel)] for G, kernel in zip(self.bounds[1:, 0], kernels, strict=True)])


def distances(X: Floats, Y: Floats) -> Floats:
    """Return |x - y| for all pairs."""
    squares = sum((X[:, j, None] - Y[None, :, j]) ** 2 for j in range(X.shape[1]))
    return namespace(X).sqrt(squares)


def steepness(kernel: Kernel, arms: Floats) -> float:
    """Return the largest slope of a function of norm 1: max sqrt(k(x, x) + k(y, y) - 2 k(x, y)) / |x - y| over arms."""
    diag, size = kernel.diag(arms), max(1, BLOCK_NUMBERS // len(arms))
    largest = 0.0
    for first in range(0, len(arms), size):
        block = slice(first, first + size)
        gap = distances(arms, arms[block])
        rise = np.sqrt(np.maximum(diag[:, None] + diag[None, block] - 2 * kernel(arms, arms[block]), 0.0))
        slope = np.divide(rise, gap, out=np.zeros_like(gap), where=gap > 0)
        largest = max(largest, float(slope.max()))
    return largest if largest > 0 else math.ulp(1.0)
