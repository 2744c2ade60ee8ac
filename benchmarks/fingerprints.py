"""Hash what every policy does on ten fixed problems, on both engines: a refactoring must leave the hashes as they are.

    python benchmarks/fingerprints.py > before.txt             # with the old code
    python benchmarks/fingerprints.py --against before.txt     # with the new code: prints what differs, if anything

A hash covers the arms, observations, estimates and duals of every round to the last bit, so the two
runs must be on the same machine with the same NumPy and JAX. Only public names are used.
"""

import argparse
import hashlib
import sys
import warnings

import numpy as np
from seeds import seed_settings

import softbandit as sb

ROUNDS, TRIALS, SEED = 300, 3, 11
COLUMNS = ("arms", "rewards", "costs", "dual", "reward_estimates", "cost_estimates")

PROBLEMS = {
    "rkhs": lambda: sb.problems.rkhs(seed=1),
    "rkhs, feasible maximiser": lambda: sb.problems.rkhs(seed=4),
    "rkhs, two constraints": lambda: sb.problems.rkhs(seed=5, constraints=2),
    "rkhs, three dimensions": lambda: sb.problems.rkhs(arms=150, dimension=3, kernel=sb.Matern(0.5), seed=2),
    "rkhs, heavy tails": lambda: sb.problems.rkhs(law="student", noise=0.3, seed=3),
    "rkhs, uniform noise": lambda: sb.problems.rkhs(law="uniform", arms=37, seed=8),
    "sensors": lambda: sb.problems.sensors("stand-in"),
    "stocks": lambda: sb.problems.stocks("stand-in", kernel="covariance"),
    "cloud": sb.problems.cloud,
    "wireless": sb.problems.wireless,
}

VARIANTS = {
    **{name: (name, {}) for name in sb.baselines.POLICIES},
    "ckb, queue with slack": ("ckb", {"dual": "queue", "slack_share": 0.1, "ties": "first"}),
    "ckb, other cost kernel": ("ckb-ts", {"cost_kernel": "matern"}),
    "ckb, rand for the reward only": ("ckb", {"explore": "rand", "explore_cost": "ucb", "width_scale": 0.2}),
    "ckb, truncated": ("ckb", {"explore": sb.RandUCB(sb.TruncatedGaussian()), "width_scale": 0.2}),
    "ckb, uniform discrete": ("ckb", {"explore": sb.RandUCB(sb.UniformDiscrete()), "width_scale": 0.2}),
    "ckb, greedy": ("ckb", {"explore": "greedy"}),
    "ckb, width by round": ("ckb", {"width": lambda t: 0.5 + 1 / t}),
    "safeopt, Lipschitz": ("safeopt", {"lipschitz": "arms", "width_scale": 0.5}),
}


def settings_for(name, problem):
    """Settings of a variant on one problem, with words replaced by values."""
    policy, settings = VARIANTS[name]
    settings = {**problem.settings(), "horizon": ROUNDS, **settings, **seed_settings(policy, problem)}
    if settings.get("cost_kernel") == "matern":
        settings["cost_kernel"] = problem.kernel if isinstance(problem.kernel, sb.Tabular) else sb.Matern(0.4)
    if "slack_share" in settings:
        settings["slack"] = settings.pop("slack_share") * problem.slater
    if policy == "ckb-doubling":
        settings["horizon"] = 40
    return policy, settings


def fingerprint(trace):
    digest = hashlib.sha256()
    for column in COLUMNS:
        digest.update(np.ascontiguousarray(getattr(trace, column)).tobytes())
    return digest.hexdigest()[:16]


def run(policy, problem, engine):
    """The hash of one run, or the name of the error it ends in."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fingerprint(sb.simulate(policy, problem, TRIALS, SEED, engine, rounds=policy.horizon or ROUNDS))
    except sb.SoftbanditError as error:
        return type(error).__name__


def finite_rows(engines):
    for problem_name, make in PROBLEMS.items():
        problem = make()
        for name in VARIANTS:
            policy_name, settings = settings_for(name, problem)
            policy = sb.baselines.make(policy_name, **settings)
            for engine in engines:
                yield f"{problem_name} | {name} | {engine}", run(policy, problem, engine)


def space_rows():
    boxes = {
        "box": sb.problems.rkhs_on(sb.Box([0, 0], [1, 1]), seed=1),
        "box, Matern": sb.problems.rkhs_on(sb.Box(0, 1), kernel=sb.Matern(0.3), seed=2, constraints=2),
        "branin": sb.problems.standard("branin"),
        "speed reducer": sb.problems.standard("speed-reducer"),
    }
    for problem_name, problem in boxes.items():
        settings = {**problem.settings(), "horizon": 30}
        policies = {explore: sb.CKB(**settings, explore=explore) for explore in ("ucb", "ts", "rand", "greedy")}
        policies["budget"] = sb.CKB(**settings, budget=8)
        policies["other cost kernel"] = sb.CKB(**settings, cost_kernel=0.5 * sb.Matern(0.5) + 0.5 * sb.Matern(1.0))
        policies["autopilot"] = sb.Autopilot(problem.arms, constraints=problem.constraints, horizon=30)
        for name, policy in policies.items():
            yield f"{problem_name} | {name} | numpy", run(policy, problem, "numpy")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", help="a file that an earlier run printed")
    parser.add_argument("--engines", nargs="+", default=["numpy", "jax"])
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), help="finite problems to run")
    options = parser.parse_args()
    for name in set(PROBLEMS) - set(options.problems):
        del PROBLEMS[name]
    earlier = {}
    if options.against:
        with open(options.against) as file:
            earlier = dict(line.rstrip("\n").split("\t") for line in file if not line.startswith("#"))
    count, different = 0, []
    for rows in (space_rows(), finite_rows(options.engines)):
        for row, found in rows:
            print(f"{row}\t{found}", flush=True)
            count += 1
            if earlier and earlier.get(row) != found:
                different.append(row)
    if earlier:
        print(f"# {count} runs, {len(different)} differ from {options.against}", file=sys.stderr)
        print("\n".join(f"# differs: {row}" for row in different), file=sys.stderr)
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
