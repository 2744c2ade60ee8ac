"""One cell of the benchmarks: what a round takes, for a policy, an engine, a number of arms and one of trials.

Arms are a grid on [0, 1] with a squared exponential kernel of length scale 0.25, whose rank is 17 whatever their
number. A run is `simulate(..., keep=())`, on an accelerator with draws="device"; what it takes to begin (to send the
features to the device, to make the first state) is measured by itself and taken off; compilation is not counted.
"""

import math
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from typing import NamedTuple

import machine
import numpy as np

import softbandit as sb
from softbandit.baselines.safe_sets import BLOCK_NUMBERS
from softbandit.simulation import engines
from softbandit.simulation.jax_engine import UNROLL
from softbandit.simulation.rounds import Options

HORIZON = 1024  # powers of two, here and for the rounds that are timed: chunks then have lengths in common
WIDTH = 0.2  # of what the theory asks for: at its full width most arms tie, at their bounds, in all the rounds timed
FEWEST, MOST = 4, 2**18  # rounds that are timed
REPEATS = 3
TEMPORARIES = 4  # what a round holds, in states
PATIENCE = 60.0  # seconds that a compilation may take
BLOCK_SECONDS = 0.15  # to compile one block of pairs of arms
MOST_THREADS = 8  # that compile

PAIRS = ("safeopt", "stageopt")  # they look at all pairs of arms
OWN = {
    "stageopt": {"stage_rounds": 2 * MOST},  # its first stage, the costly one
    "sgp-ucb": {"initial_rounds": 0},  # its second
    "ckb-time-varying": {"every": 128},
}


warnings.simplefilter("ignore", sb.ComplaintWarning)  # what a policy thinks of this problem is not the point


class Cell(NamedTuple):
    policy: str
    engine: str
    arms: int
    trials: int


class Measured(NamedTuple):
    """Seconds of a round of all trials, or a note that says why there are none; before it is done, a plan."""

    cell: Cell
    rank: int
    rounds: int = 0
    seconds: float = math.nan
    note: str = ""


class Limits(NamedTuple):
    target: float  # seconds a cell should be timed for
    longest: float  # seconds that the fewest rounds may take
    memory: int | None = None  # bytes; what machine.free_bytes says where None


def add_limits(parser):
    """The options that say how long a cell may take, and how much memory."""
    parser.add_argument("--seconds", type=float, default=0.2, help="to time a cell for, three times")
    parser.add_argument("--longest", type=float, default=10.0, help=f"seconds that {FEWEST} rounds may take")
    parser.add_argument("--memory", type=float, help="GB that a cell may take; by default what is free, half on a CPU")


def limits(options):
    return Limits(options.seconds, options.longest, None if options.memory is None else int(1e9 * options.memory))


@lru_cache(maxsize=1)
def ground(arms):
    """The problem on that many arms, and its features: they are made once for all policies."""
    x = np.linspace(0, 1, arms)
    bounds = {"reward_bound": 2.0, "cost_bound": 2.0, "noise": 0.1, "slater": 0.5}
    problem = sb.problems.Problem(x[:, None], sb.SquaredExponential(0.25), np.sin(5 * x), x - 0.6, **bounds)
    return problem, sb.features.features(problem.kernel, problem.arms)


@lru_cache
def policy(name, arms):
    problem, features = ground(arms)
    own = OWN.get(name, {}) | ({"safe": int(problem.cost.argmin())} if name in (*PAIRS, "sgp-ucb") else {})
    return sb.baselines.make(name, **problem.settings(), horizon=HORIZON, width_scale=WIDTH, factors=[features], **own)


def plan(cell, limits, known):
    """How many rounds to time, or a note that says why not; `known` are the cells measured before."""
    rank, guess = ground(cell.arms)[1].rank, predicted(cell, known)
    note = too_large(cell, limits) or too_slow(cell, guess, limits)
    return Measured(cell, rank, 0 if note else power_of_two(limits.target / guess), note=note)


def too_large(cell, limits):
    free = machine.free_bytes(cell.engine) if limits.memory is None else limits.memory
    return f"memory: {held_bytes(cell) / 1e9:.0f} GB" if held_bytes(cell) > free else ""


def too_slow(cell, guess, limits):
    if FEWEST * guess > limits.longest:
        return f"time: {span(FEWEST * guess)} for {FEWEST} rounds"
    return f"compilation: {span(compiling(cell))}" if compiling(cell) > PATIENCE else ""


def predicted(cell, known):
    """Seconds a round: those of the largest smaller cell, with as much more as there is more work."""
    smaller = largest_smaller(cell, known)
    if smaller is not None:
        return smaller.seconds * work(cell) / work(smaller.cell)
    speed = 1 if machine.device(cell.engine) == machine.CPU else 50
    return 5e-5 + 3e-8 * work(cell) / speed


def compiling(cell):
    """Seconds that it takes to compile all the blocks of pairs of arms; without them it is a second or two."""
    if cell.engine != "jax" or cell.policy not in PAIRS:
        return 0.0
    at_a_time = len(engines.blocks(cell.engine, step(cell), range(cell.trials))[0])
    blocks = math.ceil(cell.arms / max(1, BLOCK_NUMBERS // (at_a_time * cell.arms)))
    return BLOCK_SECONDS * blocks * (1 if machine.device(cell.engine) == machine.CPU else UNROLL)


def largest_smaller(cell, known):
    fits = [
        each
        for each in known
        if each.cell[:2] == cell[:2] and each.cell.arms <= cell.arms and each.cell.trials <= cell.trials
        if not each.note
    ]
    return max(fits, key=lambda each: work(each.cell), default=None)


def work(cell):
    return cell.trials * cell.arms * (cell.arms if cell.policy in PAIRS else 1)


def step(cell):
    return policy(cell.policy, cell.arms).stage(0).policy


def held_bytes(cell):
    """What a run holds: features, and the states of all trials several times over."""
    state = step(cell).init(1)
    parts = state.dual, *state.memory, *(part for each in state.posterior for part in each)
    own = sum(part.nbytes for part in parts)
    return TEMPORARIES * cell.trials * own + 8 * cell.arms * ground(cell.arms)[1].rank


def compile_side_by_side(plans):
    """Run each once, several at a time where all fit in memory: compilation takes most of the time of a first run."""
    cores = min(engines.cores(), MOST_THREADS)
    fit = [each for each in plans if not each.note and cores * held_bytes(each.cell) <= machine.free_bytes("jax")]

    def once(planned):
        with suppress(MemoryError, sb.DeviceError):  # it will be said when it is measured
            run(planned.cell, planned.rounds)

    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(once, fit))


def measure(planned, target):
    """What was planned, done: the least of some runs of about `target` seconds, less what it takes to begin."""
    cell, rounds = planned.cell, planned.rounds
    if planned.note:
        return planned
    try:
        run(cell, rounds if cell.engine == "jax" else 1)  # compiles
        begun = min(begin(cell, rounds) for _ in range(2))
        once = less(begun, cell, rounds)
        if rounds * once > 2 * target:
            return planned._replace(seconds=once)
        better = power_of_two(target / once)
        if better > 4 * rounds:  # the guess was far too high
            rounds = better
            run(cell, rounds)  # compiles longer chunks
        return planned._replace(rounds=rounds, seconds=min(less(begun, cell, rounds) for _ in range(REPEATS)))
    except (MemoryError, sb.DeviceError):
        return planned._replace(rounds=0, note="memory: refused")


def less(begun, cell, rounds):
    """Seconds a round, without those that it takes to begin."""
    whole = run(cell, rounds)
    return max(whole - begun, whole / 20) / rounds


def run(cell, rounds):
    problem, _ = ground(cell.arms)
    began = time.perf_counter()
    sb.simulate(
        policy(cell.policy, cell.arms),
        problem,
        cell.trials,
        engine=cell.engine,
        rounds=rounds,
        keep=(),
        draws=draws(cell),
    )
    return time.perf_counter() - began


def begin(cell, rounds):
    """Seconds that simulate() takes before its first round."""
    problem, _ = ground(cell.arms)
    began = time.perf_counter()
    stage = policy(cell.policy, cell.arms).stage(0)
    blocks = engines.blocks(cell.engine, stage.policy, range(cell.trials))
    player = engines.make(cell.engine, stage.policy, problem, rounds, len(blocks[0]), Options(0, (), draws(cell)))
    states = [player.start(stage, len(block), None) for block in blocks]
    if cell.engine == "jax":
        import jax

        jax.block_until_ready(states)
    return time.perf_counter() - began


def draws(cell):
    return "host" if machine.device(cell.engine) == machine.CPU else "device"


def span(seconds):
    """A length of time in words."""
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} s"


def forget():
    """Drop programs and policies: those for one number of arms are of no use for another."""
    policy.cache_clear()
    if find_spec("jax") is not None:
        import jax

        jax.clear_caches()


def power_of_two(rounds):
    return 2 ** int(math.log2(min(max(rounds, FEWEST), MOST)))
