"""NumPy's engine and JAX's on the same work, in one run: `python benchmarks/engines.py [--trials N ...]`.

Microseconds a trial-round of CKB on 100 arms, squared exponential 0.2; compilation is paid before the clock starts.
Draws are made on the host for both, and counted.
"""

import argparse
import time

import jax

import softbandit as sb


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, nargs="*", default=[1, 50, 1000])
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--engines", nargs="*", default=["numpy", "jax"])
    options = parser.parse_args()
    print(f"jax {jax.__version__} on {jax.devices()[0]}")
    print(f"{'':10}{'trials':>8}" + "".join(f"{engine:>10}" for engine in options.engines))
    problem = sb.problems.rkhs(seed=3)
    for explore in ("ucb", "rand", "ts"):
        policy = sb.CKB(**problem.settings(), horizon=options.rounds, explore=explore)
        for trials in options.trials:
            times = [microseconds(policy, problem, trials, engine) for engine in options.engines]
            print(f"ckb-{explore:6}{trials:8}" + "".join(f"{t:10.3f}" for t in times))


def microseconds(policy, problem, trials, engine):
    sb.simulate(policy, problem, trials, engine=engine)
    started = time.perf_counter()
    sb.simulate(policy, problem, trials, engine=engine)
    return 1e6 * (time.perf_counter() - started) / trials / policy.horizon


if __name__ == "__main__":
    main()
