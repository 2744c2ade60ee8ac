"""Certify a run: without the true functions, with what to keep, and a figure over time."""

import numpy as np

import softbandit as sb
from softbandit.experiments.figures_run import run_figure

rng = np.random.default_rng(0)
problem = sb.problems.rkhs(seed=7)  # stands for the system; the agent sees noisy observations only
policy = sb.CKB(**problem.settings(), horizon=500, explore="rand", width="tight")
agent = sb.Agent(policy)
for _ in range(500):
    decision = agent.ask()
    reward, cost = np.array([problem.reward[decision.arm], problem.cost[decision.arm]]) + 0.1 * rng.standard_normal(2)
    agent.tell(decision, reward, cost)

certificate = agent.certificate()
print(certificate)
print(f"\nArms that may be in the optimal mixture: {certificate.plausible.sum()} of {len(problem.arms)}\n")
print(agent.recommend())
run_figure(agent).savefig("certificate.png")
