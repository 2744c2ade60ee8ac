"""The doubling trick: a policy that needs its horizon, run without one."""

from dataclasses import dataclass, field

from softbandit.policies.base import About, Stage, StepPolicy, WrappedPolicy


@dataclass(frozen=True, eq=False)
class Doubling(WrappedPolicy):
    """Run `policy` for its horizon H, then afresh for 2 H rounds, then 4 H, and so on.

    Each run has its own horizon, with the settings that follow from it, and forgets the
    runs before; late feedback for a decision of an earlier run is learned by the run
    in force, and moves its dual. If regret and violation grow as c sqrt(T) with the horizon
    known, they grow at most as c sqrt(T) / (1 - 1 / sqrt(2)) = 3.42 c sqrt(T) here.

    >>> import numpy as np, softbandit as sb
    >>> policy = sb.CKB(np.eye(2), sb.Linear(), reward_bound=1, cost_bound=1, noise=1, horizon=100, slater=1)
    >>> [sb.Doubling(policy).stage(t).policy.horizon for t in (0, 99, 100, 299, 300)]
    [100, 100, 200, 200, 400]
    """

    about = About(
        "a policy that needs its horizon, run afresh for twice as long again and again",
        "the doubling trick",
        "Slater margin; the length of the first run, as horizon",
        "that of the policy, times 3.42",
    )

    horizon: None = field(default=None, init=False)
    _runs: dict[int, StepPolicy] = field(default_factory=dict, init=False, repr=False)  # built when needed

    def stage(self, round: int) -> Stage:
        H = self.policy.horizon  # the length of the first run
        k = (round // H + 1).bit_length() - 1  # run k has rounds (2^k - 1) H to (2^(k+1) - 1) H
        run = self._runs.get(k)
        if run is None:  # only the latest is kept; agents in several threads may share this policy
            run = self.policy.replace(horizon=H << k)
            self._runs.clear()
            self._runs[k] = run
        return Stage(run, H * ((1 << k) - 1), H * ((2 << k) - 1))
