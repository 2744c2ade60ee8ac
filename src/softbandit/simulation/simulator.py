"""The loop over rounds: a policy plays a problem, in many independent trials at once."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from softbandit import validation
from softbandit.backend.random import WORDS_PER_BLOCK
from softbandit.backend.shapes import Words
from softbandit.baselines.safe_seed import Seeded
from softbandit.errors import ArgumentError, SafeSeedError, Words
from softbandit.policies.base import Policy, Stage, StepPolicy
from softbandit.problems.problem import Problem
from softbandit.problems.space_problem import SpaceProblem
from softbandit.simulation import engines
from softbandit.simulation.rounds import COLUMNS, Columns, Engine, Options
from softbandit.simulation.trace import Record, Trace


class Limits(NamedTuple):
    """What is played between two reports of progress: at most, unless one round needs more."""

    words: int  # random ones, held at a time
    entries: int  # trials x arms x rank x rounds
    rounds: int


CPU, ACCELERATOR = Limits(2**22, 2**27, 2**10), Limits(2**27, 2**36, 2**12)
FEW = 64  # rounds, however long they are: a chunk costs a pause


def simulate(
    policy: Policy,
    problem: Problem | SpaceProblem,
    trials: int | Sequence[int] = 1,
    seed: int = 0,
    engine: str = "numpy",
    rounds: int | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    keep: Sequence[str] = COLUMNS,
    draws: str = "host",
    precision: str = "float64",
) -> Trace:
    """Run independent trials of a policy on a problem.

    Parameters
    ----------
    trials
        How many, or the numbers of the ones to run: trial 7 is the same alone (`trials=[7]`) as among 8,000.
    seed
        Of all randomness, together with the trial's number. Policies with the same seed meet the same noise.
    engine
        "numpy"; or "jax": the same steps, compiled, on the CPU or a GPU, with the same decisions; or "auto", which
        is JAX where it is installed and saves more than it takes to compile.
    rounds
        How many; the policy's horizon by default.
    progress
        Called now and then with the number of rounds done since the last call.
    keep
        The columns of the trace to keep besides the arms (which are all that `score` needs); all by default.
    draws
        Where random numbers are made: on the "host", or by JAX on its "device", where to send them there would
        take longer than the rounds do. They are the same numbers, up to the rounding of normal ones.
    precision
        "float64"; or with JAX "float32", in half the memory: arms that are as good as equal may then be told apart
        otherwise.

    Examples
    --------
    >>> import softbandit as sb
    >>> problem = sb.problems.rkhs(seed=3)
    >>> trace = sb.simulate(sb.CKB(**problem.settings(), horizon=20), problem, trials=4)
    >>> trace.arms.shape
    (4, 20)
    """
    numbers = trial_numbers(trials)
    columns = tuple(name for name in keep if name != "arms")
    options = Options(validation.whole("seed", seed, least=0, most=2**64 - 1), columns, draws, precision)
    T, b = _rounds(policy, rounds), len(numbers)
    step = policy.stage(0).policy
    engines.check(engine, options)
    if policy.continuous or isinstance(problem, SpaceProblem):
        _check_space(policy, problem, engine)
        engine, dimension = "numpy", policy.arms.dimension
    else:
        _check_fit(policy, problem)
        engine, dimension = engines.choose(engine, step, b, T), None
    blocks = engines.blocks(engine, step, numbers)
    record = Record(b, T, options.keep, policy.constraints, problem.constraints, dimension)
    for played, seen in _played(engine, policy, problem, blocks, T, options):
        for i, each in enumerate(seen):
            size = len(blocks[0])
            record.write(slice(i * size, (i + 1) * size), played, each)
        if progress is not None:
            progress(played.stop - played.start)
    record.warn(policy, numbers)
    return record.trace(numbers, options.seed, options.draws)


def _played(
    engine: str, policy: Policy, problem: Problem | SpaceProblem, blocks: list[Trials], rounds: int, options: Options
) -> Iterator[tuple[slice, list[Columns]]]:
    """The rounds in chunks, and what each block of trials saw in them.

    What a compiled chunk saw is fetched when the next has been sent off, to be played meanwhile.
    """
    states: list[Any] = [None] * len(blocks)
    playing, most = None, 0
    waiting: deque[tuple[slice, Engine, list[Any]]] = deque()
    with engines.Crew(engine, len(blocks)) as crew:
        for stage, first, count in _chunks(policy, problem, sum(map(len, blocks)), rounds, engine, options.draws):
            if first == stage.first:
                length = int(min(stage.last, rounds)) - first
                if stage.policy is not playing or length > most:  # otherwise it begins again, and all is there
                    player = engines.make(engine, stage.policy, problem, length, len(blocks[0]), options)
                    playing, most = stage.policy, length
                states = [player.start(stage, len(block), state) for block, state in zip(blocks, states, strict=True)]
            results = crew.each(partial(player.play, first=first, count=count), states, blocks)
            states = [state for state, _ in results]
            waiting.append((slice(first, first + count), player, [seen for _, seen in results]))
            if engine == "numpy" or len(waiting) > 1:
                yield _fetched(*waiting.popleft())
        yield from (_fetched(*each) for each in waiting)


def _fetched(played: slice, engine: Engine, seen: list[Any]) -> tuple[slice, list[Columns]]:
    return played, [engine.fetch(each) for each in seen]


def trial_numbers(trials: int | Sequence[int]) -> Sequence[int]:
    """Which trials are meant."""
    if not isinstance(trials, (Sequence, np.ndarray)):
        return range(validation.whole("trials", trials, least=1))
    numbers = [validation.whole("trials", trial, least=0, most=2**64 - 1) for trial in trials]
    if not numbers:
        raise ArgumentError.of("trials", "at least one trial", trials, "Pass how many, or which.")
    return numbers


def _rounds(policy: Policy, rounds: int | None) -> int:
    if rounds is None and policy.horizon is None:
        raise ArgumentError.of("rounds", "a whole number", None, "The policy has no horizon: say how many rounds.")
    return validation.whole("rounds", policy.horizon if rounds is None else rounds, least=1)


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
    policy: Policy, problem: Problem | SpaceProblem, trials: int, rounds: int, engine: str, draws: str
) -> Iterator[tuple[Stage, int, int]]:
    """(stage in force, first round, number of rounds) of pieces that fit in memory and in one stage each."""
    first = 0
    while first < rounds:
        stage = policy.stage(first)
        last = int(min(rounds, stage.last))
        length = _chunk(stage.policy, problem, trials, last - first, engine, draws)
        for begin in range(first, last, length):
            yield stage, begin, min(length, last - begin)
        first = last


def _chunk(step: StepPolicy, problem: Problem | SpaceProblem, trials: int, rounds: int, engine: str, draws: str) -> int:
    """The rounds of a chunk, of so many: what fits in memory, and a length that divides them where one near does."""
    limits = CPU if engines.on_host(engine) else ACCELERATOR
    words = (limits if draws == "device" else CPU).words // (trials * _words(step, problem))
    entries = FEW if step.continuous else limits.entries // (trials * engines.entries(step))
    most = max(1, min(words, max(FEW, entries), limits.rounds, rounds))
    # A compiler makes a program for each length.
    return next((each for each in range(most, most // 2, -1) if rounds % each == 0), most)


def _words(step: StepPolicy, problem: Problem | SpaceProblem) -> int:
    """Random words that a round and trial take, and one for what is seen."""
    return 1 + WORDS_A_BLOCK * (step.draws().blocks + problem.draws().blocks)
