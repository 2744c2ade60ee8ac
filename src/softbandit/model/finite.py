"""The Gaussian-process model of the reward and the m costs, over finite arms.

Outputs are numbered 0 (reward), 1, ..., m (costs). Those that share a kernel and lambda
share one posterior (a group), so one pass over the features serves them all; those that
share an exploration besides (a block) are estimated in one call.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from softbandit.backend.namespace import namespace
from softbandit.backend.random import DrawCount, Draws
from softbandit.backend.shapes import Array
from softbandit.errors import ArgumentError
from softbandit.gp import weight_space
from softbandit.gp.kernels import Kernel
from softbandit.gp.pivoted_cholesky import Features, features
from softbandit.gp.weight_space import Belief, Posterior
from softbandit.model.explorations import Exploration
from softbandit.model.widths import Width, WidthFunction, WidthRule
from softbandit.backend.shapes import Floats

NONE = np.empty((1, 1, 0))  # of the random numbers, (trials, outputs, count)


class Output(NamedTuple):
    """How one output is modelled and explored."""

    kernel: Kernel
    regularisation: float  # lambda
    exploration: Exploration
    noise: float  # R


@dataclass(frozen=True, eq=False)
class Group:
    outputs: Array  # their numbers
    kernel: Kernel
    features: Features  # or Packed, on a device
    regularisation: float
    weights_only: bool  # functions are drawn, and nothing else is asked for: the weights' posterior will do


@dataclass(frozen=True, eq=False)
class Block:
    group: int
    members: slice  # of the group's outputs
    outputs: Array  # their numbers
    width: Width
    exploration: Exploration
    needs: DrawCount  # for one output
    normal: slice  # of the round's draws
    uniform: slice

    def own(self, draws: Draws) -> Draws:
        """This block's part of the round's draws, (trials, outputs, count)."""

        def shaped(part: Array, own: slice, count: int) -> Array:
            return part[:, own].reshape(len(part), len(self.outputs), count) if count else NONE

        normal, uniform = self.needs
        return Draws(shaped(draws.normal, self.normal, normal), shaped(draws.uniform, self.uniform, uniform))


@dataclass(frozen=True, eq=False)
class Surrogate:
    groups: list[Group]
    blocks: list[Block]
    order: Array  # puts the groups' outputs, one group after another, in order
    factors: list[Features]  # one for each distinct kernel
    noise: Floats  # (1 + m,): R of each output

    def draws(self) -> DrawCount:
        return DrawCount(self.blocks[-1].normal.stop, self.blocks[-1].uniform.stop)

    def prior(self, trials: int) -> tuple[Posterior, ...]:
        priors = (weight_space.prior_of_weights if group.weights_only else weight_space.prior for group in self.groups)
        pairs = zip(priors, self.groups, strict=True)
        return tuple(prior(group.features, len(group.outputs), trials) for prior, group in pairs)

    def estimate(self, posterior: tuple[Posterior, ...], t: int, draws: Draws) -> Array:
        """h_t of every output over the arms, (trials, 1 + m, n), in round t = 1, 2, ..."""
        parts = []
        for block in self.blocks:
            group, state = self.groups[block.group], posterior[block.group]
            belief = Belief(group.features, state, block.members)
            beta = block.width(t, state.gain)
            parts.append(block.exploration.estimate(belief, beta[:, :, None], block.own(draws)))
        return self._in_order(parts)

    def tabulated(self, rounds: int) -> "Surrogate":
        """The same for rounds 1, ..., rounds, with no width that is a function of Python's."""
        widths = [b.width.table(rounds) if isinstance(b.width, WidthFunction) else b.width for b in self.blocks]
        return replace(
            self, blocks=[replace(block, width=width) for block, width in zip(self.blocks, widths, strict=True)]
        )

    def with_features(self, change: Callable[[Features], Any]) -> "Surrogate":
        """The same, with features that have been changed."""
        made = {id(each): change(each) for each in self.factors}
        return replace(self, groups=[replace(group, features=made[id(group.features)]) for group in self.groups])

    def drawn(self, features: Features) -> int:
        """How many functions are drawn a round with these features: with a number for each feature, at least."""
        return sum(
            len(block.outputs)
            for block in self.blocks
            if self.groups[block.group].features is features and block.needs.normal >= features.rank
        )

    def usable(self, posterior: tuple[Posterior, ...]) -> bool:
        """Whether every mean is a number."""
        return bool(np.isfinite(self.mean(posterior)).all())

    def confidence(self, posterior: tuple[Posterior, ...], t: int) -> tuple[Array, Array]:
        """mu and beta_t sigma of every output over the arms, (trials, 1 + m, n) each."""
        xp = namespace(posterior[0].root)
        parts = []
        for block in self.blocks:
            group, state = self.groups[block.group], posterior[block.group]
            beta = xp.abs(block.width(t, state.gain))
            parts.append(beta[:, :, None] * Belief(group.features, state, block.members).std)
        return self.mean(posterior), self._in_order(parts)

    def reward_width(self, posterior: tuple[Posterior, ...], t: int) -> Array:
        """beta_t of the reward, (trials, 1)."""
        return self.blocks[0].width(t, posterior[0].gain)[:, :1]

    def pairs(
        self, posterior: tuple[Posterior, ...], output: int, t: int, block: slice
    ) -> tuple[Array, Array, Array, float]:
        """Of one output: k_t(x, x') for all x and a block of x' (b, n, block), var (b, n), beta_t (b, 1), lambda."""
        xp = namespace(posterior[0].root)
        of = next(each for each in self.blocks if output in each.outputs)
        group, state = self.groups[of.group], posterior[of.group]
        half = weight_space.over_roots(group.features, state)
        k = half @ xp.matrix_transpose(half[:, block])
        column = int(np.flatnonzero(of.outputs == output)[0])
        beta = xp.abs(of.width(t, state.gain))[:, column : column + 1]
        return k, weight_space.variance(group.features, state), beta, group.regularisation

    def condition(self, posterior: tuple[Posterior, ...], arm: Array, y: Array) -> tuple[Posterior, ...]:
        """The posteriors after seeing y (trials, 1 + m) at arm (trials,)."""
        whole = len(self.groups) == 1  # then its outputs are all of y, and need not be picked out
        return tuple(
            weight_space.condition(
                group.features, group.regularisation, state, arm, y if whole else y[:, group.outputs]
            )
            for group, state in zip(self.groups, posterior, strict=True)
        )

    def mean(self, posterior: tuple[Posterior, ...]) -> Array:
        """(trials, 1 + m, n)"""
        return self._in_order(self._of_each(weight_space.mean, posterior))

    def std(self, posterior: tuple[Posterior, ...]) -> Array:
        """(trials, 1 + m, n)"""
        xp = namespace(posterior[0].root)
        return self._for_each_output([xp.sqrt(var) for var in self._of_each(weight_space.variance, posterior)])

    def covariance(self, posterior: tuple[Posterior, ...]) -> Array:
        """(trials, 1 + m, n, n)"""
        return self._for_each_output(self._of_each(weight_space.covariance, posterior))

    def by_output(self) -> list[tuple[Group, Exploration]]:
        """Each output's group and exploration."""
        pairs = {i: (self.groups[b.group], b.exploration) for b in self.blocks for i in b.outputs}
        return [pairs[i] for i in range(len(pairs))]

    def describe(self) -> str:
        """The explorations in a few words: of the reward, and of the costs where they differ."""
        names = dict.fromkeys(type(exploration).__name__ for _, exploration in self.by_output())
        return " and ".join(names)

    def _of_each(self, what: Callable[[Features, Posterior], Array], posterior: tuple[Posterior, ...]) -> list[Array]:
        """What there is to know of each group's posterior."""
        return [what(group.features, state) for group, state in zip(self.groups, posterior, strict=True)]

    def _in_order(self, parts: Sequence[Array]) -> Array:
        if len(parts) == 1:
            return parts[0]
        return namespace(parts[0]).concat(parts, axis=1)[:, self.order]

    def _for_each_output(self, values: Sequence[Array]) -> Array:
        """Each group's value once for each of its outputs, in order."""
        xp = namespace(values[0])
        pairs = zip(self.groups, values, strict=True)
        return xp.stack([value for group, value in pairs for _ in group.outputs], axis=1)[:, self.order]


def surrogate(arms: Floats, outputs: Sequence[Output], width: WidthRule, factors: Any) -> Surrogate:
    """Group the outputs by what they share, and factorise each kernel once."""
    numbers = alike(range(len(outputs)), key=lambda i: outputs[i][:2])
    kernels = alike(range(len(outputs)), key=lambda i: outputs[i].kernel)
    made = _factors([outputs[same[0]].kernel for same in kernels], arms, factors)
    of_output = {i: phi for same, phi in zip(kernels, made, strict=True) for i in same}
    groups = []
    for same in numbers:
        kernel, regularisation, *_ = outputs[same[0]]
        # The class must say so itself: one derived from it may ask for more.
        weights_only = all(vars(type(outputs[i].exploration)).get("weights_only") is True for i in same)
        groups.append(Group(np.array(same), kernel, of_output[same[0]], regularisation, weights_only))
    noise = np.array([output.noise for output in outputs])
    return Surrogate(groups, _blocks(groups, outputs, width), np.argsort(np.concatenate(numbers)), made, noise)


def _factors(kernels: list[Kernel], arms: Floats, given: Any) -> list[Features]:
    """The kernels' features: given, or made, with given pivots or without."""
    given = [None] * len(kernels) if given is None else given
    if not isinstance(given, Sequence) or len(given) != len(kernels):
        remedy = "Leave it out, or take it from another policy's surrogate."
        raise ArgumentError.of("factors", f"one for each of {len(kernels)} kernels", given, remedy)
    return [
        each if isinstance(each, Features) else features(kernel, arms, pivots=each)
        for kernel, each in zip(kernels, given, strict=True)
    ]


def _blocks(groups: list[Group], outputs: Sequence[Output], width: WidthRule) -> list[Block]:
    blocks: list[Block] = []
    normal = uniform = 0  # draws handed out so far
    for i, group in enumerate(groups):
        first = 0
        for exploration, run in groupby(group.outputs, key=lambda number: outputs[number].exploration):
            members = np.array(list(run))
            k, needs = len(members), DrawCount(*exploration.draws(group.features.rank))
            block = Block(
                group=i,
                members=slice(first, first + k),
                outputs=members,
                width=width(members),
                exploration=exploration,
                needs=needs,
                normal=slice(normal, normal + k * needs.normal),
                uniform=slice(uniform, uniform + k * needs.uniform),
            )
            first, normal, uniform = block.members.stop, block.normal.stop, block.uniform.stop
            blocks.append(block)
    return blocks


def alike(items: Iterable[int], key: Callable[[int], Any]) -> list[list[int]]:
    """The items in lists of equal key, in order of first appearance. Keys need only compare."""
    found: list[list[int]] = []
    for item in items:
        same = next((members for members in found if _equal(key(members[0]), key(item))), None)
        if same is None:
            found.append([item])
        else:
            same.append(item)
    return found


def _equal(a: Any, b: Any) -> bool:
    """Whether two keys are the same; a user's kernel that cannot be compared is itself only."""
    try:
        return bool(a == b)
    except ValueError:
        return a is b
