"""The Gaussian-process model of the reward and the m costs, over finite arms.

Outputs are numbered 0 (reward), 1, ..., m (costs). Those that share a kernel and lambda
share one posterior (a group), so one pass over the features serves them all; those that
share an exploration besides (a block) are estimated in one call.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from softbandit.backend.random import DrawCount, Draws
from softbandit.backend.shapes import ArmIndex, Floats, Ints, OutputsPerArm, PerArm, PerOutput
from softbandit.backend.traced_fields import HostOnly, Traced
from softbandit.backend.vocabulary import namespace
from softbandit.errors import ArgumentError
from softbandit.gp import TOLERANCE, ArmKernel, Features, Kernel, features, tolerance_for
from softbandit.gp.data_space import LEAST_LAMBDA, NOT_FACTORISED, has_high_rank
from softbandit.gp.weight_space import WeightPosterior
from softbandit.model.beliefs import Belief
from softbandit.model.explorations import Exploration
from softbandit.model.group import Factor, Group, Posterior
from softbandit.model.widths import Width, WidthFunction, WidthRule

Part = tuple[int, int, Ints, Exploration, tuple[int, int]]
"""A block before its draws are assigned: group, place in it, outputs, exploration, and its needs per output."""

Posteriors = tuple[Posterior, ...]  # one per group
Factors = Sequence[Factor | Sequence[int]] | None  # kernels on the arms, or the pivots of their factorisation
NO_DRAWS = np.empty((1, 1, 0))  # (trials, outputs, count)


class Output(NamedTuple):
    """The model and exploration of one output."""

    kernel: Kernel
    regularisation: float  # lambda
    exploration: Exploration
    noise: float  # R


@dataclass(frozen=True, eq=False)
class Block:
    """Outputs of one group that share an exploration, and the draws that they use."""

    group: int
    outputs: Ints  # their numbers
    width: Traced[Width]
    exploration: Exploration
    needs: DrawCount  # per output
    members: slice  # of the group's outputs
    normal: slice  # of the round's draws
    uniform: slice

    def draws(self, draws: Draws) -> Draws:
        """Return this block's part of the round's draws, (trials, outputs, count)."""
        b, k = len(draws.normal), len(self.outputs)
        normal, uniform = self.needs
        return Draws(
            draws.normal[:, self.normal].reshape(b, k, normal) if normal else NO_DRAWS,
            draws.uniform[:, self.uniform].reshape(b, k, uniform) if uniform else NO_DRAWS,
        )


@dataclass(frozen=True, eq=False)
class FiniteModel:
    """The model of all outputs. Posteriors are a tuple with one entry per group."""

    groups: Traced[list[Group]]
    blocks: Traced[list[Block]]
    order: Ints  # sorts the groups' outputs, one group after another, by number
    factors: HostOnly[list[Factor]]  # one per distinct kernel
    noise: Traced[Floats]  # (1 + m,): R of each output

    def draws(self) -> DrawCount:
        """Return the random numbers needed per round and trial."""
        return DrawCount(self.blocks[-1].normal.stop, self.blocks[-1].uniform.stop)

    def prior(self, trials: int) -> Posteriors:
        return tuple(group.prior(trials) for group in self.groups)

    def estimate(self, posterior: Posteriors, t: int, draws: Draws) -> OutputsPerArm:
        """Return h_t of every output over the arms, in round t = 1, 2, ..."""
        return self._in_order(
            [
                block.exploration.estimate(belief, beta, block.draws(draws))
                for block, belief, beta in self.beliefs(posterior, t)
            ]
        )

    def condition(self, posterior: Posteriors, arm: ArmIndex, y: PerOutput) -> Posteriors:
        """Return the posteriors after observing y (trials, 1 + m) at each trial's arm."""
        single = len(self.groups) == 1  # its outputs are all of y, and need no indexing
        pairs = zip(self.groups, posterior, strict=True)
        return tuple(group.condition(state, arm, y if single else y[:, group.outputs]) for group, state in pairs)

    def refreshed(self, posterior: Posteriors, t: int) -> Posteriors:
        """Return the posteriors after round t = 1, 2, ..., without the rounding errors that have grown over rounds."""
        pairs = zip(self.groups, posterior, strict=True)
        return tuple(group.refreshed(state, t) for group, state in pairs)

    def confidence(self, posterior: Posteriors, t: int) -> tuple[OutputsPerArm, OutputsPerArm]:
        """Return mu and beta_t sigma of every output over the arms."""
        xp = namespace(posterior[0].gain)
        half_widths = [xp.abs(beta) * belief.std for _, belief, beta in self.beliefs(posterior, t)]
        return self.mean(posterior), self._in_order(half_widths)

    def reward_width(self, posterior: Posteriors, t: int) -> PerOutput:
        """Return beta_t of the reward, (trials, 1)."""
        return self.blocks[0].width(t, posterior[0].gain)[:, :1]

    def pairs(self, posterior: Posteriors, output: int, t: int, arms: slice) -> tuple[Floats, PerArm, PerOutput, float]:
        """Return k_t(x, x') (b, n, arms) for all x and some x', var, beta_t (b, 1) and lambda of one output."""
        block = next(block for block in self.blocks if output in block.outputs)
        group, state = self.groups[block.group], posterior[block.group]
        beta = namespace(state.gain).abs(block.width(t, state.gain))[:, block.outputs == output]
        return group.covariance(state, arms), group.variance(state), beta, group.regularisation

    def mean(self, posterior: Posteriors) -> OutputsPerArm:
        pairs = zip(self.groups, posterior, strict=True)
        return self._in_order([group.mean(state) for group, state in pairs])

    def std(self, posterior: Posteriors) -> OutputsPerArm:
        return namespace(posterior[0].gain).sqrt(self._per_output(Group.variance, posterior))

    def covariance(self, posterior: Posteriors) -> Floats:
        """Return k_t(x, x') of every output over all pairs of arms: (trials, 1 + m, n, n)."""
        return self._per_output(Group.covariance, posterior)

    def usable(self, posterior: Posteriors) -> bool:
        """Return whether every mean is finite: over the arms, or of the weights, which takes no pass over Phi."""
        means = (state.mean if isinstance(state, WeightPosterior) else state.mu for state in posterior)
        return all(bool(np.isfinite(mean).all()) for mean in means)

    def in_arrays(self, rounds: int) -> "FiniteModel":
        """Return the model for rounds 1, ..., rounds in arrays of a fixed shape, which can be compiled.

        It has tables in place of widths that are Python functions.
        """
        widths = [b.width.table(rounds) if isinstance(b.width, WidthFunction) else b.width for b in self.blocks]
        blocks = [replace(b, width=width) for b, width in zip(self.blocks, widths, strict=True)]
        return replace(self, groups=[group.in_arrays(rounds) for group in self.groups], blocks=blocks)

    def by_output(self) -> list[tuple[Group, Exploration]]:
        """Return each output's group and exploration."""
        pairs = {i: (self.groups[b.group], b.exploration) for b in self.blocks for i in b.outputs}
        return [pairs[i] for i in range(len(pairs))]

    def beliefs(self, posterior: Posteriors, t: int) -> Iterator[tuple[Block, Belief, Floats]]:
        """Return each block, its belief, and beta_t (trials, outputs, 1)."""
        for block in self.blocks:
            state = posterior[block.group]
            belief = self.groups[block.group].belief(state, block.members)
            yield block, belief, block.width(t, state.gain)[:, :, None]

    def _in_order(self, parts: Sequence[OutputsPerArm]) -> OutputsPerArm:
        if len(parts) == 1:
            return parts[0]
        return namespace(parts[0]).concat(parts, axis=1)[:, self.order]

    def _per_output(self, function: Callable[[Group, Posterior], Floats], posterior: Posteriors) -> Floats:
        """Return a function of each group's posterior for each of its outputs, sorted by number."""
        values: list[Floats] = []
        for group, state in zip(self.groups, posterior, strict=True):
            values += [function(group, state)] * len(group.outputs)
        return namespace(values[0]).stack(values, axis=1)[:, self.order]


def finite_model(
    arms: Floats, outputs: Sequence[Output], width: WidthRule, rounds: int, factors: Factors, shared: bool = True
) -> FiniteModel:
    """Group the outputs by what they share (unless that is forbidden), and factorise each kernel once, if at all."""
    numbers = group_equal([output[:2] for output in outputs]) if shared else [[i] for i in range(len(outputs))]
    kernels = group_equal([output.kernel for output in outputs])
    all_factors = _factorise([[outputs[i] for i in same] for same in kernels], arms, rounds, factors)
    factor_of = {i: factor for same, factor in zip(kernels, all_factors, strict=True) for i in same}
    groups, parts = [], []
    for i, same in enumerate(numbers):
        kernel, regularisation, *_ = outputs[same[0]]
        factor = factor_of[same[0]]
        weights_only = all(_declares(outputs[j].exploration, "weights_only") for j in same)
        groups.append(Group(np.array(same), kernel, factor, regularisation, weights_only))
        rank = factor.rank if isinstance(factor, Features) else 0  # explorations that sample have features
        for exploration, run in groupby(same, key=lambda j: outputs[j].exploration):
            members = list(run)
            parts.append((i, same.index(members[0]), np.array(members), exploration, exploration.draws(rank)))
    noise = np.array([output.noise for output in outputs])
    return FiniteModel(groups, assign_draws(parts, width), np.argsort(np.concatenate(numbers)), all_factors, noise)


def _declares(exploration: Exploration, property: str) -> bool:
    """Return whether the class of an exploration has a property. It must say so itself: a subclass may need more."""
    return vars(type(exploration)).get(property) is True


def _factorise(outputs: list[list[Output]], arms: Floats, rounds: int, given: Factors) -> list[Factor]:
    """Return the factor of each kernel, given the outputs that have it."""
    factors = [None] * len(outputs) if given is None else given
    if not isinstance(factors, Sequence) or len(factors) != len(outputs):
        remedy = "Leave it out, or take it from another policy's model."
        raise ArgumentError.of("factors", f"one per kernel, {len(outputs)} in all", given, remedy)
    return [_factor(same, arms, rounds, factor) for same, factor in zip(outputs, factors, strict=True)]


def _factor(outputs: list[Output], arms: Floats, rounds: int, given: Factor | Sequence[int] | None) -> Factor:
    """Return the kernel that these outputs share, accurate enough for the least lambda of theirs: given, or computed.

    Given pivots are used as they are, since a saved posterior is in their basis. So are given features that are coarser
    than any lambda makes them, since somebody wanted them so.
    """
    kernel, lam = outputs[0].kernel, min(output.regularisation for output in outputs)
    tolerance = tolerance_for(lam)
    if lam >= LEAST_LAMBDA and all(_declares(output.exploration, "pointwise") for output in outputs):
        if isinstance(given, ArmKernel) and given.tolerance <= tolerance:
            return given
        if _is_unfactorised(given) or (given is None and has_high_rank(kernel, arms, tolerance, rounds)):
            return ArmKernel(kernel, arms, tolerance)
    if isinstance(given, ArmKernel):
        given = given.features
    if isinstance(given, Features):
        too_coarse = tolerance < given.residual / (given.diag.max() or 1.0) <= TOLERANCE
        return features(kernel, arms, tolerance) if too_coarse else given
    return features(kernel, arms, tolerance, pivots=given)


def _is_unfactorised(given: Factor | Sequence[int] | None) -> bool:
    """Return whether that is a kernel which was not factorised, or what a file has in place of its pivots."""
    return isinstance(given, ArmKernel) or (isinstance(given, np.ndarray) and np.array_equal(given, NOT_FACTORISED))


def assign_draws(parts: Iterable[Part], width: WidthRule) -> list[Block]:
    """Return the blocks, which take the round's draws one after another."""
    blocks: list[Block] = []
    normal = uniform = 0  # draws assigned so far
    for group, first, outputs, exploration, needs in parts:
        k, count = len(outputs), DrawCount(*needs)
        ends = normal + k * count.normal, uniform + k * count.uniform
        places = slice(first, first + k), slice(normal, ends[0]), slice(uniform, ends[1])
        blocks.append(Block(group, outputs, width(outputs), exploration, count, *places))
        normal, uniform = ends
    return blocks


def group_equal(keys: Sequence[object]) -> list[list[int]]:
    """Return the numbers of equal keys, in order of first appearance. Keys need only compare."""
    groups: dict[int, list[int]] = {}
    for i, key in enumerate(keys):
        first = next(j for j, other in enumerate(keys) if _equal(other, key))
        groups.setdefault(first, []).append(i)
    return list(groups.values())


def _equal(a: object, b: object) -> bool:
    """Return whether two keys are equal; a user's kernel that cannot be compared equals only itself."""
    try:
        return a is b or bool(a == b)
    except ValueError:
        return False
