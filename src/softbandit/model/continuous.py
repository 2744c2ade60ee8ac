"""The Gaussian-process model on a continuous domain, and a round's estimates as functions on it.

An estimate of one output is, whatever its exploration,

    h(x) = k(x, anchors) . a + c sigma(x) + path(x)

with a = alpha and c = beta_t for UCB, c = Z_t for RandUCB, and, for Thompson sampling, c = 0,
a sample `path` of the prior, and the a that turns it into a sample of the posterior (Matheron's
rule; Wilson et al. 2020). So one round's function is the same wherever and whenever it is
evaluated, and has derivatives in closed form.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softbandit.backend.random import DrawCount, Draws
from softbandit.backend.shapes import Array
from softbandit.backend.blas_threads import one_thread
from softbandit.domains.spaces import Domain
from softbandit.errors import ArgumentError, KernelError, Words
from softbandit.gp.exact import Anchored, Exact
from softbandit.gp.kernels import Kernel
from softbandit.gp.nystrom import Budgeted
from softbandit.gp.prior_samples import Path, prior_path
from softbandit.model.explorations import UCB, Exploration, Greedy, RandUCB, Thompson
from softbandit.model.finite import Output, alike
from softbandit.model.widths import Width, WidthRule
from softbandit.backend.shapes import Floats

Pull = Callable[[Floats], Floats]
"""dz/dh (n, outputs) -> dz/dx (n, d)."""


@dataclass(frozen=True, eq=False)
class PointBelief:
    """What an exploration sees of one output at some points: (1, 1, n) each."""

    mean: Array
    std: Array

    def correlated(self, z: Array) -> Array:
        remedy = "Use sb.Thompson, which samples functions on a continuous domain."
        raise ArgumentError.of("explore", "one that uses mean and std only", Words("one that samples"), remedy)

    sample = correlated


@dataclass(frozen=True, eq=False)
class Term:
    """The estimates of k outputs that share a posterior."""

    posterior: Anchored
    outputs: Sequence[int]
    a: Floats  # (anchors, k)
    c: Floats  # (k,)
    paths: Sequence[Path | None]
    own: Sequence[Callable[[PointBelief], Array] | None]  # a user's exploration, of mean and std

    @property
    def smooth(self) -> bool:
        """Whether derivatives are known."""
        return not any(self.own) and _has_gradient(self.posterior.kernel)

    def __call__(self, X: Floats) -> Floats:
        """(n, k)"""
        K = self.posterior.kernel(X, self.posterior.anchors)
        h = K @ self.a
        if self.c.any() or any(self.own):
            sigma = np.sqrt(_variance(self.posterior.kernel.diag(X), self.posterior.explained_only(K)))
            h = h + sigma[:, None] * self.c
            for j, estimate in enumerate(self.own):
                if estimate is not None:
                    h[:, j] = np.reshape(estimate(PointBelief(h[None, None, :, j], sigma[None, None])), -1)
        return self._with_paths(X, h)

    def linearised(self, X: Floats) -> tuple[Floats, Pull]:
        """The estimates, and what carries a derivative by them back to the points."""
        kernel, anchors = self.posterior.kernel, self.posterior.anchors
        K = kernel(X, anchors)
        h, sigma = K @ self.a, np.ones(len(X))
        half = np.zeros_like(K)
        if self.c.any():
            explained, half = self.posterior.explained(K)
            sigma = np.sqrt(_variance(kernel.diag(X), explained))
            h = h + sigma[:, None] * self.c
        h = self._with_paths(X, h)

        def pull(u: Floats) -> Floats:
            # d sigma = d var / (2 sigma); at sigma = 0 it has no derivative, and 0 will do
            rate = np.where(sigma > 0, u @ self.c / np.where(sigma > 0, sigma, 1.0), 0.0)
            slope = kernel.gradient(X, anchors, u @ self.a.T - rate[:, None] * half)
            slope += 0.5 * rate[:, None] * kernel.diag_gradient(X)
            for j, path in enumerate(self.paths):
                if path is not None:
                    slope += path.gradient(X, u[:, j])
            return slope

        return h, pull

    def _with_paths(self, X: Floats, h: Floats) -> Floats:
        for j, path in enumerate(self.paths):
            if path is not None:
                h[:, j] += path(X)
        return h


@dataclass(frozen=True, eq=False)
class Field:
    """h_t of every output, as a function on the domain: f_t, g_t of one trial and round."""

    terms: Sequence[Term]

    @property
    def smooth(self) -> bool:
        return all(term.smooth for term in self.terms)

    def __call__(self, X: Floats) -> Floats:
        """(n, 1 + m)"""
        h = np.empty((len(X), sum(len(term.outputs) for term in self.terms)))
        for term in self.terms:
            h[:, term.outputs] = term(X)
        return h

    def linearised(self, X: Floats) -> tuple[Floats, Pull]:
        parts = [term.linearised(X) for term in self.terms]
        h = np.empty((len(X), sum(len(term.outputs) for term in self.terms)))
        for term, (own, _) in zip(self.terms, parts, strict=True):
            h[:, term.outputs] = own

        def pull(u: Floats) -> Floats:
            slopes = [back(u[:, term.outputs]) for term, (_, back) in zip(self.terms, parts, strict=True)]
            return np.asarray(sum(slopes))

        return h, pull


@dataclass(frozen=True, eq=False)
class Channel:
    """How one output is explored."""

    exploration: Exploration
    width: Width
    normal: slice  # of the round's draws
    uniform: slice

    def own(self, draws: Draws) -> Draws:
        """(1, 1, count) each, of one trial's draws (count,)."""
        return Draws(draws.normal[None, None, self.normal], draws.uniform[None, None, self.uniform])


@dataclass(frozen=True, eq=False)
class ContinuousSurrogate:
    """The model of the reward and the m costs on a domain; each trial has posteriors of its own."""

    space: Domain
    groups: Sequence[tuple[Sequence[int], Anchored]]  # the outputs that share a posterior, and its prior
    channels: Sequence[Channel]
    noise: Floats  # (1 + m,): R of each output
    factors: Sequence[Any] = ()  # as a surrogate on finite arms has them

    def draws(self) -> DrawCount:
        """The last uniform number seeds the search."""
        return DrawCount(self.channels[-1].normal.stop, self.channels[-1].uniform.stop + 1)

    def prior(self, trials: int) -> tuple[tuple[Anchored, ...], ...]:
        return tuple(tuple(prior for _, prior in self.groups) for _ in range(trials))

    def condition(self, posterior: Any, x: Floats, y: Floats) -> tuple[tuple[Anchored, ...], ...]:
        """After seeing y (b, 1 + m) at x (b, d)."""
        with one_thread():
            return tuple(
                tuple(each.condition(x[i], y[i, outputs]) for (outputs, _), each in zip(self.groups, own, strict=True))
                for i, own in enumerate(posterior)
            )

    def usable(self, posterior: Any) -> bool:
        """Whether every mean is a number."""
        return all(np.isfinite(each.coefficients).all() for own in posterior for each in own)

    def fields(self, posterior: Any, t: int, draws: Draws) -> list[Field]:
        """f_t, g_t of each trial in round t = 1, 2, ..."""
        return [
            Field([self._term(*pair, t, Draws(normal, uniform)) for pair in zip(self.groups, own, strict=True)])
            for own, normal, uniform in zip(posterior, draws.normal, draws.uniform, strict=True)
        ]

    def moments(self, posterior: Any, X: Floats) -> tuple[Floats, Floats]:
        """mu and sigma of every output at X in one trial: (1 + m, n) each."""
        mean = np.empty((len(self.channels), len(X)))
        std = np.empty_like(mean)
        for (outputs, _), each in zip(self.groups, posterior, strict=True):
            K = each.kernel(X, each.anchors)
            mean[outputs] = (K @ each.coefficients).T
            std[outputs] = np.sqrt(_variance(each.kernel.diag(X), each.explained_only(K)))
        return mean, std

    def seen(self, posterior: Any) -> tuple[Floats, Floats]:
        """The different points seen in one trial (t, d), latest first, and the means there (1 + m, t)."""
        points = posterior[0].points
        means = np.empty((len(self.channels), len(points)))
        for (outputs, _), each in zip(self.groups, posterior, strict=True):
            means[outputs] = each.fitted.T
        _, first = np.unique(points, axis=0, return_index=True)
        keep = np.sort(first)[::-1]
        return points[keep], means[:, keep]

    def by_output(self) -> list[tuple[Anchored, Exploration]]:
        """Each output's prior and exploration."""
        priors = {i: prior for outputs, prior in self.groups for i in outputs}
        return [(priors[i], channel.exploration) for i, channel in enumerate(self.channels)]

    def describe(self) -> str:
        return " and ".join(dict.fromkeys(type(each.exploration).__name__ for each in self.channels))

    def _term(self, group: Any, posterior: Anchored, t: int, draws: Draws) -> Term:
        outputs = group[0]
        a, c = np.array(posterior.coefficients), np.zeros(len(outputs))
        paths: list[Path | None] = [None] * len(outputs)
        own: list[Any] = [None] * len(outputs)
        for j, channel in enumerate(self.channels[i] for i in outputs):
            beta, mine = channel.width(t, np.array([posterior.gain]))[:, :, None], channel.own(draws)
            if type(channel.exploration) is Thompson:
                rng = generator(mine.uniform[0, 0, 0])
                path = prior_path(posterior.kernel, self.space.dimension, rng, float(beta[0, 0, 0]))
                scale = abs(float(beta[0, 0, 0]))
                a[:, j] += scale * posterior.deviation(path(posterior.anchors) / (scale or 1.0), rng)
                paths[j] = path
            elif type(channel.exploration) in (UCB, Greedy, RandUCB):
                unit = PointBelief(np.zeros((1, 1, 1)), np.ones((1, 1, 1)))  # h = 0 + c 1
                c[j] = float(channel.exploration.estimate(unit, beta, mine)[0, 0, 0])
            else:
                own[j] = lambda belief, ch=channel, b=beta, d=mine: ch.exploration.estimate(belief, b, d)
        return Term(posterior, outputs, a, c, paths, own)


def continuous_surrogate(
    space: Domain, outputs: Sequence[Output], width: WidthRule, budget: int | None
) -> ContinuousSurrogate:
    """Group the outputs by kernel and lambda, and hand out the draws."""
    numbers = alike(range(len(outputs)), key=lambda i: outputs[i][:2])
    groups: list[tuple[Sequence[int], Anchored]] = []
    for same in numbers:
        shared = (outputs[same[0]].kernel, outputs[same[0]].regularisation, len(same), space.dimension)
        groups.append((same, Exact(*shared) if budget is None else Budgeted(*shared, budget)))
    channels, normal, uniform = [], 0, 0
    for i, output in enumerate(outputs):
        exploration = output.exploration
        # A path is drawn from a generator of its own, which one number seeds.
        needs = DrawCount(uniform=1) if type(exploration) is Thompson else DrawCount(*exploration.draws(0))
        stops = normal + needs.normal, uniform + needs.uniform
        channels.append(Channel(exploration, width(np.array([i])), slice(normal, stops[0]), slice(uniform, stops[1])))
        normal, uniform = stops
    return ContinuousSurrogate(space, groups, channels, np.array([output.noise for output in outputs]))


def generator(uniform: float) -> np.random.Generator:
    """Random numbers that are a function of one of the round's draws."""
    return np.random.Generator(np.random.Philox(int(uniform * 2**53)))


def _variance(prior: Floats, explained: Floats) -> Floats:
    """In [0, prior], whatever rounding does."""
    return np.minimum(np.maximum(prior - explained, 0.0), prior)


def _has_gradient(kernel: Kernel) -> bool:
    """Whether a kernel has its derivatives."""
    try:
        d = 1
        kernel.diag_gradient(np.zeros((0, d)))
    except KernelError:
        return False
    return True
