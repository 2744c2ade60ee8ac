"""One cell of the benchmarks: the time per round of a policy on an engine, for a number of arms and of trials.

Arms are a grid on [0, 1] with a squared exponential kernel of length scale 0.25, which has rank 17 however many arms
there are. A run is `simulate(..., keep=())`, with draws="device" on an accelerator. Its start (sending the features to
the device, building the first state) is timed separately and subtracted. Compilation is not counted.
"""

import math
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from typing import NamedTuple

import machine
import numpy as np
from seeds import seed_settings
from stopwatch import seconds

import softbandit as sb
from softbandit.baselines.safe_sets import BLOCK_NUMBERS
from softbandit.simulation.engine_choice import make_engine
from softbandit.simulation.rounds import Options
from softbandit.simulation.schedule import blocks_of_trials, cores

HORIZON = 1024  # a power of two, like the numbers of timed rounds: few lengths of chunks need compiling
WIDTH = 0.2  # of the theory's width: at full width most arms tie at their bounds in all timed rounds
FEWEST, MOST = 4, 2**18  # timed rounds
REPEATS = 3
TEMPORARIES = 4  # a round holds about this many copies of the state
LONGEST_COMPILATION = 60.0  # seconds
BLOCK_SECONDS = 0.15  # to compile one block of pairs of arms
MOST_THREADS = 8  # that compile

PAIRS = ("safeopt", "stageopt", "safe-bocp", "losbo")  # policies that compare all pairs of arms
SETTINGS = {
    "stageopt": {"stage_rounds": 2 * MOST},  # stay in the first stage, the costly one
    "sgp-ucb": {"initial_rounds": 0},  # start in the second stage
    "ckb-time-varying": {"every": 128},
}


warnings.simplefilter("ignore", sb.ComplaintWarning)  # whether a policy suits this problem does not matter here


class Cell(NamedTuple):
    policy: str
    engine: str
    arms: int
    trials: int


class Measurement(NamedTuple):
    """Seconds per round of all trials, or a note that says why there are none. Before it is done, a plan."""

    cell: Cell
    rank: int
    rounds: int = 0
    seconds: float = math.nan
    note: str = ""


class Limits(NamedTuple):
    target: float  # seconds to time a cell for
    longest: float  # seconds that the fewest rounds may take
    memory: int | None = None  # bytes; by default machine.free_bytes


def add_limits(parser):
    """Add the options that limit the time and memory of a cell."""
    parser.add_argument("--seconds", type=float, default=0.2, help="to time a cell for, three times")
    parser.add_argument("--longest", type=float, default=10.0, help=f"seconds that {FEWEST} rounds may take")
    parser.add_argument("--memory", type=float, help="GB that a cell may take; by default what is free, half on a CPU")


def limits(options):
    return Limits(options.seconds, options.longest, None if options.memory is None else int(1e9 * options.memory))


@lru_cache(maxsize=1)
def problem_and_features(arms):
    """Return the problem on that many arms, and its features, which all policies share."""
    x = np.linspace(0, 1, arms)
    bounds = {"reward_bound": 2.0, "cost_bound": 2.0, "noise": 0.1, "slater": 0.5}
    problem = sb.problems.Problem(x[:, None], sb.SquaredExponential(0.25), np.sin(5 * x), x - 0.6, **bounds)
    return problem, sb.theory.features(problem.kernel, problem.arms)


@lru_cache
def policy(name, arms):
    problem, features = problem_and_features(arms)
    settings = {"horizon": HORIZON, "width_scale": WIDTH, "factors": [features]} | SETTINGS.get(name, {})
    settings |= seed_settings(name, problem)
    return sb.baselines.make(name, **problem.settings(), **settings)


def plan(cell, limits, measured):
    """Return how many rounds to time, or a note that says why not. `measured` are the cells so far."""
    rank, guess = problem_and_features(cell.arms)[1].rank, predicted_seconds(cell, measured)
    note = too_large(cell, limits) or too_slow(cell, guess, limits)
    return Measurement(cell, rank, 0 if note else power_of_two(limits.target / guess), note=note)


def too_large(cell, limits):
    free = machine.free_bytes(cell.engine) if limits.memory is None else limits.memory
    return f"memory: {held_bytes(cell) / 1e9:.0f} GB" if held_bytes(cell) > free else ""


def too_slow(cell, guess, limits):
    if FEWEST * guess > limits.longest:
        return f"time: {duration(FEWEST * guess)} for {FEWEST} rounds"
    compilation = compilation_seconds(cell)
    return f"compilation: {duration(compilation)}" if compilation > LONGEST_COMPILATION else ""


def predicted_seconds(cell, measured):
    """Predict the time per round from the largest smaller cell, in proportion to the work."""
    smaller = largest_smaller(cell, measured)
    if smaller is not None:
        return smaller.seconds * work(cell) / work(smaller.cell)
    speed = 1 if machine.device(cell.engine) == machine.CPU else 50
    return 5e-5 + 3e-8 * work(cell) / speed


def compilation_seconds(cell):
    """Estimate the time to compile all blocks of pairs of arms; policies without them take a second or two."""
    if cell.engine != "jax" or cell.policy not in PAIRS:
        return 0.0
    from softbandit.simulation.jax_engine import UNROLL

    trials = len(blocks_of_trials(cell.engine, step(cell), range(cell.trials))[0])
    blocks = math.ceil(cell.arms / max(1, BLOCK_NUMBERS // (trials * cell.arms)))
    return BLOCK_SECONDS * blocks * (1 if machine.device(cell.engine) == machine.CPU else UNROLL)


def largest_smaller(cell, measured):
    """Return the measurement of the same policy and engine with the most work that is no larger in any way, or None."""
    smaller = [
        result
        for result in measured
        if result.cell[:2] == cell[:2] and result.cell.arms <= cell.arms and result.cell.trials <= cell.trials
        if not result.note
    ]
    return max(smaller, key=lambda result: work(result.cell), default=None)


def work(cell):
    """Return the number of arms, or pairs of arms, that a round of all trials looks at."""
    return cell.trials * cell.arms * (cell.arms if cell.policy in PAIRS else 1)


def step(cell):
    return policy(cell.policy, cell.arms).stage(0).policy


def held_bytes(cell):
    """Return the bytes that a run holds: features, and several copies of the states of all trials."""
    state = step(cell).init(1)
    arrays = state.dual, *state.memory, *(array for posterior in state.posterior for array in posterior)
    state_bytes = sum(array.nbytes for array in arrays)
    return TEMPORARIES * cell.trials * state_bytes + 8 * cell.arms * problem_and_features(cell.arms)[1].rank


def compile_in_parallel(plans):
    """Run each plan once, several at a time if all fit in memory: a first run is mostly compilation."""
    threads = min(cores(), MOST_THREADS)
    free = machine.free_bytes("jax")
    fitting = [planned for planned in plans if not planned.note and threads * held_bytes(planned.cell) <= free]

    def run_once(planned):
        with suppress(MemoryError, sb.DeviceError):  # `measure` reports it
            run(planned.cell, planned.rounds)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run_once, fitting))


def measure(planned, target):
    """Carry out a plan: the fastest of several runs of about `target` seconds, less the time to start."""
    cell, rounds = planned.cell, planned.rounds
    if planned.note:
        return planned
    try:
        run(cell, rounds if cell.engine == "jax" else 1)  # compiles
        to_start = min(seconds(start, cell, rounds) for _ in range(2))
        first = seconds_per_round(cell, rounds, to_start)
        if rounds * first > 2 * target:
            return planned._replace(seconds=first)
        better = power_of_two(target / first)
        if better > 4 * rounds:  # the guess was far too high
            rounds = better
            run(cell, rounds)  # compiles longer chunks
        fastest = min(seconds_per_round(cell, rounds, to_start) for _ in range(REPEATS))
        return planned._replace(rounds=rounds, seconds=fastest)
    except (MemoryError, sb.DeviceError):
        return planned._replace(rounds=0, note="memory: refused")


def seconds_per_round(cell, rounds, to_start):
    whole = seconds(run, cell, rounds)
    return max(whole - to_start, whole / 20) / rounds


def run(cell, rounds):
    problem, _ = problem_and_features(cell.arms)
    options = {"engine": cell.engine, "rounds": rounds, "keep": (), "draws": draws(cell)}
    sb.simulate(policy(cell.policy, cell.arms), problem, cell.trials, **options)


def start(cell, rounds):
    """Do what simulate() does before its first round."""
    problem, _ = problem_and_features(cell.arms)
    stage = policy(cell.policy, cell.arms).stage(0)
    blocks = blocks_of_trials(cell.engine, stage.policy, range(cell.trials))
    player = make_engine(cell.engine, stage.policy, problem, rounds, Options(0, (), draws(cell)))
    states = [player.start(stage, len(block), None) for block in blocks]
    if cell.engine == "jax":
        import jax

        jax.block_until_ready(states)


def draws(cell):
    return "host" if machine.device(cell.engine) == machine.CPU else "device"


def duration(seconds):
    """Return a length of time in words."""
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} s"


def clear_caches():
    """Drop compiled programs and policies: those for one number of arms are of no use for another."""
    policy.cache_clear()
    if find_spec("jax") is not None:
        import jax

        jax.clear_caches()


def power_of_two(rounds):
    """Return the largest power of two that is at most `rounds`, within the limits."""
    return 2 ** int(math.log2(min(max(rounds, FEWEST), MOST)))
