"""Continuous domains: time per round, accuracy of the search and of the budget, and runs against other methods.

`python benchmarks/continuous.py [part ...]`. BoTorch is measured if it is installed.
"""

import argparse
import itertools
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import median
from unittest.mock import patch

import numpy as np
from continuous_methods import RUNS, moments
from stopwatch import seconds

import softbandit as sb
from softbandit.domains import search
from softbandit.gp.exact import Exact
from softbandit.gp.nystrom import Budgeted

DIMENSION, LENGTHSCALE, HORIZON = 6, 0.5, 11_000
SETTINGS = {"reward_bound": 3, "cost_bound": 3, "noise": 0.1, "horizon": HORIZON, "slater": 0.5, "width_scale": 0.2}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", default=[*PARTS])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1, help="processes for `problems`")
    arguments = parser.parse_args()
    for part in arguments.part:
        print(f"\n{PARTS[part].__doc__.splitlines()[0]}", flush=True)
        PARTS[part](arguments)


def truth(X):
    return np.stack([np.sin(3 * X).sum(axis=1) / 3, X[:, 0] - 0.5], axis=1)


def history(rounds, seed=0):
    """Return points like those of a run, some spread out and most around a good one, and the outputs there."""
    rng = np.random.default_rng(seed)
    spread, clustered = rng.random((rounds, DIMENSION)), 0.4 + 0.15 * rng.standard_normal((rounds, DIMENSION))
    X = np.clip(np.where(rng.random((rounds, 1)) < 0.3, spread, clustered), 0, 1)
    return X, truth(X) + 0.1 * rng.standard_normal((rounds, 2))


def agent_after(rounds, **settings):
    """Return an agent in 6 dimensions after that many rounds of history."""
    box = sb.Box([0] * DIMENSION, [1] * DIMENSION)
    policy = sb.CKB(box, sb.Matern(LENGTHSCALE), **SETTINGS, **settings)
    posterior = policy.model.prior(1)
    for x, y in zip(*history(rounds), strict=True):
        posterior = policy.model.condition(posterior, x[None], y[None])
    agent = sb.Agent(policy)
    state = policy.init(1)._replace(round=rounds, posterior=posterior, dual=np.array([[0.3]]))
    agent._now = agent._now._replace(round=rounds, state=state)
    return agent


def ask_and_tell(agent):
    decision = agent.ask()
    agent.tell(decision, *truth(decision.x[None])[0])


def timing(_):
    """Milliseconds of ask + tell in 6 dimensions, Matern 5/2 (median of 15 rounds)."""
    for rounds, budget in ((500, None), (1000, None), (3000, None), (1000, 512), (10_000, 512)):
        for explore in ("ucb", "ts"):
            agent = agent_after(rounds, explore=explore, budget=budget)
            ask_and_tell(agent)  # imports scipy
            times = [seconds(ask_and_tell, agent) for _ in range(15)]
            cpu_times = [seconds(ask_and_tell, agent, clock=time.process_time) for _ in range(15)]
            name = "exact" if budget is None else f"budget {budget}"
            wall, cpu = 1e3 * median(times), 1e3 * median(cpu_times)
            print(f"round {rounds:6,}  {name:11} {explore:4} {wall:7.1f} ms  (CPU time {cpu:.1f} ms)", flush=True)


def autopilot(_):
    """Milliseconds of Autopilot's ask + tell in 6 dimensions (median of 15 rounds), and of its longest tell so far."""
    box, rng = sb.Box([0] * DIMENSION, [1] * DIMENSION), np.random.default_rng(0)
    agent, times, tells = sb.Agent(sb.Autopilot(box, horizon=2000)), [], []
    for t in range(1, 2001):
        started = time.process_time()
        decision = agent.ask()
        asked = time.process_time()
        agent.tell(decision, *(truth(decision.x[None])[0] + 0.1 * rng.standard_normal(2)))
        times.append(time.process_time() - started)
        tells.append(time.process_time() - asked)
        if t in (100, 300, 500, 1000, 2000):
            points = len(np.unique(agent.record.points, axis=0))
            usual, longest = 1e3 * median(times[-15:]), 1e3 * max(tells)
            print(f"round {t:6,}  {points:4} points {usual:6.1f} ms   longest tell {longest:4.0f} ms", flush=True)


def grid(arguments):
    """Share of 1,000 rounds in which the maximiser is within C / sqrt(t), C = 0.01 B, of a dense grid's."""
    for box, side in ((sb.Box(0, 1), 2001), (sb.Box([0, 0], [1, 1]), 71)):
        d = box.dimension
        points = np.stack(np.meshgrid(*[np.linspace(0, 1, side)] * d), axis=-1).reshape(-1, d)
        for explore in ("ucb", "rand", "ts"):
            problem = sb.problems.rkhs_on(box, seed=2)
            policy = sb.CKB(**problem.settings(), horizon=1000, explore=explore, width_scale=0.2)
            agent, rng, gaps = sb.Agent(policy), np.random.default_rng(0), []
            for t in range(1, 1001):
                decision = agent.ask()
                gap = agent.acquisition(points).max() - agent.acquisition(decision.x[None])[0]
                gaps.append(gap * np.sqrt(t) / (0.01 * problem.reward_bound))
                agent.tell(decision, *(problem.function(decision.x[None])[0] + 0.1 * rng.standard_normal(2)))
            share = np.mean(np.array(gaps) <= 1)
            print(f"{d}-D {explore:4} {100 * share:6.1f}%   largest gap {max(gaps):8.3g} C / sqrt(t)", flush=True)


def longer(_):
    """Shortfall of our search against a longer one (4 x candidates and starts, up to 10 x steps), 6-D, 30 rounds."""
    thorough = {"CANDIDATES": 2048, "STARTS": 32, "JOINT_STEPS": 300, "ALONE_STEPS": 300}
    for rounds, explore, regularisation in itertools.product((400, 1000), ("ucb", "ts"), (None, 0.01)):
        agent, gaps = agent_after(rounds, explore=explore, regularisation=regularisation), []
        for _ in range(30):
            usual = agent.ask()
            with patch.multiple(search, **thorough):
                better = agent.ask()
            gaps.append(agent.acquisition(better.x[None])[0] - agent.acquisition(usual.x[None])[0])
            agent.tell(usual, *truth(usual.x[None])[0])
        gap = np.array(gaps) / SETTINGS["reward_bound"]
        share = 100 * np.mean(gap <= 1e-4)
        print(
            f"round {rounds:5,}  {explore:4} lambda {regularisation or 1:<5} within 1e-4 B in {share:3.0f}%"
            f"   mean {np.maximum(gap, 0).mean():.1e} B, largest {gap.max():.1e} B",
            flush=True,
        )


def arms(arguments):
    """Strong regret on [0, 1] and on 1,000 arms in it, T = 200 (mean and standard error)."""
    for seed in range(3):
        problem = sb.problems.rkhs_on(seed=seed)
        finite = problem.discretised(np.linspace(0, 1, 1000)[:, None])
        cells = []
        for version in (problem, finite):
            policy = sb.CKB(**version.settings(), horizon=200, width_scale=0.2)
            trace = sb.simulate(policy, version, trials=arguments.seeds, engine="numpy")
            regret = sb.score(trace, version).strong_regret[:, -1]
            cells.append(f"{regret.mean():8.2f} +- {regret.std(ddof=1) / np.sqrt(len(regret)):5.2f}")
        print(f"problem {seed}: continuous {cells[0]}   1,000 arms {cells[1]}", flush=True)


def budget(_):
    """Error of a budget after 2,000 rounds in 6 dimensions, lambda = 1: root mean squares at 500 points."""
    X, Y = history(2000)
    for lengthscale in (0.5, 1.0):
        kernel = sb.Matern(lengthscale)
        exact = Exact.of(kernel, 1.0, X, Y)
        Q = history(500, seed=1)[0]
        mean, std = moments(exact, Q)
        for points in (64, 128, 256, 512, 1024):
            ours = Budgeted(kernel, 1.0, 2, DIMENSION, points)
            for x, y in zip(X, Y, strict=True):
                ours = ours.condition(x, y)
            our_mean, our_std = moments(ours, Q)
            error, ratio = np.sqrt(np.mean((our_mean - mean) ** 2)), our_std / std
            print(
                f"length scale {lengthscale}  budget {points:5}  mean off by {error:.1e} (sigma {std.mean():.2f})"
                f"   sigma x {ratio.min():.3f} to {ratio.max():.3f}",
                flush=True,
            )


def stress(_):
    """10,000 tells of one point, exact posterior, lambda = 1e-6 (400 MB; mean and variance against the formula)."""
    posterior, x, started = Exact(sb.SquaredExponential(0.2), 1e-6, 1, 1), np.array([0.3]), time.perf_counter()
    for _ in range(10_000):
        posterior = posterior.condition(x, np.array([2.0]))
    mean, std = moments(posterior, x[None])
    print(f"mean {mean[0, 0]:.12f} (2), variance {std[0] ** 2:.3e} (1e-10), {time.perf_counter() - started:.0f} s")


def problems(arguments):
    """Standard problems, noise 0.01: mean over seeds. Regret and violation are sums over the rounds, in standard units.

    regret: T times the best feasible point's reward, minus the rewards; violation: sum_i [sum_t g_i]_+; best: the
    optimum minus the reward at the best feasible point played.
    """
    print(f"T = {arguments.rounds}, {arguments.seeds} seeds, the same Matern kernel for all but Autopilot and SCBO")
    print("CKB: 0.1 of the theory's width; calibrated: CKB-UCB with lambda = R^2 and width 2; *: lowest")
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        for name in sb.problems.STANDARD:
            compare(name, arguments, pool)


def compare(name, arguments, pool):
    """Print the rows of one problem."""
    problem, rows = sb.problems.standard(name), {}
    tasks = [(name, policy, arguments.rounds, seed) for policy in RUNS for seed in range(arguments.seeds)]
    points = dict(zip(tasks, pool.map(run, tasks), strict=True))
    for policy in RUNS:
        traces = [X for task, X in points.items() if task[1] == policy]
        if traces[0] is not None:
            rows[policy] = np.mean([summary(problem, X) for X in traces], axis=0)
    print_rows(name, rows)


def run(task):
    name, policy, rounds, seed = task
    return RUNS[policy](sb.problems.standard(name), rounds, seed)


def print_rows(name, rows):
    for j, column in enumerate(("regret", "violation", "best")):
        lowest = min(row[j] for row in rows.values())
        cells = "".join(f"{row[j]:12.3f}{'*' if row[j] <= lowest + 1e-9 else ' '}" for row in rows.values())
        head = "".join(f"{policy:>12} " for policy in rows) if j == 0 else ""
        print(f"{name:14}{'':10}{head}\n{'':14}{column:10}{cells}" if j == 0 else f"{'':14}{column:10}{cells}")
    print(flush=True)


def summary(problem, X):
    """Return regret, violation and the shortfall of the best feasible point."""
    h = problem.function(X)
    f, g = h[:, 0], h[:, 1:]
    feasible = f[(g <= 0).all(axis=1)]
    best = problem.known_best - feasible.max() if len(feasible) else problem.known_best - problem.reward.min()
    return len(X) * problem.known_best - f.sum(), np.maximum(g.sum(axis=0), 0).sum(), max(best, 0.0)


def botorch(_):
    """Round 500 in 6 dimensions: our ask and BoTorch's optimize_acqf, same acquisition, starts and candidates."""
    try:
        import continuous_botorch
    except ImportError as missing:
        print(f"not measured: {missing}")
        return
    agent = agent_after(500)
    ask_and_tell(agent)
    ours, theirs = [], []
    for _ in range(5):
        started = time.perf_counter()
        decision = agent.ask()
        ours.append((time.perf_counter() - started, agent.acquisition(decision.x[None])[0]))
        started = time.perf_counter()
        x = continuous_botorch.maximiser(agent, search.STARTS)
        theirs.append((time.perf_counter() - started, agent.acquisition(x[None])[0]))
        agent.tell(decision, *truth(decision.x[None])[0])
    (a, z_a), (b, z_b) = np.median(ours, axis=0), np.median(theirs, axis=0)
    print(f"ours {1e3 * a:.1f} ms, BoTorch {1e3 * b:.1f} ms: {b / a:.1f}x;  acquisition {z_a:.9f} against {z_b:.9f}")


PARTS = {part.__name__: part for part in (timing, autopilot, grid, longer, arms, budget, stress, problems, botorch)}

if __name__ == "__main__":
    main()
