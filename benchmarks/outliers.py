"""What glitches of the reward cost Autopilot: `python benchmarks/outliers.py [--rounds 200] [--seeds 10]`

In 2% of the rounds the measured reward is off by 20 of its spreads, up or down. P with glitches relative to P without
them, as geometric means over the runs: with outliers counting as less far, and in full.
"""

import argparse
from unittest.mock import patch

import numpy as np
from decision_measures import measures
from decision_methods import METHODS
from decision_runs import Cell, cell_seed, instance, play, problem_and_truth
from joblib import Parallel, delayed

from softbandit.gp import outliers

PROBLEMS = ("SS-D", "SS-M", "cloud", "rkhs-1d", "rkhs-2d", "gardner-1", "branin")
SHARE, SIZE = 0.02, 20.0
FIRST_SEED = 100  # others than in the comparison of decisions


class Glitching:
    """A problem, some of whose measured rewards are far off."""

    def __init__(self, problem, spread, seed):
        self.problem, self.spread, self.rng = problem, spread, np.random.default_rng([seed, 77])

    def __getattr__(self, name):
        return getattr(self.problem, name)

    def observe(self, choice, draws):
        reward, costs = self.problem.observe(choice, draws)
        sign = self.rng.choice([-1, 1])
        return reward + (sign * SIZE * self.spread if self.rng.random() < SHARE else 0.0), costs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    print(f"{'P with glitches / without':28}{'as less far':>14}{'in full':>10}")
    rows = []
    for name in PROBLEMS:
        runs = (delayed(ratios)(name, options.rounds, FIRST_SEED + k) for k in range(options.seeds))
        rows += Parallel(-1)(runs)
        show(name, rows[-options.seeds :])
    show("all", rows)


def ratios(name, rounds, seed):
    """Return log P with glitches less that without, with outliers counting as less far and in full."""
    plain = loss(name, rounds, seed, glitches=False)
    treated = loss(name, rounds, seed, glitches=True)
    with patch.object(outliers, "FARTHEST", np.inf):
        full = loss(name, rounds, seed, glitches=True)
    return np.log([treated / plain, full / plain])


def loss(name, rounds, seed, glitches):
    """Return the P of a run, by the true functions."""
    cell = Cell(name, "autopilot", rounds, seed)
    problem, known = problem_and_truth(name, instance(cell))
    played = Glitching(problem, known.spreads[0], cell_seed(cell)) if glitches else problem
    run = play(played, METHODS["autopilot"].build(problem, rounds, cell_seed(cell)), rounds, cell_seed(cell))
    row = measures(problem, known, run.choices)
    return max(row["P"], row["floor"])


def show(name, rows):
    print(f"{name:28}" + "".join(f"{x:{w}.2f}" for x, w in zip(np.exp(np.mean(rows, axis=0)), (14, 10), strict=True)))


if __name__ == "__main__":
    main()
