"""A radio chooses its power: as much throughput as possible, within a limit on the average energy."""

import numpy as np

import softbandit as sb

BUDGET = 0.4  # average energy per round
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
    width="tight",
    dual_feedback="measured",
)
agent = sb.Agent(policy, seed=0)

throughput, energy = [], []
for _ in range(policy.horizon):
    decision = agent.ask()
    p = decision.x[0]
    throughput.append(np.log2(1 + 7 * p) * rng.uniform(0.8, 1.2))  # fading
    energy.append(p)
    agent.tell(decision, reward=throughput[-1], cost=energy[-1] - BUDGET)

best, peak = np.log2(1 + 7 * BUDGET), np.log2(1 + 7)  # throughput is concave, so constant power is best
print(f"throughput    {np.mean(throughput):.2f} bits per round; the budget allows {best:.2f}, full power {peak:.2f}")
print(f"energy        {np.mean(energy):.3f} per round, with a budget of {BUDGET}")
print(f"last 100      {np.mean(energy[-100:]):.3f} per round; the price of a unit of energy is now {agent.dual:.2f}")
