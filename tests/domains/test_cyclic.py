import numpy as np
import pytest

import softbandit as sb
from softbandit.domains import Objective, maximise

HOUR = sb.Cyclic(24)


def test_features_are_points_of_a_circle_by_hand():
    for hour, expected in [
        (0, (1, 0.5)),
        (6, (0.5, 1)),
        (12, (0, 0.5)),
        (18, (0.5, 0)),
        (24, (1, 0.5)),
        (-6, (0.5, 0)),
    ]:
        np.testing.assert_allclose(HOUR.encode("hour", hour), expected, atol=1e-15)
    assert HOUR.decode(np.array([0.5, 0.0])) == 18


def test_the_end_of_a_period_is_next_to_its_start():
    before, after, noon = (np.array(HOUR.encode("hour", hour)) for hour in (23.9, 0.1, 12))
    assert np.linalg.norm(before - after) < 0.03 < 0.9 < np.linalg.norm(before - noon)


def test_the_centre_of_the_circle_snaps_to_a_point_of_it():
    np.testing.assert_array_equal(HOUR.snap(np.array([[0.5, 0.5]])), [[1.0, 0.5]])


@pytest.mark.parametrize("best", [0.05, 7.3, 23.9])
def test_a_search_finds_the_best_hour_and_the_best_rate_together(best):
    space = sb.Space({"hour": HOUR, "rate": sb.Float(0, 1)})
    target = space.encode({"hour": best, "rate": 0.3})

    def value(X):
        return -((X - target) ** 2).sum(axis=1)

    found = maximise(
        Objective(value, lambda X: (value(X), -2 * (X - target))), space, np.empty((0, 3)), np.random.default_rng(0)
    )
    values = space.values(found.best)
    assert values["rate"] == pytest.approx(0.3, abs=1e-3)
    # The smallest step is a turn / 2048, that is 42 s, and eight steps are allowed.
    assert abs(values["hour"] - best) < 0.05
