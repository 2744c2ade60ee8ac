"""Kernels of full rank: ask + tell of an agent beside a plain update in O(arms x rounds), in one run.

`python benchmarks/high_rank.py` prints milliseconds per round. The plain update is the same arithmetic without checks,
decisions, record or repeated arms; its floor is one pass over its rows. With `--engine jax` (or numpy) it prints the
time of many trials on that engine, on a GPU if there is one.
"""

import argparse
import math
import time
from functools import partial
from statistics import median

import numpy as np
from stopwatch import seconds

import softbandit as sb

ROUNDS = 300
SYSTEMS = "SS-C", "SS-Q"
LAST = 20  # rounds, whose median is the cost at the end of a run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", default=list(PARTS))
    parser.add_argument("--engine", choices=["numpy", "jax"], help="time many trials, and none of the parts")
    parser.add_argument("--trials", type=int, nargs="+", default=[1, 64, 1024])
    options = parser.parse_args()
    if options.engine:
        trials(options.engine, options.trials)
        return
    for part in options.part:
        print(f"\n{PARTS[part].__doc__}")
        PARTS[part]()


def measured():
    """Measured systems, Matern 5/2 of length scale 0.3 sqrt(d): ms per round, mean over 300 rounds."""
    print(f"{'':6}{'arms':>6}{'d':>4}{'set up':>10}{'ask + tell':>12}{'ask':>8}{'tell':>8}{'plain':>8}{'ratio':>7}")
    for name in SYSTEMS:
        problem, settings = system(name)
        n, d = problem.arms.shape
        sb.CKB(**settings)  # warms up
        setup = median(seconds(partial(sb.CKB, **settings)) for _ in range(5))
        agent, plain = sb.Agent(sb.CKB(**settings)), Plain(problem.arms, settings["kernel"])
        ask, tell, update = np.mean([play(agent, plain, problem) for _ in range(ROUNDS)], axis=0)
        both = ask + tell
        figures = f"{both:12.2f}{ask:8.2f}{tell:8.2f}{update:8.2f}{both / update:6.1f}x"
        print(f"{name:6}{n:6,}{d:4}{1e3 * setup:7.0f} ms{figures}")


def sampling():
    """The same with Thompson sampling, whose kernel is factorised when it is set up."""
    print(f"{'':6}{'arms':>6}{'d':>4}{'set up':>10}{'ask + tell':>12}{'ask':>8}{'tell':>8}")
    for name in SYSTEMS:
        problem, settings = system(name)
        n, d = problem.arms.shape
        started = time.perf_counter()
        agent = sb.Agent(sb.CKB(**settings, explore="ts"))
        setup = time.perf_counter() - started
        plain = Plain(problem.arms, settings["kernel"])
        ask, tell, _ = np.mean([play(agent, plain, problem) for _ in range(ROUNDS)], axis=0)
        print(f"{name:6}{n:6,}{d:4}{1e3 * setup:7.0f} ms{ask + tell:12.2f}{ask:8.2f}{tell:8.2f}")


def trials(engine, numbers):
    """Print the time of many trials of 300 rounds, in the second of two runs: the first compiles."""
    options = {"engine": engine, "keep": ()} | ({"draws": "device"} if engine == "jax" else {})
    print(f"{device(engine)}, Matern 5/2 of length scale 0.3 sqrt(d), {ROUNDS} rounds")
    print(f"{'':6}{'arms':>6}{'d':>4}{'trials':>8}{'first run':>12}{'us per round':>15}{'us per trial-round':>20}")
    for name in SYSTEMS:
        problem, settings = system(name)
        n, d = problem.arms.shape
        policy = sb.CKB(**settings)
        for number in numbers:
            run = partial(sb.simulate, policy, problem, number, rounds=ROUNDS, **options)
            first, us = seconds(run), 1e6 * seconds(run) / ROUNDS
            print(f"{name:6}{n:6,}{d:4}{number:8,}{first:10.1f} s{us:15.1f}{us / number:20.3f}", flush=True)


def device(engine):
    """Return what the engine runs on."""
    if engine == "numpy":
        return f"numpy {np.__version__}"
    import jax

    return f"jax {jax.__version__} on {jax.devices()[0].device_kind}"


def system(name):
    """Return a measured system, and the settings of a policy for it."""
    problem = sb.problems.measured(name)
    kernel = sb.Matern(0.3 * math.sqrt(problem.arms.shape[1]))
    return problem, problem.settings() | {"kernel": kernel, "horizon": 2 * ROUNDS}


def arms():
    """100,000 arms in 6 dimensions, Matern 5/2 of length scale 0.3 sqrt(6): ms, median of the last 20 rounds."""
    X = np.random.default_rng(0).random((100_000, 6))
    reward, cost = np.sin(3 * X[:, 0]) + X[:, 1], X[:, 2] - 0.5
    settings = {"reward_bound": 2.0, "cost_bound": 2.0, "noise": 0.1, "slater": 0.5}
    problem = sb.problems.Problem(X, sb.Matern(0.3 * math.sqrt(6)), reward, cost, **settings)
    started = time.perf_counter()
    agent = sb.Agent(sb.CKB(**problem.settings(), horizon=1000))
    print(f"set up in {time.perf_counter() - started:.2f} s")
    plain = Plain(X, problem.kernel)
    for last in (50, 200):
        times = [play(agent, plain, problem) for _ in range(agent.round, last)]
        ask, tell, update = np.median(times[-LAST:], axis=0)
        floor = 1e3 * min(seconds(partial(np.matmul, np.ones(last), plain.W[:last])) for _ in range(5))
        print(
            f"round {last:4}: ask + tell {ask + tell:5.1f} (ask {ask:.1f}, tell {tell:.1f}), "
            f"plain {update:.1f}, one pass over the rows {floor:.1f}"
        )


def play(agent, plain, problem):
    """Play one round, and return the milliseconds of ask, of tell and of the plain update."""
    started = time.perf_counter()
    decision = agent.ask()
    asked = time.perf_counter()
    y = problem.reward[decision.arm], problem.costs[decision.arm, 0]
    agent.tell(decision, *y)
    told = time.perf_counter()
    plain.update(decision.arm, np.array(y))
    return 1e3 * (asked - started), 1e3 * (told - asked), 1e3 * (time.perf_counter() - told)


class Plain:
    """The posterior of two outputs, updated in place: one row per observation."""

    def __init__(self, X, kernel, lam=1.0):
        self.X, self.kernel, self.lam = X, kernel, lam
        self.W, self.t = np.empty((512, len(X))), 0
        self.mu, self.var = np.zeros((2, len(X))), kernel.diag(X)

    def update(self, i, y):
        W = self.W[: self.t]
        k = self.kernel(self.X[i : i + 1], self.X)[0] - W[:, i] @ W
        root = math.sqrt(self.lam + k[i])
        w = np.divide(k, root, out=self.W[self.t])
        self.mu += ((y - self.mu[:, i]) / root)[:, None] * w
        self.var -= w * w
        self.t += 1


PARTS = {part.__name__: part for part in (measured, sampling, arms)}

if __name__ == "__main__":
    main()
