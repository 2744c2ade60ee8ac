"""Appendix D of the paper: the cost estimate is not independent of the virtual queue.

Over all runs the estimate of the cost at Slater's arm is optimistic, below the true cost,
in most. Among the runs in which the queue is long it is so less often and by less: a long
queue tells of a history in which costs came out high. So a drift that is negative on
average may not be, given the queue, and the standard lemma does not apply.
"""

import numpy as np
from softbandit.backend.arrays import POLICY, PROBLEM, draw

import softbandit as sb

TRIALS, ROUNDS = 20_000, 25

arms = np.linspace(0, 1, 8)[:, None]
problem = sb.problems.Problem(
    arms=arms,
    kernel=sb.SquaredExponential(0.3),
    reward=np.linspace(-0.5, 0.5, 8),
    cost=np.linspace(-0.3, 0.5, 8),
    noise=0.5,
    reward_bound=1.0,
    cost_bound=1.0,
    slater=0.3,
)
policy = sb.CKB(**problem.settings(), horizon=ROUNDS, dual="queue", V=2.0, width=0.6)
slater_arm = int(problem.cost.argmin())

state = policy.init(TRIALS)
draws = draw(policy.draws(), 0, range(TRIALS), 0, ROUNDS, POLICY)
noise = draw(problem.draws(), 0, range(TRIALS), 0, ROUNDS, PROBLEM)
for own, eta in zip(draws.rounds(), noise.rounds(), strict=True):
    choice = policy.decide(state, own)
    state = policy.update(state, choice, *problem.observe(choice.arm, eta))

queue = state.dual[:, 0]
estimates = policy.model.estimate(state.posterior, ROUNDS + 1, own)[:, 1, slater_arm]
gap = np.clip(estimates, -1, 1) - problem.cost[slater_arm]  # at most 0 where it is optimistic
quantiles = np.quantile(queue, [0.5, 0.9, 0.99])

print(f"{TRIALS:,} runs after {ROUNDS} rounds; the cost at Slater's arm is {problem.cost[slater_arm]:.2f}")
print("runs                      mean of estimate - cost   not optimistic")
for name, chosen in (
    ("all", queue >= 0),
    ("queue above its median", queue > quantiles[0]),
    ("queue in its top 10%", queue > quantiles[1]),
    ("queue in its top 1%", queue > quantiles[2]),
):
    print(f"{name:26}{gap[chosen].mean():23.3f}{np.mean(gap[chosen] > 0):17.1%}")
print(f"correlation of queue and estimate: {np.corrcoef(queue, estimates)[0, 1]:.2f}")
