"""Autopilot: for users who know their limits and nothing else. Kernel, noise, scales and prices are learned.

Each round is drawn from the best mixture of arms: that with the largest optimistic reward f_t whose costs keep the
limits and repay what is owed,

    maximise E_pi[f_t]  subject to  E_pi[g_t] + debt / min(5 sqrt(T), rounds left) <= 0,

or debt / sqrt(t) if the horizon is unknown. g_t are the expected costs where there is a debt, and optimistic ones where
there is none. `debt` is the total of the costs as *measured*: whatever the model believes, a debt that grows wins in
the end. If no mixture repays it, or only at a price above max(4 phi_LP, u), a round plays
argmax f_t(x) - phi_t . g_t(x) with optimistic costs and

    phi_t = max(4 phi_LP, u) + 2 u debt / (s_g sqrt(T))    u = s_f / s_g

phi_LP are the prices at which the best mixture meets its limits by optimistic costs, s_f and s_g the spreads of what
was observed. No theorem covers it, since all that a theorem takes as known is learned.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softbandit import validation
from softbandit.backend import ArmMask, DrawCount, Draws, Floats, Ints, PerCost, PerTrial, one_thread
from softbandit.domains import FINITE_LIMIT, Domain, Space
from softbandit.errors import ArgumentError
from softbandit.gp import Kernel, Matern
from softbandit.policies.autopilot_knowledge import CANDIDATES, INITIAL, Knowledge
from softbandit.policies.autopilot_remarks import remarks
from softbandit.policies.autopilot_words import learned_lines
from softbandit.policies.base import MOST_CONSTRAINTS, About, Choice, Quantile, State, Steps, check_size, without_tiny
from softbandit.policies.outlook import Moments, choose, in_user_units, quantiles

COPIES = 48  # candidates near each promising point
RADII = (0.1, 0.03, 0.01)  # of these, relative to the domain's width


def sample_points(space: Domain, centres: Floats, rng: np.random.Generator) -> Floats:
    """Return points anywhere in a space, and near the centres."""
    width = space.upper - space.lower
    radii = np.resize(RADII, COPIES)[:, None]
    steps = [x + radii * width * rng.standard_normal((COPIES, len(x))) for x in centres]
    inside = np.clip(np.concatenate(steps), space.lower, space.upper)
    moved = [space.neighbours(x) for x in centres]
    return np.concatenate([space.at(rng.random((CANDIDATES, space.dimension))), space.snap(inside), *moved])


def far_from(X: Floats, points: Floats) -> int:
    """Return the number of the point that is farthest from X, and from the border: the worst surprises are in corners.

    The distance from the border is that between a point and its mirror image.
    """
    lower, width = points.min(axis=0), np.ptp(points, axis=0)
    unit = np.where(width > 0, width, 1.0)
    z = (points - lower) / unit
    border = 2 * np.linalg.norm(np.minimum(z, 1 - z), axis=1)
    if not len(X):
        return int(border.argmax())
    gaps = np.linalg.norm(z[:, None] - ((X - lower) / unit)[None], axis=2).min(axis=1)
    return int((np.minimum(gaps, border) + 1e-3 * gaps).argmax())  # ties, as if all are corners, by distance


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
        "the best mixture by optimistic estimates, with measured debts repaid; everything is learned",
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

    @one_thread()
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
        i = choose(o, known.models, known.standing, float(uniform[-1]))
        return Choice(self._as_choice(int(o.where[i]), o.points[i]), o.f[i : i + 1], o.g[:, i][None])

    @one_thread()
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

    def candidates(self, centres: Floats, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Return arms and points to look at in a round: anywhere, and near the centres."""
        if not self.continuous:
            width = np.ptp(self.arms, axis=0)
            unit = np.where(width > 0, width, 1.0)
            gaps = ((((self.arms - x) / unit) ** 2).sum(axis=1) for x in centres)
            neighbours = [np.argpartition(gap, COPIES)[:COPIES] for gap in gaps]
            arms = np.unique(np.concatenate([rng.choice(len(self.arms), CANDIDATES, replace=False), *neighbours]))
            return arms, self.arms[arms]
        points = sample_points(self.arms, centres, rng)
        return np.full(len(points), -1), points

    def _far_away(self, X: Floats, uniform: Floats, among: Floats | None) -> tuple[int, Floats]:
        """Return a point that is far from those before, and from the border."""
        rng = np.random.default_rng(int(uniform[0] * 2**53))
        if self.continuous:
            points, where = self.arms.at(rng.random((256, self.dimension))), np.full(256, -1)
        else:
            where = np.arange(len(self.arms)) if among is None else np.flatnonzero(among)
            where = rng.permutation(where)[: 4 * FINITE_LIMIT]
            points = self.arms[where]
        i = far_from(X, points)
        return int(where[i]), points[i]

    def _as_choice(self, where: int, x: Floats) -> Any:
        return x[None] if self.continuous else np.array([where])

    def _as_point(self, arm: Any) -> tuple[int, Floats]:
        return (-1, arm) if self.continuous else (int(arm), self.arms[int(arm)])

    # -- For an agent. --

    def remarks(self, state: State) -> dict[str, str]:
        return remarks(state.posterior[0])

    @one_thread()
    def learned(self, state: State) -> list[str]:
        return learned_lines(state.posterior[0])

    @one_thread()
    def with_limits_raised(self, state: State, by: Floats) -> State:
        return self._state(state.round, (known.with_limits_raised(by) for known in state.posterior))

    def usable(self, state: State) -> bool:
        return all(
            np.isfinite(k.outlook.f).all() and np.isfinite(k.outlook.phi).all() for k in state.posterior if k.models
        )

    def moments(self, state: State, points: Floats | None) -> tuple[Floats, Floats]:
        known: Knowledge = state.posterior[0]
        means, deviations = zip(*in_user_units(known.models, self._own_moments(known, points)), strict=True)
        return np.array(means), np.array(deviations)

    def quantile(self, state: State, points: Floats | None) -> Quantile:
        known: Knowledge = state.posterior[0]
        return quantiles(known.models, self._own_moments(known, points))

    @one_thread()
    def _own_moments(self, known: Knowledge, points: Floats | None) -> list[Moments]:
        """Return mean and variance of each output in its own units, at points or at all arms."""
        if not known.models:
            raise ArgumentError.of("posterior", f"{INITIAL} rounds to learn from", len(known.X), "Play them first.")
        if points is None and known.posteriors:
            return [(posterior.mean, posterior.variance) for posterior in known.posteriors]
        X = self.arms if points is None else points
        return [known.fits[i].at(X) for i in range(len(known.models))]

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
