"""Safe sets: the arms that SafeOpt and StageOpt know to be safe, and those that may be best or enlarge the set.

| symbol | meaning | shape |
|---|---|---|
| l, u | lower and upper bounds of every output: of this round, or the tightest so far | b x (1 + m) x n |
| S | safe arms: the seed, and what follows from the bounds | b x n |
| M | maximisers: safe arms that may be best, u_f(x) >= max over S of l_f | b x n |
| E | expanders: safe arms that may show another to be safe | b x n |

With Lipschitz constants Lip_i of the costs, x' is safe if for every i some safe x has
u_i(x) + Lip_i |x - x'| <= 0, and x reaches x' by constraint i if l_i(x) + Lip_i |x - x'| <= 0.
Without them, x' is safe if every u_i(x') <= 0, and x reaches x' by constraint i if seeing its
most favourable value l_i(x) would make u_i(x') <= 0. An expander reaches arms outside S: by each
constraint some x', or by all of them one and the same x'.
Pairs of arms are visited in blocks, so memory grows with n only.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend.random import Draws
from softbandit.backend.shapes import ArmMask, Bools, Floats, OutputsPerArm, PerArm, PerCost, PerOutput, PerTrial
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
    intersect
        Whether l and u are the tightest bounds of all rounds so far, as in the papers' proofs. The published
        programs use the bounds of the round alone, which is the default: with a width that is too narrow,
        intersected bounds cross, and never recover.
    expanders
        With several constraints, "each": by each of them by itself, an expander reaches some x' (the
        published programs, and the default); "all": it reaches one x' by all of them (from memory, the
        definition in StageOpt's paper). With Lipschitz constants they are the same: the closest x' decides.
    """

    lipschitz: HostOnly[float | Sequence[float] | str | None] = None
    intersect: bool = False
    expanders: str = "each"
    lip: Traced[Floats | None] = field(init=False, repr=False)  # (m,)

    def init(self, trials: int) -> State:
        wide = np.full((trials, 1 + self.constraints, len(self.arms)), np.inf)
        memory = self._kept(-wide, wide, np.tile(self.known_safe, (trials, 1)))
        return super().init(trials)._replace(memory=memory)

    def update(self, state: State, choice: Choice, reward: PerTrial, cost: PerCost) -> State:
        memory = self._kept(*self.intervals(state))
        return super().update(state, choice, reward, cost)._replace(memory=memory)

    def _kept(self, low: OutputsPerArm, up: OutputsPerArm, S: ArmMask) -> tuple[Any, ...]:
        """Return what the next round needs of l, u and S."""
        return (low, up, S) if self.intersect else (S,)

    def intervals(self, state: State) -> tuple[OutputsPerArm, OutputsPerArm, ArmMask]:
        """Return l, u and S of the next round."""
        xp = namespace(state.dual)
        *earlier, S = state.memory
        mean, half = self.model.confidence(state.posterior, state.round + 1)
        low, up = mean - half, mean + half  # l_t, u_t
        if self.intersect:
            low, up = xp.maximum(earlier[0], low), xp.minimum(earlier[1], up)
        known = xp.all(up[:, 1:] <= 0, axis=1) if self.lip is None else self._reached(up[:, 1:], S)
        return low, up, self.known_safe | known  # S_t

    def sets(self, state: State) -> Sets:
        """Return S, M and E of the next round."""
        xp = namespace(state.dual)
        low, up, S = self.intervals(state)
        floor = xp.max(restrict(low[:, 0], S), axis=1)
        M = S & (up[:, 0] >= floor[:, None])  # maximisers
        return Sets(low, up, S, M, self._reaching_out(state, low[:, 1:], S))

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
        cones = map(self._cones, self._blocks(len(up)))
        return xp.concat([xp.all(xp.min(from_safe + cone, axis=2) <= 0, axis=1) for cone in cones], axis=1)

    def _reaching_out(self, state: State, low: OutputsPerArm, S: ArmMask) -> ArmMask:
        """Return E: the safe arms that reach arms outside S by each constraint, or one such arm by all."""
        xp = namespace(low)
        found = [xp.zeros_like(S)] * (self.constraints if self.expanders == "each" else 1)
        for block in self._blocks(len(low)):
            outside = ~S[:, None, block]
            reached = list(self._reach(state, low, block))
            if self.expanders == "all":
                reached = [reduce(and_, reached, outside)]
            found = [E_i | xp.any(r & outside, axis=2) for E_i, r in zip(found, reached, strict=True)]
        return reduce(and_, found, S & xp.any(~S, axis=1)[:, None])

    def _reach(self, state: State, low: OutputsPerArm, block: slice) -> Iterator[Bools]:
        """Iterate over the constraints: whether each x reaches each x' of the block, (b, n, block)."""
        if self.lip is not None:
            cones = self._cones(block)
            yield from (low[:, i, :, None] + cones[i] <= 0 for i in range(self.constraints))
            return
        mean = self.model.mean(state.posterior)
        for i in range(1, 1 + self.constraints):
            yield self._upper_after(state, i, mean[:, i], low[:, i - 1], block) <= 0

    def _upper_after(self, state: State, i: int, mean: PerArm, low: PerArm, block: slice) -> Floats:
        """Return u_i at each x' of the block if l_i were observed at each x: (b, n, block)."""
        xp = namespace(low)
        k, var, beta, lam = self.model.pairs(state.posterior, i, state.round + 1, block)
        beta = self.cost_width(state, beta, i)
        d = lam + var
        shift = k * ((low - mean) / d)[:, :, None]
        left = xp.maximum(var[:, None, block] - k * k / d[:, :, None], 0.0)
        upper: Floats = mean[:, None, block] + shift + beta[:, :, None] * xp.sqrt(left)
        return upper

    def cost_width(self, state: State, beta: PerOutput, i: int) -> PerOutput:
        """Return the width (b, 1) of cost i, given that of the settings."""
        return beta

    def _blocks(self, trials: int) -> Iterator[slice]:
        n = len(self.arms)
        size = max(1, BLOCK_NUMBERS // (trials * n * max(1, self.constraints)))
        return (slice(first, min(first + size, n)) for first in range(0, n, size))

    def _cones(self, block: slice) -> Floats:
        """Return Lip_i |x - x'| for all x, and x' of the block: (m, n, block)."""
        assert self.lip is not None
        return self.lip[:, None, None] * distances(self.arms, self.arms[block])

    def _complete(self) -> None:
        super()._complete()
        self._set(intersect=validation.flag("intersect", self.intersect))
        validation.named("expanders", self.expanders, dict.fromkeys(["each", "all"]))
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
