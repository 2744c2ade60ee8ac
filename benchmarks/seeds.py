"""Settings of the policies that need a safe arm to begin with."""

import numpy as np

from softbandit.baselines import OPB, POLICIES
from softbandit.baselines.safe_seed import Seeded


def seed_settings(name, problem):
    """Return the safest arm as the seed, and its cost if the policy must know it; nothing for other policies."""
    kind, _ = POLICIES[name]
    if not isinstance(kind, type) or not issubclass(kind, Seeded):
        return {}
    arm = int(problem.costs.max(axis=1).argmin())
    return {"safe": arm} | ({"safe_cost": np.minimum(problem.costs[arm], -0.01).tolist()} if kind is OPB else {})
