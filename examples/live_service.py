"""A service tunes itself: feedback comes late and out of order, and the process restarts halfway.

Reward is minus the cost of the machines; the constraint is that at most 5% of requests are slow.
"""

import numpy as np

import softbandit as sb

LIMIT = 0.05
rng = np.random.default_rng(0)
replicas, cpu = np.arange(1, 11), np.array([0.5, 1.0, 2.0, 4.0])
configurations = np.array([[r, c] for r in replicas for c in cpu])
features = configurations / configurations.max(axis=0)


def serve(replicas, cpu):
    """Return the money spent in one interval, and the share of requests that were slow."""
    load = 12.0 / (replicas * (0.5 + cpu))
    slow = 1 / (1 + np.exp(-6 * (load - 1.2)))
    return 0.05 * replicas * (0.4 + cpu), rng.binomial(200, slow) / 200


policy = sb.CKB(
    features,
    sb.Matern(0.4),
    explore="rand",
    reward_bound=3,
    cost_bound=1,
    noise=0.05,
    horizon=1200,
    slater=LIMIT,
    slack=0.01,  # aim at 4%, to compensate for violations while learning
    width_scale=0.1,
)
agent = sb.Agent(policy, seed=0)
waiting, money, slow = [], [], []

for interval in range(1200):
    decision = agent.ask()
    waiting.append((decision, *serve(*configurations[decision.arm])))
    if len(waiting) == 3:  # the measurements of three intervals arrive together, the latest first
        for decision, spent, share in reversed(waiting):
            agent.tell(decision, reward=-spent, cost=share - LIMIT)
            money.append(spent)
            slow.append(share)
        waiting.clear()
    if interval == 600:  # a deployment: the process ends, and another takes over
        agent.save("service.npz")
        agent = sb.Agent.load("service.npz")

print(f"first 100 intervals: {np.mean(money[:100]):.2f} spent, {np.mean(slow[:100]):.1%} slow")
print(f"last 100 intervals:  {np.mean(money[-100:]):.2f} spent, {np.mean(slow[-100:]):.1%} slow")
print(f"all intervals:       {np.mean(money):.2f} spent, {np.mean(slow):.1%} slow (limit {LIMIT:.0%})")
print("last choice:         {:.0f} replicas with {:g} CPU each".format(*configurations[decision.arm]))
