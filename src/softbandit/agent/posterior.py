"""An agent's posterior over its arms, or at points of a continuous domain."""

import numpy as np

from softbandit.backend import Floats
from softbandit.domains import Domain
from softbandit.errors import ArgumentError
from softbandit.policies import State, StepPolicy, Steps


class Posterior:
    """An agent's posterior of the reward (row 0) and of each cost (rows 1, ..., m), over the arms.

    On a continuous domain, pass the points (n, d) at which it is evaluated.
    """

    def __init__(self, policy: Steps, state: State, arms: Floats | Domain) -> None:
        self._policy, self._state, self._arms = policy, state, arms

    def mean(self, points: object = None) -> Floats:
        """Return mu_t: (1 + m, n)."""
        return np.array(self._policy.moments(self._state, self._checked(points))[0])

    def std(self, points: object = None) -> Floats:
        """Return sigma_t: (1 + m, n)."""
        return np.array(self._policy.moments(self._state, self._checked(points))[1])

    def covariance(self) -> Floats:
        """Return k_t(x, x') over all pairs of arms: (1 + m, n, n)."""
        if isinstance(self._arms, Domain) or not isinstance(self._policy, StepPolicy):
            raise ArgumentError.of("covariance", "finite arms", self._arms, "Ask for mean and std at points.")
        return np.array(self._policy.model.covariance(self._state.posterior)[0])

    def _checked(self, points: object) -> Floats | None:
        """Return points of a continuous domain; None on finite arms, which need none."""
        if isinstance(self._arms, Domain):
            return self._arms.points("points", points)
        if points is not None:
            raise ArgumentError.of("points", "none, on finite arms", points, "Leave them out.")
        return None
