"""The theory against runs and against the clock: `python benchmarks/theory.py [gain] [space] [slack]`."""

import argparse
import time
from itertools import product

import numpy as np
from scipy.stats.qmc import Sobol

import softbandit as sb
from softbandit.theory import features, gain_on_space, greedy_gain, spectral_gain


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", default=["gain", "space", "slack"])
    for part in parser.parse_args().part:
        print(f"\n{PARTS[part].__doc__}")
        PARTS[part]()


def gain():
    """Maximum information gain on 10,000 arms in 2 dimensions, squared exponential 0.3, lambda = 1."""
    arms = np.random.default_rng(0).random((10_000, 2))
    started = time.perf_counter()
    phi = features(sb.SquaredExponential(0.3), arms)
    print(f"factorised to rank {phi.rank} in {time.perf_counter() - started:.2f} s")
    print(f"{'T':>8}{'steps':>8}{'seconds':>9}{'greedy':>9}{'upper':>9}{'greedy/(1-1/e)':>16}{'spectral':>10}")
    for T, steps in ((1000, None), (10_000, None), (10_000, 400)):
        started = time.perf_counter()
        gains = greedy_gain(phi, T, 1.0, steps)
        seconds = time.perf_counter() - started
        greedy, upper = gains.lower[-1], gains.upper[-1]
        textbook = f"{greedy / (1 - np.exp(-1)):16.2f}" if steps is None else f"{'':>16}"
        spectral = spectral_gain(phi, T, 1.0)[0]
        print(f"{T:8}{len(gains.arms):8}{seconds:9.2f}{greedy:9.2f}{upper:9.2f}{textbook}{spectral:10.2f}")


def space():
    """gamma_T on the unit cube, length scale 0.2: the bound, over the best lower bound found, and seconds."""
    kernels = {"squared exponential": sb.SquaredExponential(0.2), "Matern 5/2": sb.Matern(0.2)}
    rounds = (100, 1000, 10_000)
    print(f"{'':21}{'d':>2}{'lambda':>8}" + "".join(f"{f'T = {T:,}':>27}" for T in rounds))
    for (name, kernel), d, lam in product(kernels.items(), (1, 2, 3), (1.0, 0.01)):
        cells = [space_gain(kernel, d, T, lam) for T in rounds]
        print(f"{name:21}{d:2}{lam:8}" + "".join(cells), flush=True)


def space_gain(kernel, d, T, lam):
    started = time.perf_counter()
    gain = gain_on_space(kernel, sb.Box(np.zeros(d), np.ones(d)), T, lam)
    seconds = time.perf_counter() - started
    note = " " if gain.points else "t"  # t: the trivial bound
    return f"{gain.upper:11.1f}{note}{gain.upper / lower_gain(kernel, d, T, lam):6.2f}x{seconds:6.2f} s"


def lower_gain(kernel, d, T, lam):
    """Return the larger gain of two runs of T rounds: a greedy one on a grid, and one spread evenly (Sobol)."""
    axes = np.meshgrid(*[np.linspace(0, 1, {1: 500, 2: 50, 3: 14}[d])] * d)
    phi = features(kernel, np.stack(axes, axis=-1).reshape(-1, d), 0.01 * lam / T, largest_rank=400)
    greedy = greedy_gain(phi, T, lam, steps=500).lower[-1]
    n = min(T, 4096)
    X = Sobol(d, rng=np.random.default_rng(0)).random(4096)[:n]
    half = np.sqrt(np.bincount(np.arange(T) % n) / lam)
    return max(greedy, 0.5 * np.linalg.slogdet(np.eye(n) + half[:, None] * kernel(X, X) * half)[1])


def slack():
    """Regret and violation over their bounds: 200 synthetic problems, 30 arms, T = 500, noise 0.3, 4 trials each."""
    print(f"{'':6}{'R_+ / bound: max, median':>28}{'V / bound: max, median':>28}{'runs beyond':>13}")
    for explore in ("ucb", "rand"):
        rows = np.concatenate([shares_of_bounds(seed, explore) for seed in range(200)])
        text = "".join(f"{column.max():20.2g}{np.median(column):8.2g}" for column in rows.T)
        print(f"{explore:6}{text}{np.mean((rows > 1).any(axis=1)):13.1%}")


def shares_of_bounds(seed, explore):
    """Return regret and violation over their bounds, one row per trial."""
    problem = sb.problems.rkhs(arms=30, seed=seed, noise=0.3)
    policy = sb.CKB(**problem.settings(), horizon=500, explore=explore)
    bound = policy.guarantees(problem).bound
    scores = sb.score(sb.simulate(policy, problem, trials=4, seed=seed, engine="numpy"), problem)
    return np.column_stack([scores.strong_regret[:, -1] / bound.regret, scores.violation[:, -1] / bound.violation])


PARTS = {part.__name__: part for part in (gain, space, slack)}

if __name__ == "__main__":
    main()
