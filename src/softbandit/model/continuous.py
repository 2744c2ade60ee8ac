"""The Gaussian-process model on a continuous domain, and a round's estimates as functions on it.

An estimate of one output is, whatever its exploration,

    h(x) = k(x, anchors) . a + c sigma(x) + path(x)

with a = alpha and c = beta_t for UCB, c = Z_t for RandUCB, and, for Thompson sampling, c = 0,
a sample `path` of the prior, and the a that turns it into a sample of the posterior (Matheron's
rule; Wilson et al. 2020). So one round's function is the same wherever and whenever it is
evaluated, and has derivatives in closed form.

Arrays have the outputs first, as on finite arms: (outputs, points).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from softbandit.backend import DrawCount, Draws, Floats, one_thread
from softbandit.domains import Domain
from softbandit.errors import KernelError
from softbandit.gp import Anchored, Budgeted, Exact, Path
from softbandit.model.beliefs import PointBelief
from softbandit.model.explorations import UCB, Exploration, Greedy, RandUCB, Thompson
from softbandit.model.finite import Block, Output, Part, assign_draws, group_equal
from softbandit.model.widths import WidthRule

Pullback = Callable[[Floats], Floats]  # dz/dh (outputs, n) -> dz/dx (n, d)

Posteriors = tuple[Anchored, ...]  # one trial's posteriors, one per group of outputs


@dataclass(frozen=True, eq=False)
class Term:
    """The estimates of k outputs that share a posterior."""

    posterior: Anchored
    outputs: Sequence[int]
    a: Floats  # (anchors, k)
    c: Floats  # (k,)
    paths: Mapping[int, Path]  # of the outputs that have one
    custom: Mapping[int, tuple[Exploration, Floats, Draws]]  # a user's exploration, its width and draws

    @property
    def smooth(self) -> bool:
        """Whether derivatives are known."""
        try:
            self.posterior.kernel.diag_gradient(np.zeros((0, 1)))
        except KernelError:
            return False
        return not self.custom

    def __call__(self, X: Floats) -> Floats:
        """Return the estimates at X: (k, n)."""
        return self._evaluate(X)[0].T

    def linearised(self, X: Floats) -> tuple[Floats, Pullback]:
        """Return the estimates at X, and the map from derivatives by them to derivatives by the points."""
        kernel, anchors = self.posterior.kernel, self.posterior.anchors
        h, sigma, derivative = self._evaluate(X)
        half = derivative()

        def pull(derivative: Floats) -> Floats:
            u = derivative.T
            # d sigma = d var / (2 sigma); at sigma = 0 it has no derivative, and 0 is used
            rate = np.where(sigma > 0, u @ self.c / np.where(sigma > 0, sigma, 1.0), 0.0)
            slope = kernel.gradient(X, anchors, u @ self.a.T - rate[:, None] * half)
            slope += 0.5 * rate[:, None] * kernel.diag_gradient(X)
            for j, path in self.paths.items():
                slope += path.gradient(X, u[:, j])
            return slope

        return h.T, pull

    def _evaluate(self, X: Floats) -> tuple[Floats, Floats, Callable[[], Floats]]:
        """Return the estimates (n, k), sigma (n,), and half of the derivative of the explained variance by K.

        The last two are ones and zeros if the estimates do not depend on sigma.
        """
        K = self.posterior.kernel(X, self.posterior.anchors)
        h, sigma = K @ self.a, np.ones(len(X))
        derivative: Callable[[], Floats] = partial(np.zeros_like, K)
        if self.c.any() or self.custom:
            explained, derivative = self.posterior.explained(K)
            sigma = _deviation(self.posterior.kernel.diag(X), explained)
            h = h + sigma[:, None] * self.c
            for j, (exploration, width, draws) in self.custom.items():
                belief = PointBelief(h[None, None, :, j], sigma[None, None])
                h[:, j] = np.reshape(exploration.estimate(belief, width, draws), -1)
        for j, path in self.paths.items():
            h[:, j] += path(X)
        return h, sigma, derivative


@dataclass(frozen=True, eq=False)
class Field:
    """h_t of every output, as a function on the domain: f_t, g_t of one trial and round."""

    terms: Sequence[Term]

    @property
    def smooth(self) -> bool:
        return all(term.smooth for term in self.terms)

    def __call__(self, X: Floats) -> Floats:
        """Return h_t at X: (1 + m, n)."""
        return self._stacked([term(X) for term in self.terms])

    def linearised(self, X: Floats) -> tuple[Floats, Pullback]:
        """Return h_t at X, and the map from derivatives by h_t to derivatives by the points."""
        parts = [term.linearised(X) for term in self.terms]

        def pull(u: Floats) -> Floats:
            slopes = [back(u[term.outputs]) for term, (_, back) in zip(self.terms, parts, strict=True)]
            return np.asarray(sum(slopes))

        return self._stacked([h for h, _ in parts]), pull

    def _stacked(self, parts: Sequence[Floats]) -> Floats:
        """Return the terms' values, sorted by output."""
        h = np.empty((parts[0].shape[1], sum(map(len, parts))))
        for term, part in zip(self.terms, parts, strict=True):
            h[:, term.outputs] = part.T
        return h.T


@dataclass(frozen=True, eq=False)
class ContinuousModel:
    """The model of the reward and the m costs on a domain. Posteriors are one tuple per trial."""

    space: Domain
    groups: Sequence[tuple[Sequence[int], Anchored]]  # the outputs that share a posterior, and its prior
    blocks: Sequence[Block]  # one per output, sorted by number
    noise: Floats  # (1 + m,): R of each output

    def draws(self) -> DrawCount:
        """Return the random numbers needed per round and trial; the last uniform one seeds the search."""
        return DrawCount(self.blocks[-1].normal.stop, self.blocks[-1].uniform.stop + 1)

    def prior(self, trials: int) -> tuple[Posteriors, ...]:
        return tuple(tuple(prior for _, prior in self.groups) for _ in range(trials))

    def condition(self, posterior: Sequence[Posteriors], x: Floats, y: Floats) -> tuple[Posteriors, ...]:
        """Return the posteriors after observing y (b, 1 + m) at x (b, d)."""
        with one_thread():
            return tuple(
                tuple(p.condition(x[i], y[i, outputs]) for (outputs, _), p in zip(self.groups, trial, strict=True))
                for i, trial in enumerate(posterior)
            )

    def usable(self, posterior: Sequence[Posteriors]) -> bool:
        """Return whether every mean is finite."""
        return all(np.isfinite(p.coefficients).all() for trial in posterior for p in trial)

    def fields(self, posterior: Sequence[Posteriors], t: int, draws: Draws) -> list[Field]:
        """Return f_t, g_t of each trial in round t = 1, 2, ..."""
        fields = []
        for trial, normal, uniform in zip(posterior, draws.normal, draws.uniform, strict=True):
            part = Draws(normal[None], uniform[None])
            groups = zip(self.groups, trial, strict=True)
            fields.append(Field([self._term(outputs, state, t, part) for (outputs, _), state in groups]))
        return fields

    def moments(self, posterior: Posteriors, X: Floats) -> tuple[Floats, Floats]:
        """Return mu and sigma of every output at X in one trial: (1 + m, n) each."""
        mean = np.empty((len(self.blocks), len(X)))
        std = np.empty_like(mean)
        for (outputs, _), p in zip(self.groups, posterior, strict=True):
            K = p.kernel(X, p.anchors)
            mean[outputs] = (K @ p.coefficients).T
            std[outputs] = _deviation(p.kernel.diag(X), p.explained(K)[0])
        return mean, std

    def observed(self, posterior: Posteriors) -> tuple[Floats, Floats]:
        """Return the distinct points of one trial (t, d), latest first, and the means there (1 + m, t)."""
        points = posterior[0].anchors
        means = np.empty((len(self.blocks), len(points)))
        for (outputs, _), p in zip(self.groups, posterior, strict=True):
            means[outputs] = p.fitted.T
        _, first = np.unique(points, axis=0, return_index=True)
        keep = np.sort(first)[::-1]
        return points[keep], means[:, keep]

    def by_output(self) -> list[tuple[Anchored, Exploration]]:
        """Return each output's prior and exploration."""
        return [(self.groups[block.group][1], block.exploration) for block in self.blocks]

    def _term(self, outputs: Sequence[int], posterior: Anchored, t: int, draws: Draws) -> Term:
        a, c = np.array(posterior.coefficients), np.zeros(len(outputs))
        paths: dict[int, Path] = {}
        custom: dict[int, tuple[Exploration, Floats, Draws]] = {}
        for j, block in enumerate(self.blocks[i] for i in outputs):
            exploration, part = block.exploration, block.draws(draws)
            beta = block.width(t, np.array([posterior.gain]))[:, :, None]
            if type(exploration) is Thompson:
                paths[j], shift = self._sample(posterior, float(beta[0, 0, 0]), float(part.uniform[0, 0, 0]))
                a[:, j] += shift
            elif type(exploration) in (UCB, Greedy, RandUCB):
                unit = PointBelief(np.zeros((1, 1, 1)), np.ones((1, 1, 1)))  # h = 0 + c 1
                c[j] = float(exploration.estimate(unit, beta, part)[0, 0, 0])
            else:
                custom[j] = (exploration, beta, part)
        return Term(posterior, outputs, a, c, paths, custom)

    def _sample(self, posterior: Anchored, beta: float, uniform: float) -> tuple[Path, Floats]:
        """Return a path of the prior and the change of `a` that make a sample ~ GP(mu, beta^2 k_t)."""
        rng = generator(uniform)
        path = posterior.kernel.prior_sample(self.space.dimension, rng, beta)
        scale = abs(beta)
        return path, scale * posterior.deviation(path(posterior.anchors) / (scale or 1.0), rng)


def continuous_model(space: Domain, outputs: Sequence[Output], width: WidthRule, budget: int | None) -> ContinuousModel:
    """Group the outputs by kernel and lambda, and assign the draws."""
    groups: list[tuple[Sequence[int], Anchored]] = []
    parts: dict[int, Part] = {}
    for number, same in enumerate(group_equal([output[:2] for output in outputs])):
        kernel, regularisation, *_ = outputs[same[0]]
        shared = (kernel, regularisation, len(same), space.dimension)
        groups.append((same, Exact(*shared) if budget is None else Budgeted(*shared, budget)))
        for j, i in enumerate(same):
            exploration = outputs[i].exploration
            # A path is drawn from a separate generator, seeded by one number.
            needs = DrawCount(uniform=1) if type(exploration) is Thompson else exploration.draws(0)
            parts[i] = (number, j, np.array([i]), exploration, needs)
    blocks = assign_draws([parts[i] for i in range(len(outputs))], width)
    return ContinuousModel(space, groups, blocks, np.array([output.noise for output in outputs]))


def generator(uniform: float) -> np.random.Generator:
    """Return a generator that is a function of one of the round's draws."""
    return np.random.Generator(np.random.Philox(int(uniform * 2**53)))


def _deviation(prior: Floats, explained: Floats) -> Floats:
    """Return sigma = sqrt(prior - explained), within [0, sqrt(prior)] whatever rounding does."""
    return np.sqrt(np.minimum(np.maximum(prior - explained, 0.0), prior))
