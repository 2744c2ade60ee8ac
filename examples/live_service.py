"""A service tunes itself: feedback comes late and out of order, and the process restarts halfway.

Reward is minus the cost of the machines; the limit is that at most 10% of requests are slow, on average.
"""

import tempfile
from pathlib import Path

import numpy as np

import softbandit as sb

LIMIT = 0.10
REQUESTS = 200  # measured per interval
CONFIGURATIONS = np.array([[replicas, cpu] for replicas in range(3, 11) for cpu in (1.0, 2.0, 4.0)])


def serve(replicas, cpu, rng):
    """Return the money spent in one interval, and the share of requests that were slow."""
    load = 12.0 / (replicas * (0.5 + cpu))
    slow = 1 / (1 + np.exp(-6 * (load - 1.2)))
    return 0.05 * replicas * (0.4 + cpu), rng.binomial(REQUESTS, slow) / REQUESTS


def restarted(agent):
    """Return the agent as another process would load it."""
    with tempfile.TemporaryDirectory() as folder:
        agent.save(Path(folder) / "service.npz")
        return sb.Agent.load(Path(folder) / "service.npz")


def run(seed=0, rounds=600, configurations=CONFIGURATIONS, limit=LIMIT):
    """Return the agent after that many intervals."""
    rng = np.random.default_rng(seed)
    agent = sb.Agent(sb.Autopilot(configurations, horizon=rounds), seed=seed)
    waiting = []
    for interval in range(rounds):
        decision = agent.ask()
        waiting.append((decision, *serve(*decision.x, rng)))
        if len(waiting) == 3:  # the measurements of three intervals arrive together, the latest first
            for decision, spent, slow in reversed(waiting):
                agent.tell(decision, reward=-spent, cost=slow - limit)
            waiting.clear()
        if interval == rounds // 2:  # a deployment: the process ends, and another takes over
            agent = restarted(agent)
    return agent


def main():
    agent = run()
    money, slow = -agent.record.rewards, agent.record.costs[:, 0] + LIMIT
    for name, part in (("first 50", slice(50)), ("last 100", slice(-100, None)), ("all 600", slice(None))):
        print(f"{name:9} intervals: {money[part].mean():.2f} spent, {slow[part].mean():.1%} slow")
    print(f"The limit is {LIMIT:.0%}. To keep, if it must be one configuration:")
    keep = agent.recommend()
    print("  {:.0f} replicas with {:g} CPU each".format(*keep.x), end="")
    print(f": {-keep.reward:.2f} spent, {keep.cost + LIMIT:.1%} slow by the estimates")


if __name__ == "__main__":
    main()
