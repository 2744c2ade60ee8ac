"""Evidence of a tuner: what counts in the limits, what is learned from failures, and other spaces."""

import numpy as np

import softbandit as sb
from softbandit.tuner.deciding.evidence import Evidence
from softbandit.tuner.words.description import Description
from softbandit.tuner.words.limits import Mean

LIMITS = (Mean("latency", at_most=10), Mean("errors", at_most=1, over=2))


def description(**changes):
    settings = {"space": {"x": sb.Integer(0, 4), "kind": sb.Categorical(["a", "b"])}, "minimize": "time"}
    return Description.of(**settings | {"limits": LIMITS} | changes)


def metrics(time, latency=0.0, errors=0.0):
    return {"time": time, "latency": latency, "errors": errors}


def tell(evidence, id, *reported, x=1, kind="a"):
    evidence.asked(id, {"x": x, "kind": kind}, None, "explore")
    if reported:
        evidence.told(id, metrics(*reported))
    else:
        evidence.failed(id)


def test_a_failure_is_the_worst_of_each_output_so_far():
    evidence = Evidence(description())
    tell(evidence, 1, 5.0, 12.0, 0.0)
    tell(evidence, 2, 7.0, 11.0, 3.0)
    tell(evidence, 3, x=3)
    tell(evidence, 4, 9.0, 99.0, 9.0)
    np.testing.assert_array_equal(evidence.Y[2], [-7.0, 2.0, 2.0])
    np.testing.assert_array_equal(evidence.X[2], [0.75, 1.0, 0.0])


def test_a_failure_before_anything_was_seen_waits_and_then_counts():
    evidence = Evidence(description())
    tell(evidence, 1)
    assert len(evidence) == 0
    tell(evidence, 2, 5.0, 12.0, 0.0)
    np.testing.assert_array_equal(evidence.Y, [[-5.0, 2.0, -1.0]] * 2)
    np.testing.assert_array_equal(evidence.debts(), [4.0, -2.0])


def test_debts_count_the_window_of_each_limit_and_no_warm_start():
    evidence = Evidence(description())
    evidence.observed({"x": 0, "kind": "b"}, metrics(1.0, 1000.0, 1000.0), None)
    for id, errors in enumerate([4.0, 2.0, 0.5, 1.0], start=1):
        tell(evidence, id, 1.0, 10.0 + id, errors)
    np.testing.assert_array_equal(evidence.debts(), [1 + 2 + 3 + 4, -0.5 + 0.0])
    assert len(evidence) == 5


def test_rounds_are_pending_until_they_are_settled_and_late_feedback_counts():
    evidence = Evidence(description())
    for id in (1, 2, 3):
        evidence.asked(id, {"x": id, "kind": "a"}, None, "explore")
    evidence.expired(1)
    evidence.failed(2)
    assert list(evidence.pending) == [3]
    assert evidence.rounds == 1  # the failure waits for something to be compared with
    evidence.told(1, metrics(1.0))
    evidence.told(3, metrics(1.0))
    assert not evidence.pending
    assert evidence.rounds == len(evidence) == 3


def test_a_changed_limit_starts_without_debts_and_the_others_keep_theirs():
    evidence = Evidence(description())
    tell(evidence, 1, 5.0, 12.0, 3.0)
    evidence.changed(description(limits=(Mean("latency", at_most=11), LIMITS[1])))
    np.testing.assert_array_equal(evidence.debts(), [0.0, 2.0])
    np.testing.assert_array_equal(evidence.Y, [[-5.0, 1.0, 2.0]])
    tell(evidence, 2, 5.0, 14.0, 3.0)
    np.testing.assert_array_equal(evidence.debts(), [3.0, 4.0])


def test_another_space_keeps_what_it_can_encode():
    """A wider range moves the features; a choice that was removed is learned from no longer, but its rounds count."""
    evidence = Evidence(description())
    tell(evidence, 1, 5.0, 12.0, x=4, kind="a")
    tell(evidence, 2, 6.0, 13.0, x=2, kind="b")
    evidence.asked(3, {"x": 1, "kind": "b"}, None, "explore")
    wider = {"x": sb.Integer(0, 8), "kind": sb.Categorical(["a", "c"])}
    evidence.changed(description(space=wider))
    np.testing.assert_array_equal(evidence.X, [[0.5, 1.0, 0.0]])
    assert len(evidence.pending_points) == 0
    evidence.told(3, metrics(1.0, 14.0))
    assert len(evidence) == 1
    assert evidence.debts()[0] == 2 + 3 + 4
    evidence.changed(description())
    assert len(evidence) == 3
    np.testing.assert_array_equal(evidence.times, [0, 1, 2])
