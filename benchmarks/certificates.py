"""Count how often certificates fail, against what they allow: `python benchmarks/certificates.py [--runs 2000]`.

A certificate must hold at all times at once, so a run fails if it does not hold after any of its rounds. Stopping when
it looks worst, which is also shown, can then fail no more often. The p-value is that of an exact binomial test of
"fails with probability at most alpha".
"""

import argparse
import time

import numpy as np
from scipy.stats import binom

import softbandit as sb
from softbandit.theory import certify_run

ROUNDS, ALPHA = 100, 0.1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    problem = sb.problems.rkhs(arms=30, seed=7, noise=0.3)
    print(f"{runs:,} runs of {ROUNDS} rounds, {problem.name} on 30 arms, noise 0.3, alpha = {ALPHA}: failures\n")
    print(f"{'':32}{'allowed':>8}{'ever':>7}{'p-value':>9}{'when worst':>12}{'p-value':>9}{'seconds':>9}")
    for seed, (name, policy) in enumerate(policies(problem).items()):  # with one seed they would share the noise
        started = time.perf_counter()
        trace = sb.simulate(policy, problem, trials=runs, seed=seed, rounds=ROUNDS, engine="numpy")
        rows = failures(policy, problem, trace)
        seconds = time.perf_counter() - started
        for part, (share, ever, worst) in rows.items():
            text = f"{name + ': ' + part:32}{share * runs:8.0f}"
            for failed, width in ((ever, 7), (worst, 12)):
                text += f"{failed.sum():{width}}{binom.sf(failed.sum() - 1, runs, share):9.2g}"
            print(text + (f"{seconds:9.0f}" if part == "all of it" else ""))

    compare_with_ledger(sb.problems.rkhs(seed=7))


def compare_with_ledger(problem, rounds=500, trials=20):
    """Print the bound on the regret before the run and after it, and the regret itself."""
    print(f"\nR_+ of CKB-UCB after {rounds} rounds, {problem.name}, mean of {trials} runs")
    for width in ("theory", "tight"):
        policy = sb.CKB(**problem.settings(), horizon=rounds, width=width)
        trace = sb.simulate(policy, problem, trials=trials, engine="numpy")
        before, after = (
            policy.guarantees(problem).bound.regret,
            certify_run(policy, trace, rounds=[rounds]).regret.mean(),
        )
        true = sb.score(trace, problem).strong_regret[:, -1].mean()
        print(f"{width:8}ledger {before:6.0f}   certificate {after:5.0f}   true {true:5.0f}")


def policies(problem):
    settings = {**problem.settings(), "horizon": ROUNDS}
    return {
        "CKB-Rand": sb.CKB(**settings, explore="rand"),
        "CKB-UCB, width x 0.1": sb.CKB(**settings, width_scale=0.1),
        "constrained EI": sb.baselines.ConstrainedEI(**settings),
    }


def failures(policy, problem, trace):
    """Return for each part: its share of alpha, which runs ever fail, and which do when the certificate looks worst."""
    certified = certify_run(policy, trace, confidence=ALPHA)
    low, high = np.moveaxis(certified.violation[:, :, 0], -1, 0)
    total, regret = np.cumsum(problem.cost[trace.arms], axis=1), sb.score(trace, problem).strong_regret
    outside, beyond = (total < low) | (total > high), regret > certified.regret
    rows = np.arange(len(total))
    costly, poor = low.argmax(axis=1), certified.regret.argmax(axis=1)  # the adaptive stopping times
    parts = {
        "total cost": (ALPHA / 4, outside.any(axis=1), outside[rows, costly]),
        "regret": (3 * ALPHA / 4, beyond.any(axis=1), beyond[rows, poor]),
    }
    both = zip(parts["total cost"][1:], parts["regret"][1:], strict=True)
    return parts | {"all of it": (ALPHA, *(a | b for a, b in both))}


if __name__ == "__main__":
    main()
