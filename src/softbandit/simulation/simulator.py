"""Simulation: a policy plays a problem, in many independent trials at once."""

from collections.abc import Callable, Sequence

import numpy as np

from softbandit import validation
from softbandit.baselines.safe_seed import Seeded
from softbandit.errors import ArgumentError, Description, SafeSeedError
from softbandit.policies import Policy
from softbandit.problems import Problem, SpaceProblem
from softbandit.simulation import trials_in_processes
from softbandit.simulation.engine_choice import check_options, choose_engine
from softbandit.simulation.rounds import COLUMNS, AnyProblem, Options, Played
from softbandit.simulation.schedule import blocks_of_trials, play_all
from softbandit.simulation.trace import Record, Trace


def simulate(
    policy: Policy,
    problem: AnyProblem,
    trials: int | Sequence[int] = 1,
    seed: int = 0,
    engine: str = "auto",
    rounds: int | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    keep: Sequence[str] = COLUMNS,
    draws: str = "host",
    precision: str = "float64",
) -> Trace:
    """Run independent trials of a policy on a problem.

    Trials of a policy that searches a space or learns as it goes (Autopilot) run in processes, one per core, if joblib
    is installed and there is enough to do. The trace is the same for any number of them.

    Parameters
    ----------
    trials
        How many, or which numbers: trial 7 is the same alone (`trials=[7]`) as among 8,000.
    seed
        Seed of all randomness, together with the trial's number. With one seed, all policies meet the same noise.
    engine
        "numpy"; "jax", the same steps compiled, on the CPU or a GPU, with the same decisions; or "auto": JAX if it
        is installed and saves more time than it takes to compile.
    rounds
        How many; the policy's horizon by default.
    progress
        Called now and then with the number of rounds played since the last call.
    keep
        The columns of the trace to keep besides the arms (which are all that `score` needs); all by default.
    draws
        Where random numbers are generated: on the "host", or by JAX on its "device", if sending them there takes
        longer than the rounds. They are the same numbers, up to the rounding of normal ones.
    precision
        "float64"; or with JAX "float32", in half the memory: decisions between nearly equal arms may then differ.

    Examples
    --------
    >>> import softbandit as sb
    >>> problem = sb.problems.rkhs(seed=3)
    >>> trace = sb.simulate(sb.CKB(**problem.settings(), horizon=20), problem, trials=4)
    >>> trace.arms.shape
    (4, 20)
    """
    numbers = trial_numbers(trials)
    check_pair(policy, problem)
    if progress is not None:
        validation.function("progress", progress)
    names = [
        validation.text("keep", name) for name in validation.listed("keep", keep, "names of columns", "Pass a list.")
    ]
    columns = tuple(name for name in names if name != "arms")
    options = Options(validation.whole("seed", seed, least=0, most=2**64 - 1), columns, draws, precision)
    check_options(engine, options)
    T, step = round_count(policy, rounds), policy.stage(0).policy
    check_fit(policy, problem, engine)
    engine = choose_engine(engine, step, problem, len(numbers), T)
    record = Record(len(numbers), T, options.keep, policy, problem)
    if trials_in_processes.pay(policy, problem, len(numbers), T):
        parts = trials_in_processes.play_trials(policy, problem, numbers, T, options)
    else:
        parts = play_all(engine, policy, problem, blocks_of_trials(engine, step, numbers), T, options)
    done = 0  # rounds, over all trials
    for played in parts:
        record.write(played)
        before, done = done // len(numbers), done + _size(played, len(numbers))
        if progress is not None:
            progress(done // len(numbers) - before)
    record.warn(policy, numbers)
    return record.trace(numbers, options.seed, options.draws)


def _size(played: Played, trials: int) -> int:
    """Return the number of rounds over all trials, without the copies that pad a block."""
    rounds = len(range(played.rounds.start, played.rounds.stop))
    return rounds * len(range(played.trials.start, min(played.trials.stop, trials)))


def trial_numbers(trials: int | Sequence[int]) -> Sequence[int]:
    """Return the numbers of the trials to run."""
    if not validation.is_listed(trials):
        count = validation.whole("trials", trials, least=1)
        validation.affordable("trials", count)
        return range(count)
    given = validation.listed("trials", trials, "how many, or which", "Pass an int, or a list of them.")
    numbers = [validation.whole("trials", trial, least=0, most=2**64 - 1) for trial in given]
    if not numbers:
        raise ArgumentError.of("trials", "at least one trial", trials, "Pass how many, or which.")
    return numbers


def check_pair(policy: object, problem: object) -> None:
    """Refuse what is no policy, or no problem."""
    validation.instance("policy", policy, Policy, "a policy", "For example sb.CKB(...).")
    if not isinstance(problem, (Problem, SpaceProblem)):
        raise ArgumentError.of("problem", "a problem", problem, "For example sb.problems.rkhs().")


def round_count(policy: Policy, rounds: int | None) -> int:
    """Return the number of rounds: as given, or the policy's horizon."""
    if rounds is None and policy.horizon is None:
        raise ArgumentError.of("rounds", "a whole number", None, "The policy has no horizon: say how many rounds.")
    return validation.whole("rounds", policy.horizon if rounds is None else rounds, least=1, most=2**53)


def check_fit(policy: Policy, problem: AnyProblem, engine: str) -> None:
    """Refuse a policy that was not built for the problem."""
    if isinstance(problem, SpaceProblem) or policy.continuous:
        _check_space(policy, problem)
    else:
        _check_arms(policy, problem)
    if engine == "jax" and not policy.stage(0).policy.batched:
        remedy = "A search, and learning, do not compile; use engine='numpy'."
        raise ArgumentError.of("engine", "'numpy', for this policy", engine, remedy)
    if policy.constraints not in (0, problem.constraints):
        got = Description(f"{policy.constraints} constraints in the policy, {problem.constraints} in the problem")
        raise ArgumentError.of("policy", "as many constraints, or none", got, "Set constraints=.")


def _check_arms(policy: Policy, problem: Problem) -> None:
    if len(policy.arms) != len(problem.arms):
        got = Description(f"{len(policy.arms)} arms in the policy, {len(problem.arms)} in the problem")
        raise ArgumentError.of("policy", "the problem's arms", got, "Build it with **problem.settings().")
    step = policy.stage(0).policy
    if problem.contexts is not None and not step.takes_contexts:
        got = Description(f"{type(step).__name__}, which has no rule for a round without a safe arm")
        raise ArgumentError.of("policy", "one that takes contexts", got, "Choose another.")
    if isinstance(step, Seeded) and problem.costs[step.known_safe].max(initial=0.0) > 0:
        got = Description(f"a cost of {problem.costs[step.known_safe].max():.3g} there")
        raise SafeSeedError.of("safe", "arms that are safe in this problem", got, "Name others.")


def _check_space(policy: Policy, problem: AnyProblem) -> None:
    if not isinstance(problem, SpaceProblem) or not policy.continuous:
        got = Description("a continuous domain and finite arms")
        remedy = "Discretise the problem, problem.discretised(policy.arms), or give the policy the problem's space."
        raise ArgumentError.of("policy, problem", "both on finite arms, or both on a space", got, remedy)
    a, b = policy.arms, problem.arms
    if a.dimension != b.dimension or not np.array_equal([a.lower, a.upper], [b.lower, b.upper]):
        raise ArgumentError.of("policy", "the problem's space", policy.arms, "Build it with **problem.settings().")
