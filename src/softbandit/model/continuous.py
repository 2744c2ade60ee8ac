"""The Gaussian-process model on a continuous domain, and a round's estimates as functions on it.

An estimate of one output is, whatever its exploration,

    h(x) = k(x, anchors) . a + c sigma(x) + path(x)

with a = alpha and c = beta_t for UCB, c = Z_t for RandUCB, and, for Thompson sampling, c = 0,
a sample `path` of the prior, and the a that turns it into a sample of the posterior (Matheron's
rule; Wilson et al. 2020). So one round's function is the same wherever and whenever it is
evaluated, and has derivatives in closed form.

Arrays have the outputs first, as on finite arms: (outputs, points).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from softbandit.backend.blas_threads import one_thread
from softbandit.backend.random import DrawCount, Draws
from softbandit.backend.shapes import Floats
from softbandit.domains.spaces import Domain
from softbandit.errors import KernelError
from softbandit.gp.anchored import Anchored
from softbandit.gp.exact import Exact
from softbandit.gp.kernels import Kernel
from softbandit.gp.nystrom import Budgeted
from softbandit.gp.prior_samples import Path
from softbandit.model.beliefs import PointBelief
from softbandit.model.explorations import UCB, Exploration, Greedy, RandUCB, Thompson
from softbandit.model.finite import Output, group_equal
from softbandit.model.widths import Width, WidthRule

Pullback = Callable[[Floats], Floats]
"""dz/dh (outputs, n) -> dz/dx (n, d)."""

Posteriors = tuple[Anchored, ...]
"""One trial's posteriors, one per group of outputs."""


@dataclass(frozen=True, eq=False)
class Term:
    """The estimates of k outputs that share a posterior."""

    posterior: Anchored
    outputs: Sequence[int]
    a: Floats  # (anchors, k)
    c: Floats  # (k,)
    paths: Sequence[Path | None]
    custom: Sequence[Callable[[PointBelief], Floats] | None]  # a user's exploration, of mean and std

    @property
    def smooth(self) -> bool:
        """Whether derivatives are known."""
        return not any(self.custom) and _has_gradient(self.posterior.kernel)

    def __call__(self, X: Floats) -> Floats:
        """Return the estimates at X: (k, n)."""
        K = self.posterior.kernel(X, self.posterior.anchors)
        h = K @ self.a
        if self.c.any() or any(self.custom):
            sigma = np.sqrt(_variance(self.posterior.kernel.diag(X), self.posterior.explained(K)[0]))
            h = h + sigma[:, None] * self.c
            for j, estimate in enumerate(self.custom):
                if estimate is not None:
                    h[:, j] = np.reshape(estimate(PointBelief(h[None, None, :, j], sigma[None, None])), -1)
        return self._add_paths(X, h).T

    def linearised(self, X: Floats) -> tuple[Floats, Pullback]:
        """Return the estimates at X, and the map from derivatives by them to derivatives by the points."""
        kernel, anchors = self.posterior.kernel, self.posterior.anchors
        K = kernel(X, anchors)
        h, sigma = K @ self.a, np.ones(len(X))
        half = np.zeros_like(K)
        if self.c.any():
            explained, derivative = self.posterior.explained(K)
            half = derivative()
            sigma = np.sqrt(_variance(kernel.diag(X), explained))
            h = h + sigma[:, None] * self.c
        h = self._add_paths(X, h)

        def pull(derivative: Floats) -> Floats:
            u = derivative.T
            # d sigma = d var / (2 sigma); at sigma = 0 it has no derivative, and 0 is used
            rate = np.where(sigma > 0, u @ self.c / np.where(sigma > 0, sigma, 1.0), 0.0)
            slope = kernel.gradient(X, anchors, u @ self.a.T - rate[:, None] * half)
            slope += 0.5 * rate[:, None] * kernel.diag_gradient(X)
            for j, path in enumerate(self.paths):
                if path is not None:
                    slope += path.gradient(X, u[:, j])
            return slope

        return h.T, pull

    def _add_paths(self, X: Floats, h: Floats) -> Floats:
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
class Channel:
    """How one output is explored."""

    exploration: Exploration
    width: Width
    normal: slice  # of the round's draws
    uniform: slice

    def draws(self, draws: Draws) -> Draws:
        """Return this output's part of one trial's draws (count,): (1, 1, count) each."""
        return Draws(draws.normal[None, None, self.normal], draws.uniform[None, None, self.uniform])


@dataclass(frozen=True, eq=False)
class ContinuousModel:
    """The model of the reward and the m costs on a domain. Posteriors are one tuple per trial."""

    space: Domain
    groups: Sequence[tuple[Sequence[int], Anchored]]  # the outputs that share a posterior, and its prior
    channels: Sequence[Channel]
    noise: Floats  # (1 + m,): R of each output

    def draws(self) -> DrawCount:
        """Return the random numbers needed per round and trial; the last uniform one seeds the search."""
        return DrawCount(self.channels[-1].normal.stop, self.channels[-1].uniform.stop + 1)

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
        return [
            Field([self._term(*pair, t, Draws(normal, uniform)) for pair in zip(self.groups, trial, strict=True)])
            for trial, normal, uniform in zip(posterior, draws.normal, draws.uniform, strict=True)
        ]

    def moments(self, posterior: Posteriors, X: Floats) -> tuple[Floats, Floats]:
        """Return mu and sigma of every output at X in one trial: (1 + m, n) each."""
        mean = np.empty((len(self.channels), len(X)))
        std = np.empty_like(mean)
        for (outputs, _), p in zip(self.groups, posterior, strict=True):
            K = p.kernel(X, p.anchors)
            mean[outputs] = (K @ p.coefficients).T
            std[outputs] = np.sqrt(_variance(p.kernel.diag(X), p.explained(K)[0]))
        return mean, std

    def observed(self, posterior: Posteriors) -> tuple[Floats, Floats]:
        """Return the distinct points of one trial (t, d), latest first, and the means there (1 + m, t)."""
        points = posterior[0].anchors
        means = np.empty((len(self.channels), len(points)))
        for (outputs, _), p in zip(self.groups, posterior, strict=True):
            means[outputs] = p.fitted.T
        _, first = np.unique(points, axis=0, return_index=True)
        keep = np.sort(first)[::-1]
        return points[keep], means[:, keep]

    def by_output(self) -> list[tuple[Anchored, Exploration]]:
        """Return each output's prior and exploration."""
        priors = {i: prior for outputs, prior in self.groups for i in outputs}
        return [(priors[i], channel.exploration) for i, channel in enumerate(self.channels)]

    def _term(self, group: tuple[Sequence[int], Anchored], posterior: Anchored, t: int, draws: Draws) -> Term:
        outputs, _ = group
        a, c = np.array(posterior.coefficients), np.zeros(len(outputs))
        paths: list[Path | None] = [None] * len(outputs)
        custom: list[Callable[[PointBelief], Floats] | None] = [None] * len(outputs)
        for j, channel in enumerate(self.channels[i] for i in outputs):
            beta, part = channel.width(t, np.array([posterior.gain]))[:, :, None], channel.draws(draws)
            if type(channel.exploration) is Thompson:
                paths[j], shift = self._sample(posterior, float(beta[0, 0, 0]), float(part.uniform[0, 0, 0]))
                a[:, j] += shift
            elif type(channel.exploration) in (UCB, Greedy, RandUCB):
                unit = PointBelief(np.zeros((1, 1, 1)), np.ones((1, 1, 1)))  # h = 0 + c 1
                c[j] = float(channel.exploration.estimate(unit, beta, part)[0, 0, 0])
            else:
                custom[j] = partial(_estimate, channel.exploration, beta, part)
        return Term(posterior, outputs, a, c, paths, custom)

    def _sample(self, posterior: Anchored, beta: float, uniform: float) -> tuple[Path, Floats]:
        """Return a path of the prior and the change of `a` that make a sample ~ GP(mu, beta^2 k_t)."""
        rng = generator(uniform)
        path = posterior.kernel.prior_sample(self.space.dimension, rng, beta)
        scale = abs(beta)
        return path, scale * posterior.deviation(path(posterior.anchors) / (scale or 1.0), rng)


def continuous_model(space: Domain, outputs: Sequence[Output], width: WidthRule, budget: int | None) -> ContinuousModel:
    """Group the outputs by kernel and lambda, and assign the draws."""
    numbers = group_equal(range(len(outputs)), key=lambda i: outputs[i][:2])
    groups: list[tuple[Sequence[int], Anchored]] = []
    for same in numbers:
        shared = (outputs[same[0]].kernel, outputs[same[0]].regularisation, len(same), space.dimension)
        groups.append((same, Exact(*shared) if budget is None else Budgeted(*shared, budget)))
    channels, normal, uniform = [], 0, 0
    for i, output in enumerate(outputs):
        exploration = output.exploration
        # A path is drawn from a generator of its own, seeded by one number.
        needs = DrawCount(uniform=1) if type(exploration) is Thompson else DrawCount(*exploration.draws(0))
        stops = normal + needs.normal, uniform + needs.uniform
        channels.append(Channel(exploration, width(np.array([i])), slice(normal, stops[0]), slice(uniform, stops[1])))
        normal, uniform = stops
    return ContinuousModel(space, groups, channels, np.array([output.noise for output in outputs]))


def _estimate(exploration: Exploration, width: Floats, draws: Draws, belief: PointBelief) -> Floats:
    return exploration.estimate(belief, width, draws)


def generator(uniform: float) -> np.random.Generator:
    """Return a generator that is a function of one of the round's draws."""
    return np.random.Generator(np.random.Philox(int(uniform * 2**53)))


def _variance(prior: Floats, explained: Floats) -> Floats:
    """Return prior - explained, kept in [0, prior] whatever rounding does."""
    return np.minimum(np.maximum(prior - explained, 0.0), prior)


def _has_gradient(kernel: Kernel) -> bool:
    try:
        kernel.diag_gradient(np.zeros((0, 1)))
    except KernelError:
        return False
    return True
