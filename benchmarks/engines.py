"""NumPy's engine and JAX's on the same work, in one run: `python benchmarks/engines.py [rounds compile auto gpu]`.

Times are taken in turns and the median is shown, in microseconds a trial-round unless a line says
otherwise; compilation is paid before the clock starts.
"""

import argparse
import time
from statistics import median

import jax
import numpy as np

import softbandit as sb
from softbandit import engines
from softbandit.compiled import JaxEngine
from softbandit.features import Features
from softbandit.policy import Stage
from softbandit.rounds import Options

EXPLORATIONS = ("ucb", "rand", "ts")


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
    """CKB on 100 arms, microseconds a trial-round; `device`: with JAX's draws made on its device."""
    runs = {"numpy": {}, "jax": {"engine": "jax"}, "device": {"engine": "jax", "draws": "device"}}
    print(f"{'':10}{'rank':>6}{'trials':>8}" + "".join(f"{name:>10}" for name in runs) + f"{'numpy/jax':>11}")
    for lengthscale in options.lengthscale:
        problem = sb.problems.rkhs(seed=3, lengthscale=lengthscale)
        for explore in EXPLORATIONS:
            policy = sb.CKB(**problem.settings(), horizon=options.rounds, explore=explore)
            rank = policy.surrogate.groups[0].features.rank
            for trials in options.trials:
                times = in_turns({name: run(policy, problem, trials, how) for name, how in runs.items()}, options.turns)
                each = [1e6 * t / trials / options.rounds for t in times.values()]
                row = "".join(f"{t:10.3f}" for t in each)
                print(f"ckb-{explore:6}{rank:6}{trials:8}{row}{each[0] / each[1]:10.1f}x", flush=True)


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
    return calls[0] - min(calls[1:])


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


def gpu(options):
    """Large runs on an accelerator; `scan`: draws and rounds on the device, `total`: simulate() with its record."""
    problem = sb.problems.rkhs(seed=3)
    print(f"{'100 arms':24}{'scan':>10}{'total':>10}{'all kept':>10}   microseconds a trial-round")
    for trials in (1000, 10_000):
        for explore in EXPLORATIONS:
            policy = sb.CKB(**problem.settings(), horizon=options.rounds, explore=explore)
            ways = {
                "scan": scan(policy, problem, trials, 100, Options(0, (), "device")),
                "total": run(policy, problem, trials, {"engine": "jax", "draws": "device", "keep": ()}),
                "all": run(policy, problem, trials, {"engine": "jax", "draws": "device"}),
            }
            times = in_turns(ways, options.turns)
            each = [times["scan"] / 100, times["total"] / options.rounds, times["all"] / options.rounds]
            row = "".join(f"{1e6 * t / trials:10.4f}" for t in each)
            print(f"ckb-{explore:6}{trials:8} trials{row}", flush=True)
    print(f"\n{'1 trial, rank 64':29}{'scan':>9}{'total':>9}{'Phi q':>9}{'begin':>9}   microseconds a round (begin: s)")
    for arms, precision in ((10**6, "float64"), (10**7, "float32")):
        large(arms, 64, precision, options)


def large(arms, rank, precision, options, short=50, long=250):
    """A round's cost in simulate() is what 250 rounds take more than 50: both begin with sending the arms."""
    policy, problem = many_arms(arms, rank, long)
    how = {"engine": "jax", "draws": "device", "keep": (), "precision": precision}
    ways = {
        "scan": scan(policy, problem, 1, short, Options(0, (), "device", precision)),
        "short": run(policy, problem, 1, how | {"rounds": short}),
        "long": run(policy, problem, 1, how | {"rounds": long}),
        "phi": one_pass(policy.surrogate.groups[0].features.phi.astype(precision), short),
    }
    times = in_turns(ways, options.turns)
    total = (times["long"] - times["short"]) / (long - short)
    each = [times["scan"] / short, total, times["phi"] / short]
    row = "".join(f"{1e6 * t:9.1f}" for t in each)
    print(f"{arms:12,} arms, {precision:9}{row}{times['short'] - short * total:9.2f}", flush=True)


def many_arms(arms, rank, horizon):
    """Features drawn at random: what a round costs depends on their number alone."""
    rng = np.random.default_rng(0)
    phi = rng.random((arms, rank)) - 0.5
    phi /= np.sqrt(np.vecdot(phi, phi))[:, None]
    X = np.linspace(0, 1, arms)[:, None]
    kernel = sb.SquaredExponential(0.2)
    f, g = phi[:, 0], phi[:, 1]
    problem = sb.problems.Problem(X, kernel, f, g, 0.1, 1.0, 1.0, 0.1)
    factors = [Features(phi.T.copy(), np.ones(arms), np.arange(rank), 0.0)]
    return sb.CKB(**problem.settings(), horizon=horizon, factors=factors), problem


def scan(policy, problem, trials, count, options):
    """The compiled rounds alone, from a state and with numbers that are on the device already."""
    engine = JaxEngine(policy, problem, count, options)
    numbers = np.arange(trials, dtype=np.uint64)
    state = [engine.start(Stage(policy, 0, float("inf")), trials, None)]

    def play():
        state[0], seen = engine.play(state[0], numbers, 0, count)
        jax.block_until_ready((state[0], seen))

    return play


def one_pass(phi, count):
    """Phi q, again and again: the least that a round can take."""

    @jax.jit
    def passes(phi, q):
        return jax.lax.scan(lambda q, _: (q + 1e-9 * (phi @ q)[: len(q)], None), q, None, count)[0]

    def work():
        with jax.enable_x64(True):
            jax.block_until_ready(passes(phi, q))

    with jax.enable_x64(True):
        phi, q = jax.device_put(phi), jax.device_put(np.ones(phi.shape[1], dtype=phi.dtype))
    return work


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


PARTS = {part.__name__: part for part in (rounds, compile, auto, gpu)}

if __name__ == "__main__":
    main()
