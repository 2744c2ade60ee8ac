"""The compiled engine on an accelerator: many trials, and very many arms. `python benchmarks/gpu.py [trials|arms]`

Microseconds a round (all trials of it), and a trial and round; compilation is paid before the clock starts. Draws are
made on the device, and only the arms come back: they are all that `score` needs.
"""

import sys
import time

import jax
import numpy as np

import softbandit as sb

BOUNDS = {"reward_bound": 2.0, "cost_bound": 2.0, "noise": 0.1, "slater": 0.5}


def main():
    parts = sys.argv[1:] or ["trials", "arms"]
    print(f"jax {jax.__version__} on {jax.devices()[0].device_kind}")
    if "trials" in parts:
        many_trials()
    if "arms" in parts:
        many_arms(10**6, 64, "float64")
        many_arms(10**7, 64, "float32")


def many_trials():
    problem = sb.problems.rkhs(seed=3, lengthscale=0.25)
    for explore in ("ucb", "rand", "ts"):
        policy = sb.CKB(**problem.settings(), horizon=8192, explore=explore)
        rank = policy.surrogate.groups[0].features.phi.shape[1]
        for trials in (1000, 10_000):
            first, us = timed(policy, problem, trials, "float64")
            print(
                f"ckb-{explore:5} 100 arms, rank {rank}, {trials:6,} trials: {us:9.1f} us a round, "
                f"{us / trials:.4f} us a trial-round (first call {first:.1f} s)",
                flush=True,
            )


def many_arms(arms, rank, precision):
    """A kernel of that rank: cosine features of random frequencies, scaled so that k(x, x) <= 1."""
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, arms)
    phi = np.cos(np.outer(x, rng.uniform(0, 40, rank)) + rng.uniform(0, 6, rank)) / np.sqrt(rank)
    features = sb.features.Features(phi.T.copy(), np.einsum("ij,ij->i", phi, phi), np.arange(rank), 0.0)
    kernel = sb.SquaredExponential(0.2)
    problem = sb.problems.Problem(x[:, None], kernel, np.sin(5 * x), x - 0.6, **BOUNDS)
    policy = sb.CKB(**problem.settings(), horizon=4096, width_scale=0.2, factors=[features])
    first, us = timed(policy, problem, 1, precision)
    size = phi.size * np.dtype(precision).itemsize
    print(
        f"ckb-ucb {arms:,} arms, rank {rank}, {precision}: {us:.0f} us a round (features of {size / 1e9:.2f} GB read "
        f"once: {size / us / 1e6:.2f} TB/s; first call {first:.1f} s)",
        flush=True,
    )


def timed(policy, problem, trials, precision):
    """Seconds of the first call, and microseconds a round between the first report of progress and the last."""

    def seconds():
        at, done = [], []

        def note(rounds):
            at.append(time.perf_counter())
            done.append(rounds)

        begun = time.perf_counter()
        how = {"engine": "jax", "keep": (), "draws": "device", "precision": precision}
        sb.simulate(policy, problem, trials, progress=note, **how)
        return at[-1] - begun, (at[-1] - at[0]) / sum(done[1:])

    first, _ = seconds()
    return first, 1e6 * min(seconds()[1] for _ in range(3))


if __name__ == "__main__":
    main()
