"""The posterior that a recommendation is based on, and the points to choose from."""

from collections.abc import Callable

import numpy as np

from softbandit.backend import Floats, Ints
from softbandit.domains import Domain, Space
from softbandit.errors import InfeasibleError
from softbandit.policies import Policy
from softbandit.policies.base import Quantile
from softbandit.theory.recommendation import Beliefs, normal
from softbandit.theory.regression import RunPosterior
from softbandit.theory.run_model import Rounds, Run, observed_points, step_of
from softbandit.theory.space_optimum import generate_candidates, initial_points

Posterior = Callable[[Floats], Quantile]  # points (n, d) -> the quantiles there
Covariance = Callable[[Ints], Floats]


def run_beliefs(policy: Policy, rounds: Rounds) -> Beliefs | None:
    """Return the posterior from all rounds of one trial; None if the policy has no norm bounds and noise."""
    step = step_of(policy)
    if step is None:
        return None
    arms, observed = Run.of(policy, rounds)
    X = observed_points(policy, arms[0])
    posterior = RunPosterior.of(step, X, observed[0])
    points = _candidates(policy, lambda X: posterior.moments(X)[0], X)
    quantile = normal(*posterior.moments(points))
    return _beliefs(policy, points, quantile, lambda support: posterior.covariance(points[support]))


def policy_beliefs(policy: Policy, posterior: Posterior, observed: Floats | None) -> Beliefs:
    """Return the policy's own posterior, of which no covariance is known; `observed` are points (T, d) played."""
    points = _candidates(policy, lambda X: posterior(X)(0.0), observed)
    return _beliefs(policy, points, posterior(points), None)


def _beliefs(policy: Policy, points: Floats, quantile: Quantile, covariance: Covariance | None) -> Beliefs:
    values = policy.space.values if isinstance(policy.space, Space) else None
    return Beliefs(points, quantile, covariance, not policy.continuous, values, policy.context)


def _candidates(policy: Policy, medians: Callable[[Floats], Floats], observed: Floats | None) -> Floats:
    """Return the arms; of a space, points that represent it: those observed, and the best mixture by the medians."""
    space = policy.arms
    if not isinstance(space, Domain):
        return np.asarray(space)
    try:
        return generate_candidates(lambda X: medians(X).T, space, observed).points
    except InfeasibleError:
        return initial_points(space, observed, np.random.default_rng(0))
