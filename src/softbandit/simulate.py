"""The loop over rounds: a policy plays a problem, in many independent trials at once."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softbandit import checks, compiled
from softbandit.arrays import POLICY, PROBLEM, draw, drop_single
from softbandit.baselines.seeded import Seeded
from softbandit.checks import Floats
from softbandit.errors import ArgumentError, SafeSeedError, Words
from softbandit.policy import Policy, Stage, State
from softbandit.problems.problem import Problem
from softbandit.problems.space import SpaceProblem
from softbandit.rounds import Rounds, play_round

CHUNK_NUMBERS = 2**20  # random numbers held at a time, unless one round needs more
CHUNK_ROUNDS = 256  # so that progress is reported often enough


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened: arrays (trials, rounds), with a last axis of m where there are several constraints."""

    arms: NDArray[Any]  # int64; on a continuous domain the points themselves, float64 with a last axis of d
    rewards: Floats  # as observed
    costs: Floats
    dual: Floats  # before the round's update
    reward_estimates: Floats  # f_t and g_t at the arm, truncated where the policy truncates
    cost_estimates: Floats
    trials: Sequence[int]
    seed: int


def simulate(
    policy: Policy,
    problem: Problem | SpaceProblem,
    trials: int | Sequence[int] = 1,
    seed: int = 0,
    engine: str = "numpy",
    rounds: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Trace:
    """Run independent trials of a policy on a problem.

    Parameters
    ----------
    trials
        How many, or the numbers of the ones to run: trial 7 is the same alone (`trials=[7]`) as among 8,000.
    seed
        Of all randomness, together with the trial's number. Policies with the same seed meet the same noise.
    engine
        "numpy", or "jax": the same steps, compiled, on the CPU or a GPU. They make the same decisions.
    rounds
        How many; the policy's horizon by default.
    progress
        Called now and then with the number of rounds done since the last call.

    Examples
    --------
    >>> import softbandit as sb
    >>> problem = sb.problems.rkhs(seed=3)
    >>> trace = sb.simulate(sb.CKB(**problem.settings(), horizon=20), problem, trials=4)
    >>> trace.arms.shape
    (4, 20)
    """
    checks.named("engine", engine, dict.fromkeys(["numpy", "jax"]))
    numbers = trial_numbers(trials)
    seed = checks.whole("seed", seed, least=0, most=2**64 - 1)
    if policy.continuous or isinstance(problem, SpaceProblem):
        _check_space(policy, problem, engine)
    else:
        _check_fit(policy, problem)
    T = _rounds(policy, rounds)
    b, m = len(numbers), policy.constraints
    record = _Record(T, b, m, problem.constraints, policy.arms.dimension if policy.continuous else None)
    state: State | None = None
    for stage, first, count in _chunks(policy, problem, b, T):
        step = stage.policy
        if first == stage.first:
            state = stage.start(b, state)
        draws = draw(step.draws(), seed, numbers, first, count, POLICY)
        noise = draw(problem.draws(), seed, numbers, first, count, PROBLEM)
        assert state is not None
        if engine == "jax":
            assert isinstance(problem, Problem)
            state, seen = compiled.run(step, problem, state, draws, noise)
            record.write(slice(first, first + count), seen)
        else:
            for t, own, eta in zip(range(first, first + count), draws.rounds(), noise.rounds(), strict=True):
                state, seen = play_round(step, problem, state, own, eta)
                record.write(t, seen)
        if progress is not None:
            progress(count)
    record.warn(policy, numbers)
    return Trace(**record.columns(), trials=numbers, seed=seed)


class ComplaintWarning(UserWarning):
    """What was seen in some trials refutes what a policy was told."""


class _Record:
    """The trace as it grows: one row a round, so that a round writes contiguous memory."""

    def __init__(self, rounds: int, trials: int, constraints: int, costs: int, dimension: int | None) -> None:
        places = (rounds, trials)
        self._arms: NDArray[Any] = np.empty(places, np.int64) if dimension is None else np.empty((*places, dimension))
        self._reward = np.empty((rounds, trials, 2))  # observed, estimated
        self._cost = np.empty((rounds, trials, costs))
        self._dual = np.empty((rounds, trials, 2, constraints))  # dual, cost estimate
        self._refuted = np.zeros(trials, dtype=bool)

    def write(self, t: int | slice, seen: Rounds) -> None:
        """One round, or several."""
        self._arms[t] = seen.choice.arm
        self._reward[t, :, 0], self._reward[t, :, 1] = seen.reward, seen.choice.reward_estimate
        self._cost[t] = seen.cost
        self._dual[t, :, 0], self._dual[t, :, 1] = seen.dual, seen.choice.cost_estimate
        if seen.refuted is not None:
            self._refuted |= seen.refuted if seen.refuted.ndim == 1 else seen.refuted.any(axis=0)

    def warn(self, policy: Policy, numbers: Sequence[int]) -> None:
        """Say once in which trials what was seen refuted the policy."""
        trials = [numbers[int(i)] for i in np.flatnonzero(self._refuted)]
        if trials:
            which = ", ".join(map(str, trials[:8])) + (", ..." if len(trials) > 8 else "")
            said = f"In {len(trials)} of {len(numbers)} trials ({which}): {policy.stage(0).policy.objection()}"
            warnings.warn(said, ComplaintWarning, stacklevel=3)

    def columns(self) -> dict[str, Any]:
        """The public arrays, one row a trial."""
        rows = {
            "arms": self._arms,
            "rewards": self._reward[..., 0],
            "reward_estimates": self._reward[..., 1],
            "costs": drop_single(self._cost),
            "dual": drop_single(self._dual[:, :, 0]),
            "cost_estimates": drop_single(self._dual[:, :, 1]),
        }
        return {name: np.ascontiguousarray(np.swapaxes(value, 0, 1)) for name, value in rows.items()}


def trial_numbers(trials: int | Sequence[int]) -> Sequence[int]:
    """Which trials are meant."""
    if not isinstance(trials, (Sequence, np.ndarray)):
        return range(checks.whole("trials", trials, least=1))
    numbers = [checks.whole("trials", trial, least=0, most=2**64 - 1) for trial in trials]
    if not numbers:
        raise ArgumentError.of("trials", "at least one trial", trials, "Pass how many, or which.")
    return numbers


def _rounds(policy: Policy, rounds: int | None) -> int:
    if rounds is None and policy.horizon is None:
        raise ArgumentError.of("rounds", "a whole number", None, "The policy has no horizon: say how many rounds.")
    return checks.whole("rounds", policy.horizon if rounds is None else rounds, least=1)


def _check_fit(policy: Policy, problem: Problem) -> None:
    if len(policy.arms) != len(problem.arms):
        got = Words(f"{len(policy.arms)} arms in the policy, {len(problem.arms)} in the problem")
        raise ArgumentError.of("policy", "the problem's arms", got, "Build it with **problem.settings().")
    step = policy.stage(0).policy  # what a wrapper wraps
    if problem.contexts is not None and not step.takes_contexts:
        got = Words(f"{type(step).__name__}, which has no rule for a round in which no safe arm is on offer")
        raise ArgumentError.of("policy", "one that takes contexts", got, "Choose another.")
    if isinstance(step, Seeded) and problem.costs[step.known_safe].max(initial=0.0) > 0:
        got = Words(f"a cost of {problem.costs[step.known_safe].max():.3g} there")
        raise SafeSeedError.of("safe", "arms that are safe in this problem", got, "Name others.")
    if policy.constraints not in (0, problem.constraints):
        got = Words(f"{policy.constraints} constraints in the policy, {problem.constraints} in the problem")
        raise ArgumentError.of("policy", "as many constraints, or none", got, "Set constraints=.")


def _check_space(policy: Policy, problem: Problem | SpaceProblem, engine: str) -> None:
    mine: Any = policy.arms
    if not isinstance(problem, SpaceProblem) or not policy.continuous:
        got = Words("a continuous domain and finite arms")
        remedy = "Discretise the problem, problem.discretised(policy.arms), or give the policy the problem's space."
        raise ArgumentError.of("policy, problem", "both on finite arms, or both on a space", got, remedy)
    its = problem.arms
    alike = mine.dimension == its.dimension and np.array_equal([mine.lower, mine.upper], [its.lower, its.upper])
    if not alike:
        raise ArgumentError.of("policy", "the problem's space", mine, "Build it with **problem.settings().")
    if engine == "jax":
        remedy = "A search does not compile; use engine='numpy'."
        raise ArgumentError.of("engine", "'numpy', on a continuous domain", engine, remedy)
    if policy.constraints not in (0, problem.constraints):
        got = Words(f"{policy.constraints} constraints in the policy, {problem.constraints} in the problem")
        raise ArgumentError.of("policy", "as many constraints, or none", got, "Set constraints=.")


def _chunks(
    policy: Policy, problem: Problem | SpaceProblem, trials: int, rounds: int
) -> Iterator[tuple[Stage, int, int]]:
    """(stage in force, first round, number of rounds) of pieces that fit in memory and in one stage each."""
    first = 0
    while first < rounds:
        stage = policy.stage(first)
        numbers = trials * (sum(stage.policy.draws()) + sum(problem.draws()) + 1)
        count = max(1, min(CHUNK_ROUNDS, CHUNK_NUMBERS // numbers))
        count = int(min(count, rounds - first, stage.last - first))
        yield stage, first, count
        first += count
