"""Cost of a round against rounds, arms, dimension, constraints and trials, beside the floor, and beside peers.

`OPENBLAS_NUM_THREADS=1 python benchmarks/record.py curves benchmarks/curves.py` prints the table and draws
docs/curves.png. A round is `decide` and `update` of a policy after t rounds: the median CPU time of a few rounds on one
thread. Optuna and BoTorch are measured at the same points, if they are installed.

The floor is what a round cannot do without, over what this machine was measured to do in the same run:

| kind | floor |
|---|---|
| finite arms, low rank | bytes: Phi once, and every trial's U, mu and var read and written |
| finite arms, full rank | bytes: one row over the arms per earlier round, mu and var read and written |
| continuous, exact | flops: variances at the candidates of one search, t^2 each; the factor's row, t^2 |
| continuous, budget k | flops: the same with k in place of t |
| Autopilot | flops: as continuous and exact, for each output, since each has a kernel of its own |
"""

import math
import sys
import time
from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import NamedTuple

import numpy as np
from report import DOCS

import softbandit as sb
from softbandit.backend.random import POLICY, draw
from softbandit.domains.search import CANDIDATES
from softbandit.experiments.figures import COLOURS, finish, new_figure
from softbandit.policies import Choice

ROUNDS, ARMS, DIMENSION, CONSTRAINTS, TRIALS = 100, 2000, 6, 1, 1  # where they are not varied
BUDGET = 100
TIMED = 15  # rounds, of which the median counts
PEER_ROUNDS = (50, 200, 500)
SETTINGS = {"reward_bound": 3, "cost_bound": 3, "noise": 0.1, "slater": 0.5, "width_scale": 0.2, "horizon": 10_000}
AXES = {
    "rounds": (50, 100, 200, 500, 1000),
    "arms": (500, 2000, 8000, 32_000),
    "dimension": (2, 4, 8, 16),
    "constraints": (1, 2, 4, 8),
    "trials": (1, 4, 16),
}


class Place(NamedTuple):
    """The setting in which a round is timed."""

    rounds: int = ROUNDS
    arms: int = ARMS
    dimension: int = DIMENSION
    constraints: int = CONSTRAINTS
    trials: int = TRIALS


class Machine(NamedTuple):
    """The rates of one thread of this machine, per second."""

    bytes: float  # copied, read and written
    flops: float  # of a product of matrices


class Point(NamedTuple):
    kind: str
    axis: str
    x: int
    seconds: float
    floor: float


def main():
    machine = Machine(copied_bytes(), multiplied_flops())
    speeds = f"{machine.bytes / 1e9:.1f} GB/s and multiplies matrices at {machine.flops / 1e9:.0f} Gflop/s"
    print(f"One thread copies {speeds}.")
    points = [measure(kind, axis, x, machine) for axis in AXES for kind in KINDS for x in values(kind, axis)]
    others = [(name, t, peer(name, t)) for name in PEERS if find_spec(name) for t in PEER_ROUNDS]
    print_table(points)
    print_peers(points, others)
    draw_all(points, others).savefig(DOCS / "curves.png")


def values(kind, axis):
    """Return the values of an axis on which a kind depends, and that it reaches in reasonable time."""
    if axis not in KINDS[kind].axes:
        return ()
    return [x for x in AXES[axis] if x <= (KINDS[kind].most or {}).get(axis, math.inf)]


def measure(kind, axis, x, machine):
    place = Place(**{axis: x})
    policy = KINDS[kind].policy(place)
    point = Point(kind, axis, x, timed(policy, place), KINDS[kind].floor(policy, place, machine))
    print(point, file=sys.stderr, flush=True)
    return point


def timed(policy, place):
    """Return the median CPU seconds of a round of all trials, after that many rounds at given points."""
    state, rng = policy.init(place.trials), np.random.default_rng(0)
    times = []
    for t in range(place.rounds + TIMED):
        draws = draw(policy.draws(), 0, range(place.trials), t, 1, POLICY)
        started = time.process_time()
        given = t < place.rounds
        choice = chosen(policy, place, rng) if given else policy.decide(state, next(iter(draws.rounds())))
        state = policy.update(state, choice, *observed(policy, choice.arm, place, rng))
        times.append(time.process_time() - started)
    return median(times[-TIMED:])


def chosen(policy, place, rng):
    """Return points like those of a run: some spread out, most around a good one."""
    b, m = place.trials, place.constraints
    X = np.where(rng.random((b, 1)) < 0.3, rng.random((b, place.dimension)), near_best(b, place, rng))
    arm = X if policy.continuous else rng.integers(place.arms, size=b)
    return Choice(arm, np.zeros(b), np.zeros((b, m)))


def near_best(b, place, rng):
    return np.clip(0.4 + 0.15 * rng.standard_normal((b, place.dimension)), 0, 1)


def observed(policy, arm, place, rng):
    """Return noisy rewards and costs at points of the unit cube."""
    X = arm if policy.continuous else policy.arms[arm]
    Y = truth(X, place.constraints) + 0.1 * rng.standard_normal((len(X), 1 + place.constraints))
    return Y[:, 0], Y[:, 1:]


def truth(X, constraints):
    """Return the reward and the costs: smooth functions of all coordinates."""
    costs = [X[:, i % X.shape[1]] - 0.5 - 0.02 * i for i in range(constraints)]
    return np.stack([np.sin(3 * X).mean(axis=1), *costs], axis=1)


# -- The kinds, and their floors. --


class Kind(NamedTuple):
    policy: object  # of a place
    floor: object  # seconds, of a policy, a place and a machine
    axes: tuple
    most: dict | None = None


def low_rank(place):
    arms = np.linspace(0, 1, place.arms)[:, None]
    return sb.CKB(arms, sb.SquaredExponential(0.2), **SETTINGS, constraints=place.constraints)


def full_rank(place):
    arms = np.random.default_rng(1).random((place.arms, place.dimension))
    return sb.CKB(arms, matern(place), **SETTINGS, constraints=place.constraints)


def continuous(place, budget=None):
    return sb.CKB(box(place), matern(place), **SETTINGS, constraints=place.constraints, budget=budget)


def autopilot(place):
    return sb.Autopilot(box(place), constraints=place.constraints, horizon=SETTINGS["horizon"])


def matern(place):
    return sb.Matern(0.3 * math.sqrt(place.dimension))


def box(place):
    return sb.Box([0] * place.dimension, [1] * place.dimension)


def low_rank_floor(policy, place, machine):
    r, n = policy.model.groups[0].factor.shape
    return 8 * (n * r + 2 * place.trials * (r * r + (place.constraints + 2) * n)) / machine.bytes


def full_rank_floor(policy, place, machine):
    rows = place.rounds + 2 * (place.constraints + 2)
    return 8 * place.trials * place.arms * rows / machine.bytes


def search_floor(policy, place, machine, size=None, kernels=1):
    t = place.rounds if size is None else min(size, place.rounds)
    return place.trials * kernels * (CANDIDATES + 1) * t * t / machine.flops


def autopilot_floor(policy, place, machine):
    return search_floor(policy, place, machine, kernels=1 + place.constraints)


SEARCHED = ("rounds", "dimension", "constraints", "trials")
KINDS = {
    "finite, low rank": Kind(low_rank, low_rank_floor, ("rounds", "arms", "constraints", "trials")),
    "finite, full rank": Kind(full_rank, full_rank_floor, tuple(AXES)),
    "continuous, exact": Kind(continuous, search_floor, SEARCHED),
    "continuous, budget": Kind(
        partial(continuous, budget=BUDGET), partial(search_floor, size=BUDGET), SEARCHED, {"trials": 4}
    ),
    "Autopilot": Kind(autopilot, autopilot_floor, SEARCHED, {"rounds": 500, "constraints": 4, "trials": 4}),
}


# -- The machine. --


def copied_bytes(size=2**28):
    source, target = np.ones(size // 8), np.zeros(size // 8)
    return 2 * size / fastest(partial(np.copyto, target, source))


def multiplied_flops(n=1000):
    A = np.ones((n, n))
    return 2 * n**3 / fastest(partial(np.matmul, A, A))


def fastest(work):
    times = []
    for _ in range(7):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


# -- Peers: one suggestion after t trials, in 6 dimensions with one constraint. --


def peer(name, rounds):
    """Return the median CPU seconds of a suggestion and its observation."""
    rng, place = np.random.default_rng(0), Place(trials=rounds)
    X = np.where(rng.random((rounds, 1)) < 0.3, rng.random((rounds, DIMENSION)), near_best(rounds, place, rng))
    Y = truth(X, 1) + 0.1 * rng.standard_normal((rounds, 2))
    work = PEERS[name](X, Y)
    times = []
    for _ in range(3 if rounds < PEER_ROUNDS[-1] else 1):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return median(times)


def optuna_suggestion(X, Y):
    import optuna
    from decision_optuna import DomainParameters

    space = DomainParameters(box(Place()))
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.GPSampler(seed=0))
    for x, (reward, cost) in zip(X, Y, strict=True):
        params = dict(zip(space.distributions, x.tolist(), strict=True))
        study.add_trial(
            optuna.trial.create_trial(
                value=float(reward), params=params, distributions=space.distributions, constraints={"c": float(cost)}
            )
        )

    def suggest():
        trial = study.ask(space.distributions)
        x = space.choice(trial.params)
        reward, cost = truth(x[None], 1)[0]
        trial.set_constraint("c", float(cost))
        study.tell(trial, float(reward))

    return suggest


def botorch_suggestion(X, Y):
    from decision_botorch import LogEI

    method = LogEI(Problem(box(Place()), 1), 0, 0)
    method.X, method.Y = X, Y

    def suggest():
        method.next_fit = 0  # it fits in each round
        x = method.ask(None)
        method.tell(x, *np.split(truth(x[None], 1)[0], [1]))

    return suggest


class Problem(NamedTuple):
    """The part of a problem that a method of decision_botorch.py needs."""

    arms: sb.Box
    constraints: int


PEERS = {"optuna": optuna_suggestion, "botorch": botorch_suggestion}
COMPARED = ("continuous, exact", "Autopilot")
NAMES = {"optuna": "Optuna, GPSampler", "botorch": "BoTorch, constrained log-EI"}


# -- The table and the figure. --


def slope(points):
    """Return the exponent of the cost, fitted to the larger half of the points (at least two)."""
    last = points[-max(2, (len(points) + 1) // 2) :]
    return float(np.polyfit(np.log([p.x for p in last]), np.log([p.seconds for p in last]), 1)[0])


def curve(points, kind, axis):
    return [p for p in points if (p.kind, p.axis) == (kind, axis)]


def print_table(points):
    print("\nMicroseconds per round; p of x^p, fitted to the larger half; times the floor at the last.")
    print(f"Otherwise {ROUNDS} rounds before, {ARMS:,} arms, {DIMENSION} dimensions, one constraint, one trial.")
    for axis in AXES:
        print(f"\n{axis:19}" + "".join(f"{x:>10,}" for x in AXES[axis]) + f"{'p':>8}{'/ floor':>9}")
        for kind in KINDS:
            if line := curve(points, kind, axis):
                figures = {p.x: f"{1e6 * p.seconds:10,.0f}" for p in line}
                last = line[-1].seconds / line[-1].floor
                print(
                    f"{kind:19}"
                    + "".join(figures.get(x, 10 * " ") for x in AXES[axis])
                    + f"{slope(line):8.2f}{last:9.1f}"
                )


def print_peers(points, others):
    print(f"\nMilliseconds per suggestion and observation, {DIMENSION} dimensions, one constraint, after")
    print(f"{'rounds':29}" + "".join(f"{t:>10,}" for t in PEER_ROUNDS))
    ours = [
        (p.kind, p.x, p.seconds) for p in points if p.axis == "rounds" and p.kind in ("continuous, exact", "Autopilot")
    ]
    for name in dict.fromkeys(name for name, *_ in [*ours, *others]):
        figures = {t: f"{1e3 * seconds:10,.1f}" for other, t, seconds in [*ours, *others] if other == name}
        print(f"{NAMES.get(name, name):29}" + "".join(figures.get(t, 10 * " ") for t in PEER_ROUNDS))


def draw_all(points, others):
    """Return the figure: one panel per axis, the cost as a line with its exponent, the floor dotted in its colour."""
    figure = new_figure(width=13, height=6.4)
    panels = figure.subplots(2, 3).ravel()
    for axes, axis in zip(panels, AXES, strict=False):
        for colour, kind in zip(COLOURS, KINDS, strict=False):
            draw_curve(axes, curve(points, kind, axis), colour)
        if axis == "rounds":
            draw_peers(axes, others)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(AXES[axis], [f"{x:,}" for x in AXES[axis]])
        axes.minorticks_off()
        axes.margins(x=0.18)
        finish(axes, f"against {axis}", axis, "ms per round")
    for name, colour in zip(KINDS, COLOURS, strict=False):
        panels[-1].plot([], [], "o-", ms=4, lw=1.4, color=colour, label=name)
    draw_peers(panels[-1], [(name, math.nan, math.nan) for name, *_ in others])
    panels[-1].axis("off")
    panels[-1].legend(fontsize=9, frameon=False, loc="upper left")
    panels[-1].text(0, 0.3, NOTE, va="top", size=8, transform=panels[-1].transAxes)
    figure.tight_layout()
    return figure


NOTE = (
    "Dotted: the floor, the bytes or flops that a round cannot do without,\n"
    "over what one thread was measured to do in the same run.\n"
    f"If not varied: {ROUNDS} rounds before, {ARMS:,} arms, {DIMENSION} dimensions,\n"
    f"one constraint, one trial; a budget of {BUDGET} points.\n"
    "Exponents are fitted to the larger half of each curve."
)


def draw_curve(axes, line, colour):
    if not line:
        return
    x, cost, floor = ([getattr(p, name) for p in line] for name in ("x", "seconds", "floor"))
    axes.plot(x, np.multiply(1e3, cost), "o-", ms=4, lw=1.4, color=colour)
    axes.plot(x, np.multiply(1e3, floor), ":", lw=1, color=colour)
    end = x[-1], 1e3 * cost[-1]
    power = f"$x^{{{slope(line):.2f}}}$"
    below = -7 if "budget" in line[0].kind else 0  # it often ends where "continuous, exact" does
    axes.annotate(power, end, (5, below), textcoords="offset points", va="center", size=8, color=colour)


def draw_peers(axes, others):
    for marker, name in zip("sD", dict.fromkeys(name for name, *_ in others), strict=False):
        known = [(t, 1e3 * seconds) for other, t, seconds in others if other == name]
        axes.plot(*zip(*known, strict=True), f"{marker}--", ms=4, lw=1, color="0.3", label=NAMES[name])


if __name__ == "__main__":
    main()
