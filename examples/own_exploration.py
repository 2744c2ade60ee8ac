"""An exploration of your own, compared with the built-in ones on the same noise.

It is a pure function of its arguments, so `engine="auto"` can compile it with JAX.
"""

from dataclasses import dataclass

import softbandit as sb


@dataclass(frozen=True)
class Sometimes:
    """UCB in a random share of the rounds, the mean in the others."""

    share: float

    def draws(self, rank):
        return sb.DrawCount(uniform=1)

    def estimate(self, belief, width, draws):
        return belief.mean + width * (draws.uniform < self.share) * belief.std


problem = sb.problems.rkhs(seed=7)
explorations = {"UCB": "ucb", "RandUCB": "rand", "Thompson": "ts", "Sometimes": Sometimes(0.3)}

print("exploration      R_+(T)     V(T)    (T = 1,000, mean of 20 trials, width 0.2 x theory)")
for name, explore in explorations.items():
    policy = sb.CKB(**problem.settings(), horizon=1000, explore=explore, width_scale=0.2)
    scores = sb.score(sb.simulate(policy, problem, trials=20), problem)
    print(f"{name:12} {scores.strong_regret[:, -1].mean():10.1f} {scores.violation[:, -1].mean():8.1f}")
