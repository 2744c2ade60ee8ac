"""Which machines to rent: CKB on a simulated cloud service, compared with the best that is possible.

In each window it chooses replicas, cores and concurrency, pays for them, and observes the share of
500 requests that took over 0.4 s. On average that share may be 5%.
"""

import numpy as np

import softbandit as sb

problem = sb.problems.cloud()
configurations = sb.problems.cloud_configurations()
price, late = -problem.reward, problem.cost + 0.05

policy = sb.CKB(
    **problem.settings(),
    horizon=2000,
    explore="rand",
    width_scale=0.03,  # this and the next setting learn faster, without the guarantee
    regularisation=0.01,
)
chosen = sb.simulate(policy, problem).arms[0]
optimum = sb.randomized_optimum(problem.reward, problem.cost)


def print_averages(name, weights):
    print(f"{name:34}{weights @ price:10.3f}{weights @ late:10.1%}")


def shares(arms):
    """Return the share of windows in which each configuration was used."""
    return np.bincount(arms, minlength=len(configurations)) / np.size(arms)


print(f"{f'{len(configurations)} configurations':34}{'$ per hour':>10}{'late':>10}")
print_averages("cheapest", shares([price.argmin()]))
print_averages("largest", shares([price.argmax()]))
print_averages("best single one within 5%", shares([np.where(late <= 0.05, price, np.inf).argmin()]))
print_averages("optimal mixture", optimum.weights)
print_averages("CKB, windows 1 to 100", shares(chosen[:100]))
print_averages("CKB, windows 101 to 1,500", shares(chosen[100:1500]))
print_averages("CKB, windows 1,501 to 2,000", shares(chosen[1500:]))

print("\nshare of windows      replicas  cores  requests $ per hour      late")
for name, weights in (("optimum", optimum.weights), ("CKB, last 500", shares(chosen[1500:]))):
    for arm in np.argsort(-weights)[:4]:
        if weights[arm] >= 0.01:
            replicas, cores, requests = configurations[arm]
            print(f"{name:14}{weights[arm]:6.0%}{replicas:10.0f}{cores:7g}{requests:10.0f}", end="")
            print(f"{price[arm]:11.3f}{late[arm]:10.1%}")
