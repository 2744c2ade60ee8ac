"""Which machines to rent: Autopilot on a simulated cloud service, compared with the best that is possible.

In each window it chooses replicas, cores and concurrency, pays for them, and observes the share of
500 requests that took over 0.4 s. On average that share may be 5%. The best mixture of two
configurations is cheaper than any single one that keeps the limit.
"""

import numpy as np

import softbandit as sb

LIMIT = 0.05
CONFIGURATIONS = sb.problems.cloud_configurations()


def run(seed=0, rounds=1000):
    """Return the trace of that many windows."""
    problem = sb.problems.cloud()
    return sb.simulate(sb.Autopilot(problem.arms, horizon=rounds), problem, seed=seed)


def shares(arms):
    """Return the share of windows in which each configuration was used."""
    return np.bincount(arms, minlength=len(CONFIGURATIONS)) / np.size(arms)


def main():
    problem, chosen = sb.problems.cloud(), run().arms[0]
    price, late = -problem.reward, problem.cost + LIMIT
    optimum = sb.randomized_optimum(problem.reward, problem.cost)
    rows = {
        "cheapest": shares([price.argmin()]),
        "largest": shares([price.argmax()]),
        "best single one within 5%": shares([np.where(late <= LIMIT, price, np.inf).argmin()]),
        "optimal mixture": optimum.weights,
        "Autopilot, windows 1 to 100": shares(chosen[:100]),
        "Autopilot, windows 101 to 800": shares(chosen[100:800]),
        "Autopilot, windows 801 to 1,000": shares(chosen[800:]),
        "Autopilot, all": shares(chosen),
    }
    print(f"{f'{len(CONFIGURATIONS)} configurations':34}{'$ per hour':>10}{'late':>10}")
    for name, weights in rows.items():
        print(f"{name:34}{weights @ price:10.3f}{weights @ late:10.1%}")

    print("\nshare of windows         replicas  cores  requests $ per hour      late")
    for name, weights in (("optimum", optimum.weights), ("last 200", shares(chosen[800:]))):
        for arm in np.argsort(-weights)[:4]:
            if weights[arm] >= 0.05:
                replicas, cores, requests = CONFIGURATIONS[arm]
                print(f"{name:17}{weights[arm]:6.0%}{replicas:10.0f}{cores:7g}{requests:10.0f}", end="")
                print(f"{price[arm]:11.3f}{late[arm]:10.1%}")


if __name__ == "__main__":
    main()
