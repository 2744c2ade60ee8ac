"""Observations that are far from what all others let expect, and count as less far.

A glitch of a sensor, or a round in which the system stood still, says little about the point at which it happened. An
observation y for which the others predict mean m and variance v counts as

    y' = clip(y, m - FARTHEST s sqrt(v), m + FARTHEST s sqrt(v))

| of | the others are | s |
|---|---|---|
| those that a model is learned from | all but itself | the size of (y - m) / sqrt(v) that RARE exceed, at least 1 |
| later ones | those before | 2^(outliers since it was learned) |

An outlier is rare. What happens more often is a property of the system: a model that is wrong everywhere has no
outliers, and where the system changes, observations soon count in full.
"""

import numpy as np

from softbandit.backend import Floats
from softbandit.gp.learning import subset, subset_of_points
from softbandit.gp.point_effects import PointEffects, PointPosterior, Repeats

FARTHEST = 5.0  # standard deviations
APART = 100  # points far apart, which tell the range of the observations
RARE, EXCEEDED = 0.05, 1.96  # the share of normal numbers that exceed this many standard deviations


def in_turn(y: Floats, mean: Floats, variance: Floats, outliers: int = 0) -> Floats:
    """Return observations (k,) as they count one after the other, with a prediction of each, after so many outliers."""
    deviations, counted = np.sqrt(variance), y.copy()
    for i, value in enumerate(y):
        most = FARTHEST * 2.0**outliers * deviations[i]
        counted[i] = min(max(value, mean[i] - most), mean[i] + most)
        outliers += int(counted[i] != value)
    return counted


def without_outliers(model: PointEffects, data: Repeats, y: Floats) -> Floats:
    """Return observations y (t,) to learn from, as they count; `data` holds their points.

    Values that mostly repeat, such as counts and shares, have no outliers: their rare events are what they measure.
    """
    if 2 * len(np.unique(y)) <= len(y):
        return y
    mean, variance = leave_one_out(model, data, near_the_middle(data, y))
    deviation = np.sqrt(variance)
    s = rarely_exceeded(data, np.abs(y - mean) / deviation) / EXCEEDED
    most = FARTHEST * max(s, 1.0) * deviation
    return np.clip(y, mean - most, mean + most)


def near_the_middle(data: Repeats, y: Floats) -> Floats:
    """Return observations y (t,) within their middle range, all but RARE on either side, or beyond it by its width."""
    low, high = -rarely_exceeded(data, -y), rarely_exceeded(data, y)
    return np.clip(y, low - (high - low), high + (high - low))


def rarely_exceeded(data: Repeats, values: Floats) -> float:
    """Return what RARE of the values (t,) exceed: of all, or of those at points far apart, whichever is larger.

    Each of these counts once. In most rounds a policy plays where it is good, and what is not good is no outlier.
    """
    chosen = data.far_apart(APART)
    few = max(RARE, min(1.5 / len(chosen), 1.0))  # of few points, too, one may be wrong
    once = np.isin(data.place, chosen) / data.counts[data.place]
    of_all = np.quantile(values, 1 - RARE, method="inverted_cdf")
    return max(float(of_all), float(np.quantile(values, 1 - few, weights=once, method="inverted_cdf")))


def leave_one_out(model: PointEffects, data: Repeats, y: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of each observation, predicted from all others, (t,) each.

    Other points give a point's own value mean and variance, and its other observations add to what they know. If there
    are so many points that the posterior is that of a subset, the prediction at others is that of the subset.
    """
    data, place = data.with_values(y), data.place
    used, posterior = subset_of_points(data.counts), PointPosterior.of(model, subset(data))
    mean, variance = posterior.at(data.points)
    mean[used], variance[used] = posterior.left_out()
    others = np.where(np.isin(place, used), data.counts[place] - 1, 0.0)  # observations at the same point
    total = data.counts[place] * data.means[place] - y
    v = variance[place]
    weight = others * v / (others * v + model.noise)
    return mean[place] + weight * (total / np.maximum(others, 1) - mean[place]), v * (1 - weight) + model.noise
