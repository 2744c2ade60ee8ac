"""NumPy's engine and JAX's on the same work, in one run: `engines.py [rounds cores compile auto precision]`.

Calls are timed in turns and the median is shown, in microseconds per trial-round unless a line says otherwise.
Compilation happens before the clock starts.
"""

import argparse
from functools import partial
from statistics import mean

import jax
import plain
from seeds import seed_settings
from stopwatch import median_seconds_in_turns, seconds

import softbandit as sb
from softbandit.simulation import engine_choice, schedule

EXPLORATIONS = ("ucb", "rand", "ts")
CORES_ROUNDS = 5000  # sending tasks and results between processes takes as long as a hundred rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", default=["rounds", "compile", "auto"])
    parser.add_argument("--trials", type=int, nargs="*", default=[1, 50, 1000])
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--lengthscale", type=float, nargs="*", default=[0.2, 0.25])
    options = parser.parse_args()
    print(f"jax {jax.__version__} on {jax.devices()[0]}, {schedule.cores()} cores")
    for part in options.part:
        print(f"\n{PARTS[part].__doc__}")
        PARTS[part](options)


def rounds(options):
    """CKB on 100 arms, microseconds per trial-round; `plain`: plain.py, one trial; `device`: JAX with its own draws."""
    engines = {
        "numpy": {"engine": "numpy"},
        "jax": {"engine": "jax"},
        "device": {"engine": "jax", "draws": "device"},
    }
    columns = "".join(f"{name:>9}" for name in ("plain", *engines))
    print(f"{'':9}{'rank':>5}{'trials':>7}{columns}{'plain/numpy':>13}{'plain/jax':>10}")
    for lengthscale in options.lengthscale:
        problem = sb.problems.rkhs(seed=3, lengthscale=lengthscale)
        for explore in EXPLORATIONS:
            policy = sb.CKB(**problem.settings(), horizon=options.rounds, explore=explore)
            for trials in options.trials:
                calls = {"plain": partial(plain.run, problem, explore, options.rounds, seed=0, shared=True)}
                calls |= {name: partial(sb.simulate, policy, problem, trials, **how) for name, how in engines.items()}
                times = median_seconds_in_turns(calls, options.turns)
                us = {name: 1e6 * t / options.rounds / trials for name, t in times.items()}
                us["plain"] *= trials  # it runs one
                row = "".join(f"{t:9.3f}" for t in us.values())
                ratios = f"{us['plain'] / us['numpy']:12.1f}x{us['plain'] / us['jax']:9.1f}x"
                print(f"ckb-{explore:5}{rank(policy):5}{trials:7}{row}{ratios}", flush=True)


def cores(options):
    """NumPy, 50 trials in one process (simulate) and in one per core (sweep): all columns kept, and only the arms."""
    print(f"{'':9}{'rank':>5}{'rounds':>8}{'simulate':>10}{'arms only':>11}{'sweep':>8}{'arms only':>11}")
    problem = sb.problems.rkhs(seed=3, lengthscale=0.25)
    for explore in EXPLORATIONS:
        policy = sb.CKB(**problem.settings(), horizon=CORES_ROUNDS, explore=explore)
        simulate = partial(sb.simulate, policy, problem, 50, engine="numpy")
        sweep = partial(sb.sweep, {"ckb": (policy, problem)}, 50, engine="numpy")
        calls = {
            "simulate": simulate,
            "simulate, arms": partial(simulate, keep=()),
            "sweep": sweep,
            "sweep, arms": partial(sweep, keep=()),
        }
        us = {name: 1e6 * t / CORES_ROUNDS / 50 for name, t in median_seconds_in_turns(calls, options.turns).items()}
        row = "".join(f"{t:{width}.2f}" for t, width in zip(us.values(), (10, 11, 8, 11), strict=True))
        print(f"ckb-{explore:5}{rank(policy):5}{CORES_ROUNDS:8,}{row}", flush=True)


def rank(policy):
    return policy.model.groups[0].features.rank


def compile(options):
    """Seconds to trace and compile a policy (100 arms, 50 trials): the first time, and again with other numbers."""
    problem, other = sb.problems.rkhs(seed=3), sb.problems.rkhs(seed=4)
    for name in (name for name in sb.baselines.POLICIES if name != "autopilot"):  # it learns, and is not compiled
        print(f"{name:18}{compile_seconds(name, problem):6.2f} s{compile_seconds(name, other):8.2f} s", flush=True)


def compile_seconds(name, problem):
    """Return how much longer the first call takes than the fastest of the next two."""
    policy = sb.baselines.make(name, **problem.settings(), horizon=250, **seed_settings(name, problem))
    first, *later = (seconds(lambda: sb.simulate(policy, problem, 50, engine="jax", rounds=250)) for _ in range(3))
    return max(0.0, first - min(later))


def auto(options):
    """Microseconds per round that JAX saves, measured and as engine="auto" estimates them."""
    for arms, trials in ((100, 1), (100, 50), (100, 500), (1000, 1), (1000, 50)):
        problem = sb.problems.rkhs(seed=3, arms=arms)
        policy = sb.CKB(**problem.settings(), horizon=250)
        calls = {name: partial(sb.simulate, policy, problem, trials, engine=name) for name in ("numpy", "jax")}
        times = median_seconds_in_turns(calls, options.turns)
        saved = 1e6 * (times["numpy"] - times["jax"]) / policy.horizon
        estimated = 1e6 * engine_choice.seconds_saved(policy, trials, 1)
        print(f"{arms:6} arms{trials:6} trials: measured {saved:9.1f}, estimated {estimated:9.1f}", flush=True)


def precision(options, problems=10, trials=100, rounds=500):
    """Share of trials that play the same arms as float64 in all 500 rounds (10 problems x 100 trials)."""
    print(f"{'':10}{'float32':>9}")
    for explore in EXPLORATIONS:
        shares = []
        for seed in range(problems):
            problem = sb.problems.rkhs(seed=seed)
            policy = sb.CKB(**problem.settings(), horizon=rounds, explore=explore, width_scale=0.2)
            simulate = partial(sb.simulate, policy, problem, trials, engine="jax")
            double, single = simulate(precision="float64"), simulate(precision="float32")
            shares.append((double.arms == single.arms).all(axis=1).mean())
        print(f"ckb-{explore:6}{mean(shares):9.1%}", flush=True)


PARTS = {part.__name__: part for part in (rounds, cores, compile, auto, precision)}

if __name__ == "__main__":
    main()
