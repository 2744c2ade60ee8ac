"""The compiled engine on an accelerator, with many trials or very many arms: `python benchmarks/gpu.py [trials|arms]`

Microseconds per round (of all trials) and per trial-round, from the first progress report to the last: compilation and
start-up are not counted. Random numbers are generated on the device, and only the arms are fetched, which are all that
`score` needs. Seconds to compile are those of the rounds' program. `Phi q` is the time of a bare product with the
features, in the same precision and repeated alone: every round must do at least that.
"""

import sys
import time

import jax
import numpy as np
from stopwatch import seconds

import softbandit as sb
from softbandit.theory import Features

BOUNDS = {"reward_bound": 2.0, "cost_bound": 2.0, "noise": 0.1, "slater": 0.5}


def main():
    parts = sys.argv[1:] or ["trials", "arms"]
    print(f"jax {jax.__version__} on {jax.devices()[0].device_kind}")
    if "trials" in parts:
        many_trials()
    if "arms" in parts:
        many_arms(10**6, 64, ("float64", "float32"), ("ucb", "rand", "ts"))
        many_arms(10**7, 64, ("float32",), ("ucb",))


def many_trials():
    problem = sb.problems.rkhs(seed=3, lengthscale=0.25)
    print(f"\n{'100 arms':10}{'rank':>6}{'trials':>8}{'us per round':>14}{'us per trial-round':>20}{'to compile':>12}")
    for explore in ("ucb", "rand", "ts"):
        policy = sb.CKB(**problem.settings(), horizon=8192, explore=explore)
        rank = policy.model.groups[0].features.rank
        for trials in (1000, 10_000):
            compiling, us = timed(policy, problem, trials, "float64")
            row = f"{rank:6}{trials:8,}{us:14.1f}{us / trials:20.4f}{compiling:10.1f} s"
            print(f"ckb-{explore:6}{row}", flush=True)


def many_arms(arms, rank, precisions, explorations):
    """Time CKB with a kernel of that rank: cosine features of random frequencies, scaled so that k(x, x) <= 1."""
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, arms)
    basis = np.cos(np.outer(rng.uniform(0, 40, rank), x) + rng.uniform(0, 6, (rank, 1))) / np.sqrt(rank)
    features = Features(basis, np.einsum("ij,ij->j", basis, basis), np.arange(rank), 0.0)
    kernel = sb.SquaredExponential(0.2)
    problem = sb.problems.Problem(x[:, None], kernel, np.sin(5 * x), x - 0.6, **BOUNDS)
    columns = f"{'us per round':>14}{'Phi q':>8}{'GB of Phi':>11}{'to compile':>12}"
    print(f"\n{arms:<16,}{'arms, rank':>11}{columns}")
    for precision in precisions:
        phi = basis.astype(precision)
        product, size = product_microseconds(phi), phi.nbytes / 1e9
        for explore in explorations:
            policy = sb.CKB(**problem.settings(), horizon=4096, width_scale=0.2, factors=[features], explore=explore)
            compiling, us = timed(policy, problem, 1, precision)
            row = f"{us:14.1f}{product:8.1f}{size:11.2f}{compiling:10.1f} s"
            print(f"ckb-{explore:6}{precision:>9}{rank:8}{row}", flush=True)


def timed(policy, problem, trials, precision):
    """Return seconds to trace and compile the rounds, and microseconds per round in the fastest of three runs."""

    def run():
        times, done = [], []

        def progress(rounds):
            times.append(time.perf_counter())
            done.append(rounds)

        options = {"engine": "jax", "keep": (), "draws": "device", "precision": precision}
        sb.simulate(policy, problem, trials, progress=progress, **options)
        return (times[-1] - times[0]) / sum(done[1:])

    compiling = []

    def listen(event, duration, **details):
        if event.startswith("/jax/core/compile/") and "play" in str(details.get("fun_name")):
            compiling.append(duration)

    jax.monitoring.register_event_duration_secs_listener(listen)
    run()
    jax.monitoring.unregister_event_duration_listener(listen)
    return sum(compiling), 1e6 * min(run() for _ in range(3))


def product_microseconds(basis, count=200):
    """Return the time of q^T Phi^T on the device."""

    @jax.jit
    def products(phi, q):
        return jax.lax.scan(lambda q, _: (q + 1e-9 * (q @ phi)[: len(q)], None), q, length=count)[0]

    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        phi, q = jax.device_put(basis), jax.device_put(np.ones(len(basis), dtype=basis.dtype))
        fastest = min(seconds(lambda: jax.block_until_ready(products(phi, q))) for _ in range(4))
    return 1e6 * fastest / count


if __name__ == "__main__":
    main()
