"""Certificates from a run: the total of each cost so far, and an upper bound on the regret, valid at all times at once.

Half of alpha is for sums of noise, and half for confidence bounds on the functions; each half is divided equally
among the reward and the m costs. docs/theory.md derives both parts.

    sum_t g_i(x_t)  in  sum_t c_it -+ radius_it
    R_+(T)          <=  T v_T - max(sum_t r_t - radius_0T, sum_t l_fT(x_t))

with v_T the optimum of the upper bound of the reward and the lower bounds of the costs, intersected over the rounds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend import Bools, Floats, Ints
from softbandit.errors import ArgumentError, Description, InfeasibleError
from softbandit.model import checked_confidence
from softbandit.policies import Policy, StepPolicy
from softbandit.theory.arm_elimination import optimistic_value
from softbandit.theory.confidence_sequences import bernstein_radius, sub_gaussian_radius
from softbandit.theory.run_bounds import Bounds, PointBounds, arm_bounds
from softbandit.theory.run_model import Rounds, Run, step_of
from softbandit.theory.space_optimum import generate_candidates

Ranges = Sequence[float] | Sequence[Sequence[float]] | None  # (low, high) of all costs, or of each


@dataclass(frozen=True, eq=False)
class RunCertificates:
    """The certificates of some trials after some of their rounds."""

    rounds: Ints  # (k,): the numbers of rounds played
    observed: Floats  # (b, k, 1 + m): totals of reward and costs as observed
    violation: Floats  # (b, k, m, 2): interval of the total of each cost
    regret: Floats  # (b, k): upper bound on R_+; infinite if there is none
    probability: float  # that all of them hold, in a trial


class Knowledge(NamedTuple):
    """Conclusions from the bounds on the functions after some round of one trial."""

    value: float  # upper bound on E_pi*[f]
    earned: float  # lower bound on the sum of f(x_t)
    bounds: Bounds  # over the arms; on a continuous domain over candidates
    contradictions: Bools  # where a lower bound exceeds the upper one, (1 + m, n)
    resolution: float = 0.0  # of the search for `value`


def certify_run(
    policy: Policy,
    trace: Rounds,
    confidence: float = 0.1,
    rounds: Sequence[int] | None = None,
    cost_range: Ranges = None,
) -> RunCertificates:
    """Certify every trial of a trace (or of an agent's record) after the given numbers of rounds; all by default.

    The bound on the regret needs a policy with norm bounds and noise, but not that it uses them; without one it is
    infinite. With `cost_range`, the costs lie in [low, high], and their noise need not be known.

    >>> import softbandit as sb
    >>> problem = sb.problems.rkhs(seed=3)
    >>> policy = sb.CKB(**problem.settings(), horizon=20)
    >>> certify_run(policy, sb.simulate(policy, problem, trials=4)).violation.shape
    (4, 20, 1, 2)
    """
    validation.instance("policy", policy, Policy, "a policy", "For example sb.CKB(...).")
    return certified_rounds(policy, Run.of(policy, trace), checked_confidence(confidence), rounds, cost_range)[0]


def certified_rounds(
    policy: Policy, run: Run, alpha: float, rounds: Sequence[int] | None, cost_range: Ranges
) -> tuple[RunCertificates, Knowledge | None]:
    """Return the certificates, and the last trial's knowledge after the last of the rounds."""
    b, T, outputs = run.observed.shape
    picked = (
        range(1, T + 1) if rounds is None else validation.listed("rounds", rounds, "numbers of rounds", "Pass a list.")
    )
    at = np.array([validation.whole("rounds", t, 1, T) for t in picked], dtype=np.int64)
    totals = np.cumsum(run.observed, axis=1)[:, at - 1]
    radius = sum_radius(policy, run, alpha / (2 * outputs), cost_range)[:, at - 1]
    regret, step, known = np.full((b, len(at)), np.inf), step_of(policy), None
    for i, j, known in knowledge(step, run, alpha / 2, at) if step is not None else ():
        earned = max(totals[i, j, 0] - radius[i, j, 0], known.earned)
        regret[i, j] = np.inf if known.contradictions.any() else at[j] * known.value - earned
    costs = np.stack([totals - radius, totals + radius], axis=-1)[:, :, 1:]
    return RunCertificates(at, totals, costs, regret, 1 - alpha), known


def sum_radius(policy: Policy, run: Run, alpha: float, cost_range: Ranges) -> Floats:
    """Return the radius (b, T, 1 + m) of the totals, each for probability alpha; infinite if the noise is not known."""
    step, (_, T, outputs) = step_of(policy), run.observed.shape
    if step is None and cost_range is None and outputs > 1:
        remedy = f"{type(policy).__name__} does not know the noise: pass the range of the costs, (low, high)."
        raise ArgumentError.of("cost_range", "a range", None, remedy)
    t, radius = np.arange(1, T + 1.0), np.full(run.observed.shape, np.inf)
    if step is not None:
        radius[:] = np.stack([sub_gaussian_radius(t, float(R), alpha) for R in step.model.noise], axis=-1)
    if cost_range is not None:
        for i, (low, high) in enumerate(checked_ranges(cost_range, run.observed[..., 1:]), start=1):
            radius[..., i] = bernstein_radius(run.observed[..., i], low, high, alpha)
    return radius


def checked_ranges(cost_range: Any, costs: Floats) -> Floats:
    """Return low and high of each cost, (m, 2), after checking that they hold all that was observed (b, T, m)."""
    m = costs.shape[-1]
    given = validation.array("cost_range", cost_range)
    if given.shape not in ((2,), (m, 2)):
        got = Description(f"an array of shape {given.shape}")
        raise ArgumentError.of("cost_range", f"(low, high), or {m} of them", got, "Check the shape.")
    given = np.broadcast_to(given, (m, 2))
    if not np.all(given[:, 0] < given[:, 1]):
        raise ArgumentError.of("cost_range", f"(low, high), or {m} of them", cost_range, "Pass low < high.")
    if np.any(costs < given[:, 0]) or np.any(costs > given[:, 1]):
        got = Description(f"costs from {costs.min():.4g} to {costs.max():.4g}")
        raise ArgumentError.of("cost_range", "a range that holds every observed cost", got, "Pass a wider one.")
    return given


def knowledge(step: StepPolicy, run: Run, alpha: float, at: Ints) -> Iterator[tuple[int, int, Knowledge]]:
    """Return (trial, place in `at`, knowledge) after each of those rounds."""
    return _on_space(step, run, alpha, at) if step.continuous else _on_arms(step, run, alpha, at)


def _on_arms(step: StepPolicy, run: Run, alpha: float, at: Ints) -> Iterator[tuple[int, int, Knowledge]]:
    played = np.zeros((len(run.arms), len(step.arms)))  # how often each arm was
    for t, bounds in enumerate(arm_bounds(step, run, alpha)):
        played[np.arange(len(played)), run.arms[:, t]] += 1
        for j in np.flatnonzero(at == t + 1):
            for i, own in enumerate(map(Bounds, *bounds)):
                earned = float(played[i] @ own.lower[0])
                yield i, int(j), Knowledge(optimistic_value(own), earned, own, own.contradict(step.bounds))


def _on_space(step: StepPolicy, run: Run, alpha: float, at: Ints) -> Iterator[tuple[int, int, Knowledge]]:
    for i, (X, Y) in enumerate(zip(run.arms, run.observed, strict=True)):
        for j, t in enumerate(at):
            bounds_at = PointBounds.of(step, X[:t], Y[:t], alpha)
            yield i, j, _on_candidates(step, bounds_at, X[:t])


def _on_candidates(step: StepPolicy, bounds_at: PointBounds, X: Floats) -> Knowledge:
    """Return the knowledge on points that represent the domain: those observed, and those that a search adds."""

    def optimistic(points: Floats) -> Floats:
        lower, upper = bounds_at(points)
        return np.column_stack([upper[0], lower[1:].T])

    here = bounds_at(X)
    try:
        candidates = generate_candidates(optimistic, step.arms, X)
    except InfeasibleError:
        return Knowledge(np.inf, 0.0, here, here.contradict(step.bounds))
    bounds = bounds_at(candidates.points)
    value = optimistic_value(bounds) + candidates.resolution
    contradictions = bounds.contradict(step.bounds)
    return Knowledge(value, float(here.lower[0].sum()), bounds, contradictions, candidates.resolution)
