"""Which machines to rent: CKB on the simulated cloud service, against the best that could be done.

Each window it picks replicas, cores and concurrency, pays for them, and sees which share of 500
requests took over 0.4 s. On average that share may be 5%.
"""

import numpy as np

import softbandit as sb

problem = sb.problems.cloud()
raw = sb.problems.cloud_configurations()
price, late = -problem.reward, problem.cost + 0.05

policy = sb.CKB(
    **problem.settings(),
    horizon=2000,
    explore="rand",
    width_scale=0.03,  # these two learn faster, at the price of the guarantee
    regularisation=0.01,
)
chosen = sb.simulate(policy, problem).arms[0]
optimum = sb.randomized_optimum(problem.reward, problem.cost)


def line(name, weights):
    print(f"{name:34}{weights @ price:10.3f}{weights @ late:10.1%}")


def share(arms):
    return np.bincount(arms, minlength=len(raw)) / np.size(arms)


print(f"{len(raw)} configurations                   $ an hour      late")
line("cheapest", share([price.argmin()]))
line("largest", share([price.argmax()]))
line("best single one on time", share([np.where(late <= 0.05, price, np.inf).argmin()]))
line("optimal mixture", optimum.weights)
line("CKB, windows 1 to 100", share(chosen[:100]))
line("CKB, windows 101 to 1,500", share(chosen[100:1500]))
line("CKB, windows 1,501 to 2,000", share(chosen[1500:]))

print("\nshare of windows     replicas  cores  requests  $ an hour      late")
for name, weights in (("optimum", optimum.weights), ("CKB, last 500", share(chosen[1500:]))):
    for arm in np.argsort(-weights)[:4]:
        if weights[arm] >= 0.01:
            replicas, cores, requests = raw[arm]
            print(f"{name:14}{weights[arm]:6.0%}{replicas:9.0f}{cores:7g}{requests:10.0f}", end="")
            print(f"{price[arm]:11.3f}{late[arm]:10.1%}")
