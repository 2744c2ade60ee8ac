"""Autopilot: for users who know their limits and nothing else. Kernel, noise, scales and prices are learned.

Each round it plays argmax f_t(x) - phi_t . g_t(x), with optimistic estimates f_t and g_t, at the price

    phi_t = [max(phi_LP, min(phi_repay, max(4 phi_LP, u))) + 2 u debt / (s_g sqrt(T))]_+    u = s_f / s_g

phi_LP are the prices at which the best mixture by these estimates meets its limits, and phi_repay those at which the
best mixture by the mean costs repays the debt in the rounds that are left. `debt` is the total of the costs as
*measured*: whatever the model believes, a debt that grows wins in the end. s_f and s_g are the spreads of
what was observed. No theorem covers it, since all that a theorem takes as known is learned.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softbandit import validation
from softbandit.backend import ArmMask, DrawCount, Draws, Floats, Ints, PerCost, PerTrial
from softbandit.domains import FINITE_LIMIT, Domain, Space
from softbandit.errors import ArgumentError
from softbandit.gp import Kernel, Matern, PivotPosterior, PointEffects, PointPosterior, Repeats, learn
from softbandit.policies.autopilot_remarks import remarks
from softbandit.policies.autopilot_words import learned_lines
from softbandit.policies.base import MOST_CONSTRAINTS, About, Choice, State, Steps, check_size, without_tiny
from softbandit.policies.output_units import Units
from softbandit.policies.prices import Prices, limit_prices

INITIAL = 4  # rounds far apart, before anything is learned
RELEARN = 1.5  # learn again when the rounds have grown by this factor
CANDIDATES = 512  # drawn in a round from what is too large to be looked at as a whole
CENTRES, COPIES = 4, 48  # promising points, and the candidates near each
RADII = (0.1, 0.03, 0.01)  # of these, relative to the domain's width
PRICE_GAIN = 2.0  # of the debt
REPAYMENT = 4.0  # the highest price of repaying a debt, as a multiple of the limit's own price (or of u / 4)
APART = 24  # points far apart, which decide on the transform of an output
PATIENCE = 100  # rounds left for which an arm that may be better by 1.2 standard deviations is worth a try


def far_apart(points: Floats, count: int) -> Ints:
    """Return the numbers of that many points, each as far as possible from those before it."""
    width = np.ptp(points, axis=0)
    scaled = points / np.where(width > 0, width, 1.0)
    chosen, gap = [0], np.full(len(points), np.inf)
    while len(chosen) < min(count, len(points)):
        gap = np.minimum(gap, ((scaled - scaled[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(gap.argmax()))
    return np.array(chosen)


class Outlook(NamedTuple):
    """The candidates of a round, what is expected of them, and the prices."""

    where: Ints  # (c,): the arm of each candidate; on a continuous domain -1
    points: Floats  # (c, d)
    f: Floats  # (c,): optimistic
    g: Floats  # (m, c)
    prices: Prices
    phi: Floats  # (m,)
    moments: list[tuple[Floats, Floats]]  # mean and variance (c,) of each output, in its own units


class OutputModel(NamedTuple):
    """The units and the model of one output, as learned."""

    units: Units
    effects: PointEffects
    theta: Floats  # where the next search starts


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The observations of one trial, and what was learned from the first `fitted` of them."""

    policy: "Autopilot"
    where: Ints  # (t,): the arms; on a continuous domain -1
    X: Floats  # (t, d)
    Y: Floats  # (t, 1 + m)
    fitted: int = 0
    since: int = 0  # the round from which debts count: the last in which a limit was changed
    models: tuple[OutputModel, ...] = ()
    posteriors: tuple[PivotPosterior, ...] = ()  # of each output, in its own units, if all arms are looked at
    fits: tuple[PointPosterior, ...] = ()  # the same if not

    # -- Learning. --

    def observe(self, where: int, x: Floats, y: Floats) -> "Knowledge":
        """Return the knowledge after one more round; learned again if that is due."""
        longer = replace(
            self,
            where=np.append(self.where, where),
            X=np.concatenate([self.X, x[None]]),
            Y=np.concatenate([self.Y, y[None]]),
        )
        if len(longer.X) >= max(INITIAL, math.ceil(RELEARN * self.fitted)):
            return longer.learn()
        z = [float(model.units.inside(value)) for model, value in zip(self.models, y, strict=bool(self.models))]
        posteriors = tuple(p.observe(where, value) for p, value in zip(self.posteriors, z, strict=False))
        fits = tuple(p.observe(x, value) for p, value in zip(self.fits, z, strict=False))
        return replace(longer, posteriors=posteriors, fits=fits)

    def learn(self) -> "Knowledge":
        """Return the knowledge with models learned from all rounds."""
        starts: list[Floats | None] = [m.theta for m in self.models] or [None] * self.Y.shape[1]
        models = tuple(self._learn_output(i, start) for i, start in enumerate(starts))
        return replace(self, fitted=len(self.X), models=models).with_posteriors()

    def _learn_output(self, i: int, start: Floats | None) -> OutputModel:
        data = self.by_point(i)
        units = Units.learned(data.means, i > 0, data.means[far_apart(data.points, APART)])
        inside = data.with_values(units.inside(self.Y[:, i]))
        effects, theta = learn(self.policy.form, inside, start, self.Y.shape[1])
        return OutputModel(units, effects, theta)

    def with_posteriors(self) -> "Knowledge":
        """Return the knowledge with posteriors over all arms, if they are few enough, or at any points."""
        outputs = range(len(self.models))
        if self.policy.looks_at_all:
            return replace(self, posteriors=tuple(map(self._posterior, outputs)))
        return replace(self, fits=tuple(map(self._fit, outputs)))

    def _posterior(self, i: int) -> PivotPosterior:
        """Return that of one output: the rounds learned from by arm, the later ones in order, as they came."""
        units, effects, _ = self.models[i]
        y, posterior = units.inside(self.Y[:, i]), PivotPosterior.prior(effects, self.policy.arms)
        where = self.where[: self.fitted]
        for arm in np.unique(where):
            values = y[: self.fitted][where == arm]
            posterior = posterior.observe(int(arm), float(values.mean()), len(values))
        for arm, value in zip(self.where[self.fitted :], y[self.fitted :], strict=True):
            posterior = posterior.observe(int(arm), float(value))
        return posterior

    def _fit(self, i: int) -> PointPosterior:
        """Return that of one output at any points, from the rounds in the same order."""
        units, effects, _ = self.models[i]
        y, n = units.inside(self.Y[:, i]), self.fitted
        fit = PointPosterior.of(effects, Repeats.of(self.X[:n], y[:n]))
        for x, value in zip(self.X[n:], y[n:], strict=True):
            fit = fit.observe(x, float(value))
        return fit

    def with_limits_raised(self, by: Floats) -> "Knowledge":
        """Return the knowledge for limits raised by (m,): every cost is lower by as much, and debts count anew."""
        changed = replace(self, Y=without_tiny(self.Y - np.append(0.0, by)), since=len(self.X))
        return changed.learn() if self.models else changed

    def by_point(self, i: int) -> Repeats:
        """Return the observations of one output by point, in the user's units."""
        return self._repeats.with_values(self.Y[:, i])

    @cached_property
    def _repeats(self) -> Repeats:
        return Repeats.of(self.X, self.Y[:, 0])

    @cached_property
    def spreads(self) -> Floats:
        """The spread of each output over the observed points, (1 + m,)."""
        return np.array([Units.of(self.by_point(i).means).spread for i in range(self.Y.shape[1])])

    @property
    def debt(self) -> Floats:
        """The total of each cost as measured, (m,)."""
        return np.asarray(self.Y[self.since :, 1:].sum(axis=0))

    # -- Deciding. --

    @cached_property
    def outlook(self) -> Outlook:
        """The candidates of the next round, their estimates, and the prices."""
        t = len(self.X)
        where, points, moments = self._candidates()
        f, costs = self._optimistic(moments)
        contexts = None if self.policy.context is None else self.policy.context[where]
        prices = limit_prices(f, costs, contexts)
        u = self.spreads[0] / self.spreads[1:]
        highest = REPAYMENT * np.maximum(prices.phi, u / 4)
        phi = np.maximum(prices.phi, np.minimum(self._repayment_prices(f, moments, contexts), highest))
        rounds = self.policy.horizon or t
        owed = PRICE_GAIN * u * (self.debt / self.spreads[1:]) / math.sqrt(max(rounds, t))
        return Outlook(where, points, f, costs, prices, np.maximum(phi + owed, 0.0), moments)

    def _repayment_prices(self, f: Floats, moments: list[tuple[Floats, Floats]], contexts: Ints | None) -> Floats:
        """Return the prices (m,) at which debts are repaid in the rounds left; inf if no mixture does."""
        debt = np.maximum(self.debt, 0.0)
        if not debt.any():
            return np.zeros_like(debt)
        means = [m.units.moments(*z, m.effects.noise)[0] for m, z in zip(self.models, moments, strict=True)]
        costs = np.array(means[1:]) + debt[:, None] / self.rounds_left
        if (costs.min(axis=1) <= 0).all():
            prices = limit_prices(f, costs, contexts)
            if prices.feasible:
                return prices.phi
        return np.where(debt > 0, np.inf, 0.0)

    @property
    def rounds_left(self) -> int:
        """The rounds until the horizon; if it is unknown, as many as there were, or PATIENCE if that is more."""
        t, T = len(self.X), self.policy.horizon
        return max(t, PATIENCE) if T is None else max(T - t, 1)

    def outlook_among(self, offered: Ints) -> Outlook:
        """Return the outlook for a round that offers some of the arms, at the same prices."""
        o = self.outlook
        if self.posteriors:
            moments = [(mean[offered], variance[offered]) for mean, variance in o.moments]
            return Outlook(offered, o.points[offered], o.f[offered], o.g[:, offered], o.prices, o.phi, moments)
        drawn = np.random.default_rng([len(self.X), 2]).permutation(offered)[:CANDIDATES]
        arms = np.union1d(np.intersect1d(o.where, offered), drawn)
        points = self.policy.arms[arms]
        moments = [fit.at(points) for fit in self.fits]
        return Outlook(arms, points, *self._optimistic(moments), o.prices, o.phi, moments)

    def _optimistic(self, moments: Iterable[Iterable[Floats]]) -> tuple[Floats, Floats]:
        """Return f_t (c,) and g_t (m, c), from mean and variance of each output in its own units."""
        k = self.policy.optimism * math.sqrt(2 * math.log1p(self.rounds_left / PATIENCE))
        signs = [1.0] + [-1.0] * (self.Y.shape[1] - 1)
        f, *g = (
            model.units.outside(mean + sign * k * np.sqrt(variance), model.effects.noise)
            for sign, model, (mean, variance) in zip(signs, self.models, moments, strict=True)
        )
        return f, np.array(g).reshape(-1, len(f))

    def acquisition(self, o: Outlook) -> Floats:
        """Return what is maximised over the candidates: if no mixture meets the limits, minus the violation."""
        if o.prices.feasible:
            return np.asarray(o.f - o.phi @ o.g)
        s = self.spreads
        return np.asarray(-(np.maximum(o.g, 0.0) / s[1:, None]).sum(axis=0) + 1e-6 * o.f / s[0])

    def _candidates(self) -> tuple[Ints, Floats, list[tuple[Floats, Floats]]]:
        """Return the candidates, and mean and variance of each output there, in its own units."""
        if self.posteriors:
            moments = [(p.mean, p.variance) for p in self.posteriors]
            return np.arange(len(self.policy.arms)), self.policy.arms, moments
        where, points = self.policy.candidates(self.X[self._promising()], len(self.X))
        moments = [fit.moments(points) for fit in self.fits]
        first = self._repeats.first_rounds
        first = np.append(first[first < self.fitted], np.sort(first[first >= self.fitted]))  # as in the fits
        return np.append(self.where[first], where), np.concatenate([self.fits[0].points, points]), moments

    def _promising(self) -> Ints:
        """Return rounds at which the best of the observed points were played, by their means and the limits' prices."""
        means = np.stack([self.by_point(i).means for i in range(self.Y.shape[1])])
        prices = limit_prices(means[0], means[1:])
        z = means[0] - prices.phi @ means[1:] if prices.feasible else -means[1:].sum(axis=0)
        best = np.argsort(-z, kind="stable")[:CENTRES]
        return self._repeats.first_rounds[best]

    # -- For a file. --

    def arrays(self) -> Iterator[Any]:
        """Iterate over what a file must hold."""
        yield from (self.where, self.X, self.Y, self.fitted, self.since)
        yield np.array([[*vars(m.units).values(), m.effects.offset, *m.theta] for m in self.models])

    def refilled(self, values: Iterator[Any]) -> "Knowledge":
        """Return the knowledge in a file: nothing is learned again."""
        where, X, Y, fitted, since, table = (next(values) for _ in range(6))
        t = len(X)
        if X.shape != (t, self.X.shape[1]) or Y.shape != (t, self.Y.shape[1]) or where.shape != (t,):
            raise ValueError(f"expected {self.X.shape[1]} and {self.Y.shape[1]} columns, got {X.shape} and {Y.shape}")
        if not (np.isfinite(X).all() and np.isfinite(Y).all() and np.isfinite(table).all()):
            raise ValueError("NaN or infinity in the data")
        if not (0 <= fitted <= t and 0 <= since <= t):
            raise ValueError(f"expected rounds up to {t}, got {fitted} and {since}")
        if not np.isin(where, [-1] if self.policy.continuous else np.arange(len(self.policy.arms))).all():
            raise ValueError("an arm that there is not")
        if len(table) != (self.Y.shape[1] if fitted else 0):
            raise ValueError(f"expected a model of each output, got {len(table)}")
        models = tuple(self._model(row) for row in table)
        told = replace(self, where=where, X=X, Y=Y, fitted=int(fitted), since=int(since))
        return replace(told, models=models).with_posteriors()

    def _model(self, row: Floats) -> OutputModel:
        units, offset, theta = Units(*row[:4].tolist()), float(row[4]), row[5:]
        *parameters, signal, own, noise = np.exp(theta).tolist()
        kernel = self.policy.form.with_parameters(parameters)
        return OutputModel(units, PointEffects(kernel, offset, signal, own, noise), theta)


@dataclass(frozen=True, eq=False)
class Autopilot(Steps):
    """Maximise reward while each cost is at most zero on average, with everything else learned.

    Parameters
    ----------
    arms
        The actions, as rows of features; or a `Box` or `Space` of them.
    constraints
        The number of costs.
    horizon
        The number of rounds, if known: exploration ends with it, and debts are repaid by then.
    contexts
        The context of each arm, if they have several: contexts should be about equally frequent. Pass the arms of the
        round's context to `agent.ask(among=...)`.
    kernel
        The form of the functions; Matern with one length scale per feature by default.
    optimism
        A factor on the optimism of the estimates, sqrt(2 ln(1 + rounds left / 100)) posterior standard deviations.

    Examples
    --------
    >>> import softbandit as sb
    >>> agent = sb.Agent(sb.Autopilot(np.linspace(0, 1, 30)[:, None], horizon=100))
    >>> agent.tell(agent.ask(), reward=12.0, cost=-3.0)
    """

    arms: Any
    constraints: int = 1
    horizon: int | None = None
    contexts: ArrayLike | None = None
    kernel: Kernel | None = None
    optimism: float = 1.0
    space: Domain | None = field(init=False, repr=False)
    context: Ints | None = field(init=False, repr=False)  # (n,): numbered from 0
    form: Kernel = field(init=False, repr=False)  # the kernel, or the default one
    given: dict[str, Any] = field(init=False, repr=False)  # the settings of a file: a small space is not its arms

    takes_spaces = True
    about = About(
        "optimism at the limits' own prices, with measured debts repaid; everything is learned",
        "softbandit",
        "nothing",
        "none: no theorem takes so little as known",
    )

    # -- The steps of a round. --

    def draws(self) -> DrawCount:
        return DrawCount(0, 2)

    def init(self, trials: int) -> State:
        m, d = self.constraints, self.dimension
        blank = Knowledge(self, np.empty(0, dtype=np.int64), np.empty((0, d)), np.empty((0, 1 + m)))
        return State(0, np.zeros((trials, m)), (blank,) * trials)

    def decide(self, state: State, draws: Draws, among: ArmMask | None = None) -> Choice:
        masks = (
            [None] * len(state.posterior)
            if among is None
            else np.broadcast_to(among, (len(state.posterior), among.shape[-1]))
        )
        choices = [self._decide(*trial) for trial in zip(state.posterior, draws.uniform, masks, strict=True)]
        return Choice(*map(np.concatenate, zip(*choices, strict=True)))

    def _decide(self, known: Knowledge, uniform: Floats, among: Floats | None) -> Choice:
        if not known.models:
            where, x = self._far_away(known.X, uniform, among)
            return Choice(self._as_choice(where, x), np.zeros(1), np.zeros((1, self.constraints)))
        o = known.outlook if among is None else known.outlook_among(np.flatnonzero(among))
        z = known.acquisition(o)
        best = np.flatnonzero(z >= z.max() - 1e-12 * np.abs(z).max())
        i = int(best[int(uniform[-1] * len(best))])
        return Choice(self._as_choice(int(o.where[i]), o.points[i]), o.f[i : i + 1], o.g[:, i][None])

    def update(self, state: State, choice: Choice, reward: PerTrial, cost: PerCost) -> State:
        Y = np.concatenate([reward[:, None], cost], axis=1)
        check_size(Y)
        per_trial = zip(state.posterior, choice.arm, without_tiny(Y), strict=True)
        return self._state(state.round + 1, (k.observe(*self._as_point(arm), y) for k, arm, y in per_trial))

    def _state(self, round: int, knowledge: Iterable[Knowledge]) -> State:
        known, none = tuple(knowledge), np.zeros(self.constraints)
        dual = np.array([k.outlook.phi if k.models else none for k in known])
        return State(round, dual.reshape(len(known), self.constraints), known)

    # -- Where to look. --

    @property
    def dimension(self) -> int:
        return int(self.arms.dimension if self.continuous else self.arms.shape[1])

    @property
    def looks_at_all(self) -> bool:
        """Whether all arms are looked at in each round."""
        return not self.continuous and len(self.arms) <= FINITE_LIMIT

    def candidates(self, centres: Floats, t: int) -> tuple[Ints, Floats]:
        """Return arms and points to look at in round t: anywhere, and near the centres."""
        rng = np.random.default_rng([t, 1])
        if not self.continuous:
            near = [np.argpartition(((self.arms - x) ** 2).sum(axis=1), COPIES)[:COPIES] for x in centres]
            arms = np.unique(np.concatenate([rng.choice(len(self.arms), CANDIDATES, replace=False), *near]))
            return arms, self.arms[arms]
        width = self.arms.upper - self.arms.lower
        radii = np.resize(RADII, COPIES)[:, None]
        steps = [x + radii * width * rng.standard_normal((COPIES, len(x))) for x in centres]
        inside = np.clip(np.concatenate(steps), self.arms.lower, self.arms.upper)
        moved = [self.arms.neighbours(x) for x in centres]
        points = np.concatenate(
            [self.arms.at(rng.random((CANDIDATES, self.dimension))), self.arms.snap(inside), *moved]
        )
        return np.full(len(points), -1), points

    def _far_away(self, X: Floats, uniform: Floats, among: Floats | None) -> tuple[int, Floats]:
        """Return a point that is far from those before, and from the border: the worst surprises are in the corners.

        The distance from the border is that between a point and its mirror image.
        """
        rng = np.random.default_rng(int(uniform[0] * 2**53))
        if self.continuous:
            points, where = self.arms.at(rng.random((256, self.dimension))), np.full(256, -1)
        else:
            where = np.arange(len(self.arms)) if among is None else np.flatnonzero(among)
            where = rng.permutation(where)[: 4 * FINITE_LIMIT]
            points = self.arms[where]
        lower, width = points.min(axis=0), np.ptp(points, axis=0)
        unit = np.where(width > 0, width, 1.0)
        z = (points - lower) / unit
        border = 2 * np.linalg.norm(np.minimum(z, 1 - z), axis=1)
        if not len(X):
            i = int(border.argmax())
        else:
            gaps = np.linalg.norm(z[:, None] - ((X - lower) / unit)[None], axis=2).min(axis=1)
            i = int((np.minimum(gaps, border) + 1e-3 * gaps).argmax())  # ties, as if all are corners, by distance
        return int(where[i]), points[i]

    def _as_choice(self, where: int, x: Floats) -> Any:
        return x[None] if self.continuous else np.array([where])

    def _as_point(self, arm: Any) -> tuple[int, Floats]:
        return (-1, arm) if self.continuous else (int(arm), self.arms[int(arm)])

    # -- For an agent. --

    def __repr__(self) -> str:
        return self.outline

    def remarks(self, state: State) -> dict[str, str]:
        return remarks(state.posterior[0])

    def learned(self, state: State) -> list[str]:
        return learned_lines(state.posterior[0])

    def with_limits_raised(self, state: State, by: Floats) -> State:
        return self._state(state.round, (known.with_limits_raised(by) for known in state.posterior))

    def usable(self, state: State) -> bool:
        return all(
            np.isfinite(k.outlook.f).all() and np.isfinite(k.outlook.phi).all() for k in state.posterior if k.models
        )

    def moments(self, state: State, points: Floats | None) -> tuple[Floats, Floats]:
        known: Knowledge = state.posterior[0]
        if not known.models:
            raise ArgumentError.of("posterior", "rounds to learn from", len(known.X), "Play the first rounds.")
        X = self.arms if points is None else points
        pairs = []
        for i, (units, effects, _) in enumerate(known.models):
            if points is None and known.posteriors:
                mean, variance = known.posteriors[i].mean, known.posteriors[i].variance
            else:
                mean, variance = known.fits[i].at(X)
            pairs.append(units.moments(mean, variance, effects.noise))
        means, deviations = zip(*pairs, strict=True)
        return np.array(means), np.array(deviations)

    def __post_init__(self) -> None:
        space = self.arms if isinstance(self.arms, Domain) else None
        object.__setattr__(self, "space", space)
        if space is None or (isinstance(space, Space) and space.size <= FINITE_LIMIT):
            object.__setattr__(self, "arms", validation.points("arms", self.arms if space is None else space.every()))
        m = validation.whole("constraints", self.constraints, least=0, most=MOST_CONSTRAINTS)
        object.__setattr__(self, "constraints", m)
        if self.horizon is not None:
            object.__setattr__(self, "horizon", validation.whole("horizon", self.horizon, least=1, most=2**53))
        object.__setattr__(self, "optimism", validation.nonnegative("optimism", self.optimism))
        object.__setattr__(self, "context", self._numbered_contexts())
        object.__setattr__(self, "form", self._checked_form())
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        object.__setattr__(self, "given", given if space is None else given | {"arms": space})

    def _checked_form(self) -> Kernel:
        """Return the kernel, or the default one. It is tried at a point: what does not fit the arms is refused now."""
        form = Matern([1.0] * self.dimension) if self.kernel is None else self.kernel
        if not isinstance(form, Kernel):
            raise ArgumentError.of("kernel", "a Kernel", self.kernel, "For example sb.Matern(0.3), or leave it out.")
        point = self.arms.corners()[:1] if self.continuous else self.arms[:1]
        form(point, point)
        return form

    def _numbered_contexts(self) -> Ints | None:
        if self.contexts is None:
            return None
        if self.continuous:
            raise ArgumentError.of("contexts", "none, on a space", self.contexts, "Pass arms, with a context each.")
        numbered = validation.labels("contexts", self.contexts, len(self.arms))
        object.__setattr__(self, "contexts", numbered)
        return numbered
