"""The slack that cancels a bound on the violation, and its cost in regret."""

from typing import NamedTuple

from softbandit import validation
from softbandit.policies.dual import slater_margin


class Slack(NamedTuple):
    """A slack epsilon, its cost in regret, and whether it cancels the violation for which it was computed."""

    epsilon: float
    regret: float  # 2 B T epsilon / delta
    rho: float  # a cap of twice the tightened problem's bound on the dual, 4 B / (delta - epsilon)
    cancels: bool  # epsilon did not have to be reduced to delta / 2


def cancelling_slack(violation: float, horizon: int, slater: float, reward_bound: float) -> Slack:
    """Return the slack that cancels the leading term V of a violation bound: epsilon = V / T, capped at delta / 2.

    It costs at most 2 B T epsilon / delta in regret (the paper's Claim 1). The slack also changes the
    bound's other terms a little, through G + epsilon and delta - epsilon: print the ledger again.

    >>> cancelling_slack(violation=100.0, horizon=1000, slater=0.5, reward_bound=2.0)
    Slack(epsilon=0.1, regret=800.0, rho=20.0, cancels=True)
    """
    B, T = validation.positive("reward_bound", reward_bound), validation.whole("horizon", horizon, least=1)
    delta, needed = slater_margin(slater), validation.nonnegative("violation", violation) / T
    epsilon = min(needed, delta / 2)
    return Slack(epsilon, 2 * B * T * epsilon / delta, 4 * B / (delta - epsilon), needed <= delta / 2)
