"""A radio chooses its power: as much throughput as possible, within a limit on the average energy.

It knows the limit, and nothing about how throughput and energy depend on the power.
"""

import numpy as np

import softbandit as sb

BUDGET = 0.4  # average energy per round
POWER = np.linspace(0, 1, 50)[:, None]


def transmit(power, rng):
    """Return the throughput in bits, which fading changes by up to 20%, and the energy as metered."""
    return np.log2(1 + 7 * power) * rng.uniform(0.8, 1.2), power + rng.normal(0, 0.05)


def run(seed=0, rounds=300):
    """Return the agent after that many rounds."""
    rng = np.random.default_rng(seed)
    agent = sb.Agent(sb.Autopilot(POWER, horizon=rounds), seed=seed)
    for _ in range(rounds):
        decision = agent.ask()
        throughput, energy = transmit(decision.x[0], rng)
        agent.tell(decision, reward=throughput, cost=energy - BUDGET)
    return agent


def main():
    agent = run()
    throughput, energy = agent.record.rewards, agent.record.costs[:, 0] + BUDGET
    best, peak = np.log2(1 + 7 * BUDGET), np.log2(1 + 7)  # throughput is concave, so constant power is best
    print(f"throughput    {throughput.mean():.2f} bits per round; the budget allows {best:.2f}, full power {peak:.2f}")
    print(f"energy        {energy.mean():.3f} per round, with a budget of {BUDGET}")
    print(f"last 100      {throughput[-100:].mean():.2f} bits per round, for an energy of {energy[-100:].mean():.3f}")
    print(f"price         a unit of energy is worth {agent.dual:.2f} bits now")


if __name__ == "__main__":
    main()
