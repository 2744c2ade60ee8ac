"""Appendix D of the paper: the cost estimate is not independent of the virtual queue.

In most runs the estimate of the cost at Slater's arm is optimistic, that is, below the true
cost. Among the runs with a long queue it is optimistic less often and by less: a long queue is
evidence of high observed costs. So a drift that is negative on average may not be negative given
the queue, and the standard lemma does not apply.
"""

import numpy as np

import softbandit as sb
from softbandit.backend.random import POLICY, PROBLEM, draw

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
for round_draws, round_noise in zip(draws.rounds(), noise.rounds(), strict=True):
    choice = policy.decide(state, round_draws)
    state = policy.update(state, choice, *problem.observe(choice.arm, round_noise))

queue = state.dual[:, 0]
estimates = policy.model.estimate(state.posterior, ROUNDS + 1, round_draws)[:, 1, slater_arm]
gap = np.clip(estimates, -1, 1) - problem.cost[slater_arm]  # at most 0 if the estimate is optimistic
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
