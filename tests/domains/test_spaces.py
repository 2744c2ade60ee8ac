import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softbandit as sb

SPACE = sb.Space(
    {
        "rate": sb.LogFloat(1e-4, 1e-1),
        "layers": sb.Integer(1, 5),
        "kind": sb.Categorical(["relu", "tanh", 3]),
        "drop": sb.Float(-1.0, 3.0),
    }
)
VALUES = {"rate": 1e-3, "layers": 4, "kind": "tanh", "drop": 0.0}


def test_encoded_features_match_a_calculation_by_hand():
    # ln(10) / ln(1000) = 1/3; (4 - 1) / 4; the second of three; (0 + 1) / 4
    np.testing.assert_allclose(SPACE.encode(VALUES), [1 / 3, 0.75, 0, 1, 0, 0.25], rtol=1e-15)
    assert SPACE.dimension == 6
    np.testing.assert_array_equal(SPACE.free, [True, False, False, False, False, True])


@given(
    st.floats(1e-4, 1e-1), st.integers(1, 5), st.sampled_from(["relu", "tanh", 3]), st.floats(-1, 3, allow_nan=False)
)
def test_decoding_inverts_encoding(rate, layers, kind, drop):
    values = SPACE.values(SPACE.encode({"rate": rate, "layers": layers, "kind": kind, "drop": drop}))
    assert (values["layers"], values["kind"]) == (layers, kind)
    assert values["rate"] == pytest.approx(rate, rel=1e-13)
    assert values["drop"] == pytest.approx(drop, abs=4e-15)
    assert 1e-4 <= values["rate"] <= 1e-1
    assert -1 <= values["drop"] <= 3


@given(st.lists(st.floats(-0.5, 1.5), min_size=6, max_size=6))
def test_snapping_returns_a_point_of_the_space_and_is_idempotent(row):
    snapped = SPACE.snap(np.array([row]))
    np.testing.assert_array_equal(SPACE.snap(snapped), snapped)
    np.testing.assert_allclose(SPACE.encode(SPACE.values(snapped[0])), snapped[0], atol=1e-13)
    SPACE.point("x", snapped[0])


def test_neighbours_differ_in_one_discrete_parameter_by_one_step():
    x = SPACE.encode(VALUES)
    neighbours = [SPACE.values(row) for row in SPACE.neighbours(x)]
    changed = [{name: v for name, v in values.items() if v != pytest.approx(VALUES[name])} for values in neighbours]
    assert changed == [{"layers": 3}, {"layers": 5}, {"kind": "relu"}, {"kind": 3}]


def test_a_small_space_becomes_one_arm_per_combination():
    space = sb.Space({"n": sb.Integer(-1, 2), "kind": sb.Categorical(["a", "b"])})
    combinations = [space.values(row) for row in space.every()]
    assert combinations == [{"n": n, "kind": k} for n, k in itertools.product([-1, 0, 1, 2], ["a", "b"])]
    settings = {"reward_bound": 1, "cost_bound": 1, "noise": 0.1, "horizon": 10, "slater": 0.5}
    policy = sb.CKB(space, sb.Matern(0.5), **settings)
    np.testing.assert_array_equal(policy.arms, space.every())
    decision = sb.Agent(policy).ask()
    assert decision.values == space.values(policy.arms[decision.arm])
    assert policy.replace(horizon=20).space is space
    large = sb.Space({"n": sb.Integer(1, 5000)})
    assert sb.CKB(large, sb.Matern(0.5), **settings).continuous


def test_a_baseline_takes_a_small_space_and_refuses_a_continuous_one():
    settings = {"reward_bound": 1, "cost_bound": 1, "noise": 0.1, "horizon": 10}
    small = sb.Space({"n": sb.Integer(1, 9)})
    assert len(sb.baselines.CONFIG(small, sb.Matern(0.5), **settings).arms) == 9
    with pytest.raises(sb.ArgumentError, match="finite arms, with CONFIG"):
        sb.baselines.CONFIG(sb.Box(0, 1), sb.Matern(0.5), **settings)


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        ([0, 0], [1]),
        ([1], [0]),
        ([0.0], [0.0]),
        ([math.nan], [1]),
        ([0], [math.inf]),
        (["a"], [1]),
        ([], []),
        ([[0.0]], [[1.0]]),
        (-1e308, 1e308),
        (None, 1),
    ],
)
def test_a_bad_box_is_refused(lower, upper):
    with pytest.raises(sb.ArgumentError):
        sb.Box(lower, upper)


@pytest.mark.parametrize(
    "build",
    [
        lambda: sb.Float(1, 0),
        lambda: sb.Float(0, math.nan),
        lambda: sb.LogFloat(0, 1),
        lambda: sb.LogFloat(2, 1),
        lambda: sb.Integer(1.5, 3),
        lambda: sb.Integer(3, 3),
        lambda: sb.Categorical("ab"),
        lambda: sb.Space([None]),
        lambda: sb.Categorical(["a"]),
        lambda: sb.Categorical(["a", "a"]),
        lambda: sb.Space({}),
        lambda: sb.Space({"x": 3}),
        lambda: sb.Space({1: sb.Float(0, 1)}),
        lambda: sb.Space(3),
    ],
)
def test_bad_parameters_are_refused(build):
    with pytest.raises(sb.ArgumentError):
        build()


@pytest.mark.parametrize(
    "change",
    [{"rate": 1.0}, {"rate": math.nan}, {"layers": 2.5}, {"layers": 6}, {"kind": "3"}, {"drop": "0"}, {"drop": 3.5}],
)
def test_values_outside_the_space_are_refused(change):
    with pytest.raises(sb.ArgumentError, match=next(iter(change))):
        SPACE.encode(VALUES | change)


def test_unknown_and_missing_names_are_refused():
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'rate'"):
        SPACE.encode(VALUES | {"rat": 1.0})
    with pytest.raises(sb.ArgumentError, match="'drop'"):
        SPACE.encode({name: v for name, v in VALUES.items() if name != "drop"})
    with pytest.raises(sb.ArgumentError, match="a point of the space"):
        SPACE.point("x", [0.5, 0.3, 0, 1, 0, 0.5])


def test_points_of_another_number_of_coordinates_are_refused():
    assert SPACE.points("x", np.zeros((4, 6))).shape == (4, 6)
    with pytest.raises(sb.ArgumentError, match=r"rows of 6 coordinates, got shape \(4, 5\)"):
        SPACE.points("x", np.zeros((4, 5)))


def test_values_of_an_earlier_space_are_encoded_where_that_is_possible():
    now = sb.Space({"n": sb.Integer(1, 5), "rate": sb.LogFloat(0.01, 1), "k": sb.Categorical(["a", "b"])})
    old = {"n": 9, "rate": 10.0, "k": "b"}
    # (9 - 1) / 4, and ln(1000) / ln(100)
    np.testing.assert_allclose(now.encode_if_possible(old), [2.0, 1.5, 0.0, 1.0])
    inside = {"n": 2, "rate": 0.5, "k": "a"}
    np.testing.assert_array_equal(now.encode_if_possible(inside), now.encode(inside))
    np.testing.assert_array_equal(now.encode_if_possible({**inside, "gone": 3}), now.encode(inside))
    for change in ({"k": "c"}, {"rate": -1.0}, {"n": "many"}, {"n": 10**9}):
        assert now.encode_if_possible(old | change) is None
    assert now.encode_if_possible({"n": 9, "rate": 10.0}) is None
    stepped = sb.Space({"x": sb.Float(0, 1, step=0.5), "y": sb.Fixed(3)})
    np.testing.assert_allclose(stepped.encode_if_possible({"x": 0.3, "y": 3}), [0.3])
    assert stepped.encode_if_possible({"x": 0.3, "y": 4}) is None
