"""Tune a service's settings while it runs: throughput is the reward, latency above 100 ms the cost.

Neither the kernel nor any bound is known; `Practical` learns them from the measurements.
"""

import numpy as np

import softbandit as sb

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


def main():
    rng = np.random.default_rng(0)
    policy = sb.Practical(SPACE, sb.Matern([1.0] * SPACE.dimension), horizon=60)
    agent = sb.Agent(policy, seed=1)
    latencies, throughputs = [], []
    for _ in range(60):
        decision = agent.ask()
        throughput, latency = measure(**decision.values, rng=rng)
        agent.tell(decision, reward=throughput, cost=latency - 100)
        throughputs.append(throughput)
        latencies.append(latency)
    print(f"all rounds:      {np.mean(throughputs):6.0f} requests/s at {np.mean(latencies):4.0f} ms")
    print(f"first 20 rounds: {np.mean(throughputs[:20]):6.0f} requests/s at {np.mean(latencies[:20]):4.0f} ms")
    print(f"last 20 rounds:  {np.mean(throughputs[-20:]):6.0f} requests/s at {np.mean(latencies[-20:]):4.0f} ms")
    print("last setting:", {key: v if isinstance(v, (int, str)) else round(v) for key, v in decision.values.items()})


if __name__ == "__main__":
    main()
