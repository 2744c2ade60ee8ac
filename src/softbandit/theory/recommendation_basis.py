"""The posterior that a recommendation is based on, and the points to choose from."""

from collections.abc import Callable

import numpy as np

from softbandit.backend import Floats, Ints
from softbandit.domains import Domain, Space
from softbandit.errors import InfeasibleError
from softbandit.policies import Policy
from softbandit.theory.recommendation import Beliefs
from softbandit.theory.regression import RunPosterior
from softbandit.theory.run_model import Rounds, Run, observed_points, step_of
from softbandit.theory.space_optimum import generate_candidates, initial_points

Moments = Callable[[Floats], tuple[Floats, Floats]]  # points (n, d) -> mean and standard deviation, (1 + m, n) each
Covariance = Callable[[Ints], Floats]


def run_beliefs(policy: Policy, rounds: Rounds) -> Beliefs | None:
    """Return the posterior from all rounds of one trial; None if the policy has no norm bounds and noise."""
    step = step_of(policy)
    if step is None:
        return None
    arms, observed = Run.of(policy, rounds)
    X = observed_points(policy, arms[0])
    posterior = RunPosterior.of(step, X, observed[0])
    points = _candidates(policy, posterior.moments, X)
    return _beliefs(policy, points, posterior.moments, lambda support: posterior.covariance(points[support]))


def policy_beliefs(policy: Policy, moments: Moments, observed: Floats | None) -> Beliefs:
    """Return the policy's own posterior, of which only the moments are known; `observed` are points (T, d) played.

    Costs at the points of a mixture then count as perfectly correlated, which is the most cautious assumption.
    """
    points = _candidates(policy, moments, observed)
    std = moments(points)[1]
    return _beliefs(policy, points, moments, lambda support: std[:, support, None] * std[:, None, support])


def _beliefs(policy: Policy, points: Floats, moments: Moments, covariance: Covariance) -> Beliefs:
    values = policy.space.values if isinstance(policy.space, Space) else None
    return Beliefs(points, *moments(points), covariance, not policy.continuous, values, policy.context)


def _candidates(policy: Policy, moments: Moments, observed: Floats | None) -> Floats:
    """Return the arms; of a space, points that represent it: those observed, and the best mixture by the means."""
    space = policy.arms
    if not isinstance(space, Domain):
        return np.asarray(space)
    try:
        return generate_candidates(lambda X: moments(X)[0].T, space, observed).points
    except InfeasibleError:
        return initial_points(space, observed, np.random.default_rng(0))
