import numpy as np
import pytest

import softbandit as sb
from softbandit.agent.record import Entry, Record

NONE = np.empty(0)


def entry(arm, reward, cost=NONE, dual=NONE, ticket=0):
    """A round with estimates of 9."""
    cost = np.asarray(cost, dtype=float)
    return Entry(np.atleast_1d(arm), np.array([reward]), cost, np.asarray(dual), np.full(1 + len(cost), 9.0), ticket)


def test_a_record_of_arms_returns_its_columns_in_order_as_it_grows():
    record = Record(np.zeros((5, 2)), constraints=2)
    for t in range(40):
        record = record.appended(entry(t % 5, float(t), [t + 0.5, -t], [0.1, 0.2], ticket=1000 + t))
    assert len(record) == 40
    assert record.arms.dtype == np.int64
    assert record.arms.tolist() == [t % 5 for t in range(40)]
    assert record.rewards.tolist() == list(range(40))
    np.testing.assert_array_equal(record.costs, [[t + 0.5, -t] for t in range(40)])
    np.testing.assert_array_equal(record.dual, [[0.1, 0.2]] * 40)
    assert record.tickets.tolist() == list(range(1000, 1040))


def test_a_record_of_arms_returns_the_features_of_those_played():
    record = Record(np.array([[0.0, 1.0], [2.0, 3.0]]), constraints=0)
    for arm in (1, 0, 1):
        record = record.appended(entry(arm, 0.0))
    np.testing.assert_array_equal(record.points, [[2, 3], [0, 1], [2, 3]])


def test_a_record_of_points_returns_their_coordinates():
    record = Record(sb.Box([0, 0], [1, 1]), constraints=0).appended(entry([0.25, 0.5], 3.0))
    np.testing.assert_array_equal(record.arms, [[0.25, 0.5]])
    np.testing.assert_array_equal(record.points, [[0.25, 0.5]])
    assert (record.rewards.tolist(), record.costs.shape, record.dual.shape) == ([3.0], (1, 0), (1, 0))


def test_the_entries_of_a_record_are_those_that_were_appended():
    first, second = entry(3, 1.0, [0.5], [0.1], ticket=2**53 - 1), entry(4, 2.0, [-0.5], [0.2], ticket=7)
    record = Record(np.zeros((5, 2)), constraints=1).appended(first).appended(second)
    for appended, returned in zip((first, second), record.entries(), strict=True):
        for a, b in zip(appended, returned, strict=True):
            np.testing.assert_array_equal(a, b)


def test_appending_leaves_a_record_as_it_was_and_two_continuations_apart():
    record = Record(np.zeros((5, 2)), constraints=0)
    for arm in range(3):
        record = record.appended(entry(arm, 0.0))
    one, other = record.appended(entry(3, 0.0)), record.appended(entry(4, 0.0))
    assert [r.arms.tolist() for r in (record, one, other)] == [[0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 4]]


def test_a_ticket_is_found_from_a_row_on():
    record = Record(np.zeros((5, 2)), constraints=0)
    for ticket in (7, 8, 9):
        record = record.appended(entry(0, 0.0, ticket=ticket))
    assert (record.row_of(8, 0), record.row_of(8, 1), record.row_of(8, 2), record.row_of(5, 0)) == (1, 1, None, None)


def test_costs_are_those_of_the_present_limits_and_entries_are_as_told():
    record = Record(np.zeros((5, 2)), constraints=1).appended(entry(0, 0.0, [1.0], [0.0]))
    raised = record.with_limits_raised(np.array([0.25])).appended(entry(0, 0.0, [3.0], [0.0]))
    raised = raised.with_limits_raised(np.array([0.5]))
    assert raised.costs.tolist() == [[0.25], [2.5]]
    assert [e.cost.tolist() for e in raised.entries()] == [[1.0], [3.0]]
    assert record.costs.tolist() == [[1.0]]


def test_a_record_cannot_be_changed_through_what_it_returns():
    record = Record(np.zeros((5, 2)), 1, np.ones((3, 7)))
    raised = record.with_limits_raised(np.ones(1))
    for view in (record.rows, record.rewards, record.costs, record.dual, raised.costs):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 7.0


@pytest.mark.parametrize("rows", [np.zeros((2, 6)), np.zeros(7), np.full((2, 7), np.nan)])
def test_rows_that_are_not_a_record_are_refused(rows):
    with pytest.raises(ValueError, match="expected a record of finite rows of 7 numbers"):
        Record(np.zeros((5, 2)), 1, rows)


@pytest.mark.parametrize(
    "raises", [[[0.0]], [0.0, 1.0], [[0.0, np.inf]], [[3.0, 1.0]], [[0.5, 1]], [[2.0, 1], [1.0, 1]]]
)
def test_raises_that_do_not_fit_the_rounds_are_refused(raises):
    with pytest.raises(ValueError, match="expected (finite )?raises"):
        Record(np.zeros((5, 2)), 1, np.zeros((2, 7)), np.array(raises))
