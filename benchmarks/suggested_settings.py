"""Count how often the settings that `suggest_settings` returns are right: `python benchmarks/suggested_settings.py`."""

import numpy as np

import softbandit as sb
from softbandit.theory import features, norm_on_arms

PROBLEMS = 40
FAMILIES = {"1 dimension": {}, "2 dimensions": {"dimension": 2, "kernel": sb.Matern(0.3)}}


def main():
    print("100 arms, 40 random problems each; histories without a point that meets the limit are refused")
    header = ("history", "refused", "noise +-30%", "bound holds", "bound / norm", "margin exists")
    print(f"{header[0]:34}" + "".join(f"{name:>14}" for name in header[1:]))
    for family, settings in FAMILIES.items():
        problems = [sb.problems.rkhs(seed=1000 + s, **settings) for s in range(PROBLEMS)]
        for rounds in (30, 60, 120):
            print_row(f"{family}, {rounds} random rounds", problems, random_history, rounds)
        print_row(f"{family}, 120 of Autopilot", problems, autopilot_history, 120)


def random_history(problem, rounds, seed):
    rng = np.random.default_rng([seed, 7])
    arms = rng.integers(len(problem.arms), size=rounds)
    noise = problem.noise * rng.standard_normal((rounds, 2))
    return problem.arms[arms], problem.reward[arms] + noise[:, 0], problem.cost[arms] + noise[:, 1]


def autopilot_history(problem, rounds, seed):
    trace = sb.simulate(sb.Autopilot(problem.arms, horizon=rounds), problem, seed=seed)
    return problem.arms[trace.arms[0]], trace.rewards[0], trace.costs[0]


def print_row(name, problems, history, rounds):
    judged = [judge(problem, history(problem, rounds, seed)) for seed, problem in enumerate(problems)]
    known = [row for row in judged if row is not None]
    noise, ratios = (np.concatenate([row[i] for row in known]) for i in range(2))
    margins = np.mean([row[2] for row in known])
    print(f"{name:34}{len(judged) - len(known):14}{np.mean(np.abs(noise - 1) < 0.3):14.0%}", end="")
    print(f"{np.mean(ratios >= 1):14.0%}{np.median(ratios):14.2f}{margins:14.0%}", flush=True)


def judge(problem, history):
    """Return noise / true noise and bound / true norm of both outputs, and whether the margin exists."""
    try:
        s = sb.suggest_settings(history)
    except sb.InfeasibleError:
        return None
    norms = [
        norm_on_arms(features(kernel, problem.arms), values)[0]
        for kernel, values in ((s["kernel"], problem.reward), (s["cost_kernel"][0], problem.cost))
    ]
    noise = np.array([s["noise"], s["cost_noise"]]) / problem.noise
    return noise, np.array([s["reward_bound"], s["cost_bound"]]) / norms, s["slater"] <= -problem.cost.min()


if __name__ == "__main__":
    main()
