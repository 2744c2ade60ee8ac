import numpy as np
import pytest

import softbandit as sb
from softbandit.record import Record


def test_a_record_of_arms_returns_its_columns_in_order_as_it_grows():
    record = Record(np.zeros((5, 2)), constraints=2)
    for t in range(40):
        record.append(np.array([t % 5]), np.array([float(t)]), np.array([t + 0.5, -t]), np.array([0.1, 0.2]))
    assert len(record) == 40
    assert record.arms.dtype == np.int64
    assert record.arms.tolist() == [t % 5 for t in range(40)]
    assert record.rewards.tolist() == list(range(40))
    np.testing.assert_array_equal(record.costs, [[t + 0.5, -t] for t in range(40)])
    np.testing.assert_array_equal(record.dual, [[0.1, 0.2]] * 40)


def test_a_record_of_arms_returns_the_features_of_those_played():
    record = Record(np.array([[0.0, 1.0], [2.0, 3.0]]), constraints=0)
    for arm in (1, 0, 1):
        record.append(np.array([arm]), np.array([0.0]), np.empty(0), np.empty(0))
    np.testing.assert_array_equal(record.points, [[2, 3], [0, 1], [2, 3]])


def test_a_record_of_points_returns_their_coordinates():
    record = Record(sb.Box([0, 0], [1, 1]), constraints=0)
    record.append(np.array([0.25, 0.5]), np.array([3.0]), np.empty(0), np.empty(0))
    np.testing.assert_array_equal(record.arms, [[0.25, 0.5]])
    np.testing.assert_array_equal(record.points, [[0.25, 0.5]])
    assert (record.rewards.tolist(), record.costs.shape, record.dual.shape) == ([3.0], (1, 0), (1, 0))


def test_a_record_cannot_be_changed_through_what_it_returns():
    record = Record(np.zeros((5, 2)), 1, np.ones((3, 4)))
    for view in (record.rows, record.rewards, record.costs, record.dual):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 7.0


@pytest.mark.parametrize("rows", [np.zeros((2, 3)), np.zeros(4), np.full((2, 4), np.nan)])
def test_rows_that_are_not_a_record_are_refused(rows):
    with pytest.raises(ValueError, match="expected a record of finite rows of 4 numbers"):
        Record(np.zeros((5, 2)), 1, rows)
