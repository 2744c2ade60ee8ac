"""Cost per round against the number of arms: linear for CKB, quadratic for methods with safe sets.

`python benchmarks/arms.py` prints microseconds per trial-round on NumPy, the slope of their logarithms, and the
process's peak memory. Cheap methods run many trials at once, which share the fixed cost of NumPy's calls: with one
trial that cost would hide how the time grows. Methods with safe sets are slow enough for a single trial.
"""

import argparse

import numpy as np
from stopwatch import seconds

import softbandit as sb

METHODS = {  # name: (trials, settings)
    "ckb-ucb": (20, {}),
    "ckb-rand": (20, {}),
    "ckb-ts": (20, {}),
    "sgp-ucb": (20, {"safe": 0}),
    "safeopt": (1, {"safe": 0, "lipschitz": 8.0}),
    "stageopt": (1, {"safe": 0, "lipschitz": 8.0, "stage_rounds": 100}),
    "safeopt, no Lipschitz": (1, {"safe": 0}),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", type=int, nargs="*", default=[100, 316, 1000, 3162, 10_000])
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args()
    print(f"{'us per trial-round':24}{'trials':>7}" + "".join(f"{n:>12,}" for n in options.arms) + f"{'slope':>8}")
    for name, (trials, settings) in METHODS.items():
        times = [microseconds(name, settings, trials, n, options.rounds) for n in options.arms]
        slope = np.polyfit(np.log(options.arms), np.log(times), 1)[0]
        print(f"{name:24}{trials:7}" + "".join(f"{t:12,.1f}" for t in times) + f"{slope:8.2f}")
    print(f"peak memory {peak_bytes() / 1e6:.0f} MB")


def microseconds(name, settings, trials, arms, rounds):
    """Return the time per trial-round."""
    x = np.linspace(0, 1, arms)
    bounds = {"reward_bound": 2.0, "cost_bound": 2.0, "noise": 0.1, "slater": 0.5}
    problem = sb.problems.Problem(x[:, None], sb.SquaredExponential(0.2), np.sin(5 * x), x - 0.6, **bounds)
    policy = sb.baselines.make(name.split(",")[0], **problem.settings(), horizon=1000, width_scale=0.2, **settings)
    rounds = rounds if trials == 1 else 20 * rounds
    sb.simulate(policy, problem, trials, engine="numpy", rounds=1)  # warms up
    return 1e6 * seconds(lambda: sb.simulate(policy, problem, trials, engine="numpy", rounds=rounds)) / rounds / trials


def peak_bytes():
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


if __name__ == "__main__":
    main()
