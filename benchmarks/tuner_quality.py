"""Measure the tuner with many rounds in flight, and on functions that move: `python benchmarks/tuner_quality.py`

In flight: real measured systems, as spaces of whole numbers; a worker asks as soon as one of the pending rounds, a
random one, is told. Loss is P(T) / T of decision_measures.py: reward that is missed per round, and the price of what is
above the limit, in spreads of the reward. Drift: a peak and a limit over a 15 x 15 grid.
"""

import argparse

import numpy as np
from decision_measures import measures, truth

import softbandit as sb
from softbandit.tuner.deciding.decider import Decider
from softbandit.tuner.words.description import Description
from softbandit.tuner.words.limits import Mean

SYSTEMS = {"SS-C": False, "SS-D": False, "SS-E": False, "SS-C-log": True, "SS-D-log": True, "SS-E-log": True}
IN_FLIGHT = (1, 8, 32)
ROUNDS = 300
SIDE = 15  # of the grid
JUMP = 150  # the round of it
NOISE = 0.05


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    print(
        f"Loss per round with rounds in flight, T = {ROUNDS}, mean of {len(seeds)} runs (share of configurations tried)"
    )
    print(f"{'':10}{'at random':>16}" + "".join(f"{count:>10} in flight" for count in IN_FLIGHT))
    for name in SYSTEMS:
        print_system(name, seeds)
    print(f"\nLoss per round on functions that move, T = {ROUNDS}, jumps in round {JUMP}, mean of {len(seeds)} runs")
    print(f"{'':22}{'up to the jump':>16}{'50 rounds after':>18}{'later':>10}{'shifts noticed':>18}")
    for name in MOVES:
        for forget in (None, 50, "auto"):
            print_drift(name, forget, seeds)


# -- In flight. --


def print_system(name, seeds):
    problem = sb.problems.measured(name.removesuffix("-log"), log=SYSTEMS[name])
    known = truth(problem)
    rng = np.random.default_rng(0)
    runs = {0: [rng.integers(len(problem.arms), size=ROUNDS) for _ in seeds]}
    runs |= {count: [play_system(problem, count, seed) for seed in seeds] for count in IN_FLIGHT}
    cells = []
    for played in runs.values():
        loss = np.mean([measures(problem, known, arms)["P"] / ROUNDS for arms in played])
        share = np.mean([len(np.unique(arms)) / len(problem.arms) for arms in played])
        cells.append(f"{loss:13.3g} ({share:3.0%})")
    print(f"{name:10}{cells[0]:>16}" + "".join(f"{cell:>20}" for cell in cells[1:]), flush=True)


def play_system(problem, in_flight, seed):
    """Return the arms that the tuner plays."""
    sizes = [len(np.unique(column)) for column in problem.arms.T]
    space = {f"p{j}": sb.Integer(0, size - 1) for j, size in enumerate(sizes)}
    arm_at = {tuple(np.rint(x * (np.array(sizes) - 1)).astype(int)): arm for arm, x in enumerate(problem.arms)}
    limit = Mean("cost", at_most=0)
    decider = Decider.start(Description.of(space=space, maximize="reward", limits=[limit], rounds=ROUNDS, seed=seed))
    rng, pending, played = np.random.default_rng(seed), [], []
    for ask in range(1, ROUNDS + 1):
        proposal = decider.decide(ask)
        decider.asked(ask, proposal.values, None, proposal.kind)
        played.append(arm_at[tuple(proposal.values.values())])
        pending.append(ask)
        if len(pending) == in_flight:
            told = pending.pop(rng.integers(in_flight))
            outputs = np.append(problem.reward[played[told - 1]], problem.cost[played[told - 1]])
            reward, cost = outputs + problem.noises * rng.standard_normal(2)
            decider.told(told, {"reward": float(reward), "cost": float(cost)})
    return played


# -- Drift. --


def turning(t):
    return 0.5 + 0.35 * np.cos(2 * np.pi * t / 400), 0.5 + 0.35 * np.sin(2 * np.pi * t / 400), 1.1


MOVES = {  # the peak's place, and the limit of x + y
    "nothing moves": lambda t: (0.7, 0.75, 1.1),
    "the peak jumps": lambda t: (0.25, 0.3, 1.1) if t < JUMP else (0.7, 0.75, 1.1),
    "the cost jumps": lambda t: (0.7, 0.75, 1.3 if t < JUMP else 0.9),
    "the peak turns": turning,
}


def print_drift(name, forget, seeds):
    losses, shifts = zip(*(play_drift(MOVES[name], forget, seed) for seed in seeds), strict=True)
    means = [np.mean([part(loss) for loss in losses]) for part in (_before, _after, _later)]
    label = f"{name}, {forget}"
    print(f"{label:22}{means[0]:16.3f}{means[1]:18.3f}{means[2]:10.3f}{np.mean(shifts):18.1f}", flush=True)


def _before(loss):
    return np.mean(loss[:JUMP])


def _after(loss):
    return np.mean(loss[JUMP : JUMP + 50])


def _later(loss):
    return np.mean(loss[JUMP + 50 :])


def play_drift(move, forget, seed):
    """Return the loss of each round at the prices of its moment, and how many shifts were noticed."""
    space = {"x": sb.Integer(0, SIDE - 1), "y": sb.Integer(0, SIDE - 1)}
    limits = [Mean("cost", at_most=0)]
    decider = Decider.start(Description.of(space=space, maximize="reward", limits=limits, forget=forget, seed=seed))
    rng, losses = np.random.default_rng(seed), []
    for t in range(ROUNDS):
        proposal = decider.decide(t + 1)
        decider.asked(t + 1, proposal.values, None, proposal.kind)
        f, g = functions(move(t), np.array([list(proposal.values.values())]) / (SIDE - 1))
        losses.append(best_value(move(t)) - (f[0] - price(move(t)) * g[0]))
        reward, cost = np.append(f, g) + NOISE * rng.standard_normal(2)
        decider.told(t + 1, {"reward": float(reward), "cost": float(cost)})
    return losses, len(decider.memory.shifts)


GRID = np.stack(np.meshgrid(*[np.linspace(0, 1, SIDE)] * 2), axis=-1).reshape(-1, 2)
PRICES = {}


def functions(place, X):
    """Return reward and cost (n,) at points of the unit square."""
    x, y, limit = place
    return np.exp(-8 * ((X - [x, y]) ** 2).sum(axis=1)), X.sum(axis=1) - limit


def price(place):
    if place not in PRICES:
        f, g = functions(place, GRID)
        PRICES[place] = float(np.ravel(sb.theory.optimal_dual(f, g[:, None]).price)[0])
    return PRICES[place]


def best_value(place):
    f, g = functions(place, GRID)
    return (f - price(place) * g).max()


if __name__ == "__main__":
    main()
