"""Configurations to choose from in a round, and the contexts over which limits are met on average."""

import numpy as np

from softbandit.backend import Floats
from softbandit.domains import FINITE_LIMIT
from softbandit.domains.spaces import ROUNDING
from softbandit.policies.autopilot import sample_points
from softbandit.policies.autopilot_knowledge import CENTRES
from softbandit.policies.prices import limit_prices
from softbandit.tuner.deciding.beliefs import Beliefs, has_fixed_candidates
from softbandit.tuner.deciding.evidence import Evidence
from softbandit.tuner.words.description import Description

ALL = 512  # configurations that are looked at as a whole, if each round has posteriors of its own
OBSERVED = 256  # observed configurations that are looked at, the newest ones
CONTEXTS = 8  # a sample of those so far
PER_CONTEXT = 128  # configurations in each of them


def looks_at_all(description: Description) -> bool:
    """Return whether a round chooses from all configurations."""
    return description.space.size <= (FINITE_LIMIT if has_fixed_candidates(description) else ALL)


def sample_configurations(evidence: Evidence, beliefs: Beliefs, rng: np.random.Generator) -> Floats:
    """Return the newest observed configurations, others near the best of them, and others anywhere."""
    space = evidence.description.space
    played = evidence.X[-4 * OBSERVED :, : space.dimension][::-1]
    valid = played[np.abs(space.snap(played) - played).max(axis=1) <= ROUNDING]  # the space may have changed
    _, first = np.unique(valid, axis=0, return_index=True)
    newest = valid[np.sort(first)[:OBSERVED]]
    return np.concatenate([newest, sample_points(space, promising(evidence, beliefs), rng)])


def promising(evidence: Evidence, beliefs: Beliefs) -> Floats:
    """Return the best of the observed configurations by what was measured, at the prices of the limits."""
    d = evidence.description.space.dimension
    X = np.concatenate([beliefs.points[:, :d], evidence.X[beliefs.synced :, :d]])
    means = np.concatenate([beliefs.means, evidence.Y[beliefs.synced :].T], axis=1)
    prices = limit_prices(means[0], means[1:])
    z = means[0] - prices.phi @ means[1:] if prices.feasible else -means[1:].sum(axis=0)
    return X[np.argsort(-z, kind="stable")[:CENTRES]]


def context_sample(evidence: Evidence, start: int) -> Floats:
    """Return contexts (c, k) of measurements that are evenly spaced over those that count."""
    rows = np.linspace(start, len(evidence) - 1, CONTEXTS).round().astype(int)
    return np.asarray(evidence.X[rows, evidence.description.space.dimension :])


def joined(configurations: Floats, *columns: Floats) -> Floats:
    """Return the configurations with further features, which are the same for all of them."""
    n = len(configurations)
    return np.concatenate([configurations, *(np.broadcast_to(c, (n, len(c))) for c in columns)], axis=1)
