"""Tune a service's settings while it runs: throughput is the reward, latency above 100 ms the cost.

A setting is a whole number, a number on a logarithmic scale, and a choice; units are those of the measurements.
"""

import numpy as np

import softbandit as sb

LIMIT = 100  # milliseconds, on average
SPACE = sb.Space(
    {
        "threads": sb.Integer(1, 32),
        "batch": sb.LogFloat(1, 256),
        "codec": sb.Categorical(["none", "fast", "small"]),
    }
)


def measure(threads, batch, codec, rng):
    """Return the throughput in requests per second, and the latency in milliseconds."""
    gain = {"none": 1.0, "fast": 1.15, "small": 0.9}[codec]
    throughput = 1000 * gain * np.log1p(threads) * batch**0.35 / (1 + 0.02 * threads)
    latency = 15 + 0.6 * batch + 1.2 * threads * (1 + (codec == "small"))
    return throughput + 50 * rng.standard_normal(), latency + 3 * rng.standard_normal()


def run(seed=0, rounds=60):
    """Return the agent after that many rounds."""
    rng = np.random.default_rng(seed)
    agent = sb.Agent(sb.Autopilot(SPACE, horizon=rounds), seed=seed)
    for _ in range(rounds):
        decision = agent.ask()
        throughput, latency = measure(**decision.values, rng=rng)
        agent.tell(decision, reward=throughput, cost=latency - LIMIT)
    return agent


def main():
    agent = run()
    throughput, latency = agent.record.rewards, agent.record.costs[:, 0] + LIMIT
    for name, part in (("all rounds", slice(None)), ("first 20", slice(20)), ("last 20", slice(-20, None))):
        print(f"{name:11} {throughput[part].mean():6.0f} requests/s at {latency[part].mean():4.0f} ms")
    keep = agent.recommend()
    print("to keep    ", {name: v if isinstance(v, (int, str)) else round(v) for name, v in keep.values.items()})


if __name__ == "__main__":
    main()
