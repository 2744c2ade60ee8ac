"""The tight width: `python benchmarks/widths.py [factor] [dual_form] [misjudged] [coverage]`

The problems differ from those of the experiments: other kernels, dimensions, noise levels and seeds.
"""

import argparse
import math

import numpy as np
from scipy.stats import binomtest

import softbandit as sb
from softbandit.backend import POLICY, PROBLEM, draw

ROUNDS, INSTANCES = 2000, 12
FACTORS = ("default", 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
FAMILIES = {
    "squared exponential 0.2": {},
    "noise 0.5": {"noise": 0.5},
    "noise 0.02": {"noise": 0.02},
    "Matern 5/2, 0.2": {"kernel": sb.Matern(0.2)},
    "Matern 3/2, 0.3, 2-D": {"kernel": sb.Matern(0.3, nu=1.5), "dimension": 2},
    "squared exponential 0.4, 3-D": {"lengthscale": 0.4, "dimension": 3},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", default=list(PARTS))
    for part in parser.parse_args().part:
        print(f"\n{PARTS[part].__doc__}")
        PARTS[part]()


def problems(family, first=20_000):
    """Return the instances of a family."""
    return [sb.problems.rkhs(**{"noise": 0.1, **FAMILIES[family]}, seed=first + i) for i in range(INSTANCES)]


def penalised_regret(policies):
    """Return R_+ + (phi* + 1) V at the end of each run of (policy, problem), by label."""
    traces = sb.sweep(policies, engine="numpy", keep=["arms"])
    return {label: _penalised(trace, policies[label][1]) for label, trace in traces.items()}


def _penalised(trace, problem):
    scores = sb.score(trace, problem)
    price = float(sb.theory.optimal_dual(problem.reward, problem.cost).price[0])
    return scores.strong_regret[0, -1] + (price + 1) * scores.violation[0, -1]


def with_factor(problem, c, **settings):
    """Return CKB with tight widths, and lambda = R^2 / (c B^2) of each output, or the default."""
    if c == "default":
        return sb.CKB(**problem.settings(), horizon=ROUNDS, width="tight", **settings)
    lambdas = [problem.noise**2 / (c * bound**2) for bound in (problem.reward_bound, problem.cost_bound)]
    return sb.CKB(**problem.settings(), horizon=ROUNDS, width="tight", regularisation=lambdas, **settings)


def factor():
    """c in lambda = R^2 / (c B^2): median of R_+ + (phi* + 1) V over 12 instances at T = 2,000."""
    print(f"{'':30}{'':10}" + "".join(f"{c:>9}" for c in FACTORS))
    logs = []
    for explore in ("ucb", "ts", "rand"):
        for family in FAMILIES:
            runs = {(c, i): (with_factor(problem, c, explore=explore), problem)
                    for i, problem in enumerate(problems(family)) for c in FACTORS}  # fmt: skip
            result = penalised_regret(runs)
            medians = [np.median([result[c, i] for i in range(INSTANCES)]) for c in FACTORS]
            logs.append(np.log(np.array(medians) / min(medians)))
            print(f"{family:30}{explore:10}" + "".join(f"{value:9.0f}" for value in medians), flush=True)
    ratios = np.exp(np.mean(logs, axis=0))
    print(f"{'geometric mean, to the best':40}" + "".join(f"{ratio:9.2f}" for ratio in ratios))


def misjudged():
    """Bounds or noise given as half of the truth: median of R_+ + (phi* + 1) V over 12 instances, UCB, T = 2,000."""
    wrong = {"as they are": {}, "B, G / 2": {"reward_bound": 0.5, "cost_bound": 0.5}, "R / 2": {"noise": 0.5},
             "R / 5": {"noise": 0.2}}  # fmt: skip
    print(f"{'':30}{'':14}{'theory':>10}{'tight':>10}")
    for family in FAMILIES:
        for name, shares in wrong.items():
            runs = {}
            for i, problem in enumerate(problems(family, first=30_000)):
                settings = problem.settings()
                settings |= {key: share * np.asarray(settings[key]) for key, share in shares.items()}
                for width in ("theory", "tight"):
                    runs[width, i] = sb.CKB(**settings, horizon=ROUNDS, width=width), problem
            result = penalised_regret(runs)
            medians = [np.median([result[width, i] for i in range(INSTANCES)]) for width in ("theory", "tight")]
            print(f"{family:30}{name:14}{medians[0]:10.0f}{medians[1]:10.0f}", flush=True)


def dual_form():
    """A minimum over two or seven lambdas at each arm, in place of one: CKB-UCB on 12 instances at T = 2,000.

    Half-widths are at the arms played, over those of one lambda.
    """
    print(f"{'':30}{'one':>10}{'two':>10}{'seven':>10}{'half-width':>12}")
    for family in FAMILIES:
        rows = np.array([compare_forms(problem, seed) for seed, problem in enumerate(problems(family))])
        one, two, several, share = np.median(rows, axis=0)
        print(f"{family:30}{one:10.0f}{two:10.0f}{several:10.0f}{share:12.3f}", flush=True)


def compare_forms(problem, seed):
    """Return R_+ + (phi* + 1) V with one, two and seven lambdas, and the ratio of half-widths on the last run."""
    lam = float(with_factor(problem, "default").model.groups[0].regularisation)
    c = problem.noise**2 / (lam * problem.reward_bound**2)
    one, _ = run_form(problem, [c], seed)
    two, _ = run_form(problem, [c, c / 10], seed)
    several, share = run_form(problem, [c, *(c * 10 ** (j / 2) for j in (-4, -3, -2, -1, 1, 2))], seed)
    return one, two, several, share


def run_form(problem, factors, seed):
    """Run Algorithm 1 with the smallest upper bound over lambda = R^2 / (c B^2), c among the factors, at each arm."""
    rng, phi = np.random.default_rng(seed), sb.theory.features(problem.kernel, problem.arms).phi
    bounds, R, T = [problem.reward_bound, problem.cost_bound], problem.noise, ROUNDS
    truth, rho = [problem.reward, problem.cost], 4 * problem.reward_bound / problem.slater
    price, V = 0.0, bounds[1] * math.sqrt(T) / rho
    outer, linear, squares = np.zeros((phi.shape[1],) * 2), np.zeros((2, phi.shape[1])), np.zeros(2)
    arms, shares = [], []
    for _ in range(T):
        eigenvalues, basis = np.linalg.eigh(outer)
        rotated = phi @ basis
        bars, halves = [], []
        for i, sign in enumerate((1.0, -1.0)):
            target = sign * (basis.T @ linear[i])
            up = upper_bounds(np.maximum(eigenvalues, 0), rotated, target, squares[i], bounds[i], R, factors)
            bars.append(sign * np.clip(up.min(axis=0), -bounds[i], bounds[i]))
            halves.append((up.min(axis=0), up[0]))
        x = int(np.argmax(bars[0] - price * bars[1]))
        mean = rotated[x] @ (basis.T @ linear[0] / (eigenvalues + R**2 / (factors[0] * bounds[0] ** 2)))
        shares.append((halves[0][0][x] - mean) / (halves[0][1][x] - mean))
        price = min(max(price + bars[1][x] / V, 0.0), rho)
        y = np.array([f[x] for f in truth]) + R * rng.standard_normal(2)
        outer, linear, squares = outer + np.outer(phi[x], phi[x]), linear + y[:, None] * phi[x], squares + y**2
        arms.append(x)
    regret = T * sb.randomized_optimum(problem.reward, problem.cost).value - problem.reward[arms].sum()
    optimal = float(sb.theory.optimal_dual(problem.reward, problem.cost).price[0])
    return regret + (optimal + 1) * max(0.0, problem.cost[arms].sum()), float(np.mean(shares))


def upper_bounds(eigenvalues, rotated, target, squares, B, R, factors):
    """Return mu + sigma sqrt((Q - least(lambda)) / lambda + B^2) over the arms, for each lambda.

    Q bounds the sum of squared errors of the true function: that of the first factor's mixture, valid for all lambdas.
    """
    rows, Q = [], None
    for c in factors:
        lam = R**2 / (c * B**2)
        least = squares - np.sum(target**2 / (eigenvalues + lam))  # of the ridge objective
        if Q is None:
            Q = least + R**2 * (np.sum(np.log1p(eigenvalues / lam)) + 2 * math.log(2 / 0.1))
        inverse = 1 / (eigenvalues + lam)
        radius = max(Q - least + lam * B**2, 0.0)
        rows.append(rotated @ (inverse * target) + np.sqrt(radius * (rotated**2 @ inverse)))
    return np.array(rows)


def coverage(trials=100, instances=20, rounds=200):
    """Runs in which some error |h - mu| exceeds the width at some arm in some round, of 2,000; alpha = 0.1.

    The p-value is of an exact binomial test that the failure probability is at most alpha. Scaled widths have
    no guarantee: they show that the count can see a width that is too narrow.
    """
    print(f"{'explore':9}{'lambda':>14}{'width':>8}{'failures':>10}{'p-value':>10}")
    for explore in ("ucb", "ts", "rand"):
        for c in ("default", 0.01, 0.1, 1.0):
            for scale in (1.0, 0.3):
                failures = sum(count_failures(seed, explore, c, scale, trials, rounds) for seed in range(instances))
                test = binomtest(failures, trials * instances, 0.1, alternative="greater")
                name = c if c == "default" else f"R^2/({c:g} B^2)"
                print(f"{explore:9}{name:>14}{scale:8g}{failures:10}{test.pvalue:10.3g}", flush=True)


def count_failures(seed, explore, c, scale, trials, rounds):
    """Return the number of trials in which an interval fails; bounds are the functions' norms, the noise Gaussian."""
    problem = sb.problems.rkhs(arms=25, noise=0.5, seed=40_000 + seed)
    policy = with_factor(problem, c, explore=explore, width_scale=scale)
    truth = np.stack([problem.reward, problem.cost])
    state, failed = policy.init(trials), np.zeros(trials, dtype=bool)
    draws = draw(policy.draws(), seed, range(trials), 0, rounds, POLICY)
    noise = draw(problem.draws(), seed, range(trials), 0, rounds, PROBLEM)
    for policy_draws, problem_draws in zip(draws.rounds(), noise.rounds(), strict=True):
        mean, half = policy.model.confidence(state.posterior, state.round + 1)
        failed |= (np.abs(truth - mean) > half + 1e-12).any(axis=(1, 2))
        choice = policy.decide(state, policy_draws)
        state = policy.update(state, choice, *problem.observe(choice.arm, problem_draws))
    return int(failed.sum())


PARTS = {part.__name__: part for part in (factor, dual_form, misjudged, coverage)}

if __name__ == "__main__":
    main()
