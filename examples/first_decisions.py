"""A radio picks its power: as much throughput as possible, on a limited average energy."""

import numpy as np

import softbandit as sb

BUDGET = 0.4  # average energy a round
power = np.linspace(0, 1, 50)[:, None]
rng = np.random.default_rng(0)

policy = sb.CKB(
    power,
    sb.SquaredExponential(0.3),
    explore="rand",
    reward_bound=3,
    cost_bound=1.5,
    noise=0.2,
    horizon=1000,
    slater=0.4,  # switching off saves the whole budget
    width_scale=0.2,
)
agent = sb.Agent(policy, seed=0)

throughput, energy = [], []
for _ in range(policy.horizon):
    decision = agent.ask()
    p = decision.x[0]
    throughput.append(np.log2(1 + 7 * p) * rng.uniform(0.8, 1.2))  # fading
    energy.append(p)
    agent.tell(decision, reward=throughput[-1], cost=energy[-1] - BUDGET)

print(f"throughput {np.mean(throughput):.2f} bits a round; all power would give {np.log2(8):.2f}")
print(f"energy     {np.mean(energy):.3f} a round, of a budget of {BUDGET}")
print(f"last 100   {np.mean(energy[-100:]):.3f} a round; an energy unit is now priced {agent.dual:.2f}")
