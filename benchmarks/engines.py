"""NumPy's engine and JAX's on the same work, in one run: `engines.py [rounds cores compile auto precision]`.

Times are taken in turns and the median is shown, in microseconds a trial-round unless a line says
otherwise; compilation is paid before the clock starts.
"""

import argparse
import time
from functools import partial
from statistics import mean, median

import jax
import plain

import softbandit as sb
from softbandit.simulation import engines

EXPLORATIONS = ("ucb", "rand", "ts")
CORES_ROUNDS = 5000  # to send tasks and results to and fro takes as long as a hundred rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", default=["rounds", "compile", "auto"])
    parser.add_argument("--trials", type=int, nargs="*", default=[1, 50, 1000])
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--lengthscale", type=float, nargs="*", default=[0.2, 0.25])
    options = parser.parse_args()
    print(f"jax {jax.__version__} on {jax.devices()[0]}, {engines.cores()} cores")
    for part in options.part:
        print(f"\n{PARTS[part].__doc__}")
        PARTS[part](options)


def rounds(options):
    """CKB on 100 arms, microseconds a trial-round; `plain`: plain.py, one trial; `device`: JAX that makes its draws."""
    runs = {"numpy": {}, "jax": {"engine": "jax"}, "device": {"engine": "jax", "draws": "device"}}
    columns = "".join(f"{name:>9}" for name in ("plain", *runs))
    print(f"{'':9}{'rank':>5}{'trials':>7}{columns}{'plain/numpy':>13}{'plain/jax':>10}")
    for lengthscale in options.lengthscale:
        problem = sb.problems.rkhs(seed=3, lengthscale=lengthscale)
        for explore in EXPLORATIONS:
            policy = sb.CKB(**problem.settings(), horizon=options.rounds, explore=explore)
            rank = policy.model.groups[0].features.rank
            for trials in options.trials:
                ways = {name: run(policy, problem, trials, how) for name, how in runs.items()}
                times = in_turns({"plain": transcription(problem, explore, options.rounds)} | ways, options.turns)
                each = [1e6 * t / options.rounds / (1 if name == "plain" else trials) for name, t in times.items()]
                row = "".join(f"{t:9.3f}" for t in each)
                ratios = f"{each[0] / each[1]:12.1f}x{each[0] / each[2]:9.1f}x"
                print(f"ckb-{explore:5}{rank:5}{trials:7}{row}{ratios}", flush=True)


def cores(options):
    """NumPy, 50 trials in one process (simulate), and in one for each core (sweep): all columns kept, and the arms."""
    print(f"{'':9}{'rank':>5}{'rounds':>8}{'simulate':>10}{'arms only':>11}{'sweep':>8}{'arms only':>11}")
    problem = sb.problems.rkhs(seed=3, lengthscale=0.25)
    for explore in EXPLORATIONS:
        policy = sb.CKB(**problem.settings(), horizon=CORES_ROUNDS, explore=explore)
        rank = policy.model.groups[0].features.rank
        ways = {}
        for name, kept in (("all", {}), ("arms", {"keep": ()})):
            ways["simulate", name] = run(policy, problem, 50, kept)
            ways["sweep", name] = partial(sb.sweep, {"ckb": (policy, problem)}, 50, **kept)
        us = {way: 1e6 * t / CORES_ROUNDS / 50 for way, t in in_turns(ways, options.turns).items()}
        each = "".join(
            f"{us[way, 'all']:{width}.2f}{us[way, 'arms']:11.2f}" for way, width in (("simulate", 10), ("sweep", 8))
        )
        print(f"ckb-{explore:5}{rank:5}{CORES_ROUNDS:8,}{each}", flush=True)


def transcription(problem, explore, rounds):
    return lambda: plain.run(problem, explore, rounds, seed=0, shared=True)


def run(policy, problem, trials, how):
    return lambda: sb.simulate(policy, problem, trials, **how)


def compile(options):
    """Seconds to trace and compile a policy the first time (100 arms, 50 trials), and with other numbers."""
    problem, other = sb.problems.rkhs(seed=3), sb.problems.rkhs(seed=4)
    for name in sb.baselines.POLICIES:
        first, again = (first_call(name, each) for each in (problem, other))
        print(f"{name:18}{first:6.2f} s{again:8.2f} s", flush=True)


def first_call(name, problem):
    safe = {"safe": int(problem.cost.argmin())} if name in ("safeopt", "stageopt", "sgp-ucb") else {}
    policy = sb.baselines.make(name, **problem.settings(), horizon=250, **safe)
    calls = [seconds(lambda: sb.simulate(policy, problem, 50, engine="jax", rounds=250)) for _ in range(3)]
    return max(0.0, calls[0] - min(calls[1:]))


def auto(options):
    """What JAX saves of a round, in microseconds, and what engine="auto" reckons with."""
    for arms, trials in ((100, 1), (100, 50), (100, 500), (1000, 1), (1000, 50)):
        problem = sb.problems.rkhs(seed=3, arms=arms)
        policy = sb.CKB(**problem.settings(), horizon=250)
        ways = {name: run(policy, problem, trials, {"engine": name}) for name in ("numpy", "jax")}
        numpy, compiled = in_turns(ways, options.turns).values()
        reckoned = engines.seconds_saved(policy, trials, 1)
        saved = (numpy - compiled) / policy.horizon
        print(f"{arms:6} arms{trials:6} trials: saved {1e6 * saved:9.1f}, reckoned {1e6 * reckoned:9.1f}", flush=True)


def precision(options, problems=10, trials=100, rounds=500):
    """Share of trials whose arms are those of double precision in all of 500 rounds (10 problems x 100 trials)."""
    print(f"{'':10}{'float32':>9}")
    for explore in EXPLORATIONS:
        shares = []
        for seed in range(problems):
            problem = sb.problems.rkhs(seed=seed)
            policy = sb.CKB(**problem.settings(), horizon=rounds, explore=explore, width_scale=0.2)
            kinds = ("float64", "float32")
            double, single = (sb.simulate(policy, problem, trials, engine="jax", precision=kind) for kind in kinds)
            shares.append((double.arms == single.arms).all(axis=1).mean())
        print(f"ckb-{explore:6}{mean(shares):9.1%}", flush=True)


def in_turns(ways, turns):
    """The median time of each way, in seconds, after one call that is not counted."""
    for way in ways.values():
        way()
    times = [{name: seconds(way) for name, way in ways.items()} for _ in range(turns)]
    return {name: median(each[name] for each in times) for name in ways}


def seconds(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


PARTS = {part.__name__: part for part in (rounds, cores, compile, auto, precision)}

if __name__ == "__main__":
    main()
