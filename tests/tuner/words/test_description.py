import json
import math

import numpy as np
import pytest
from softbandit_tests.examples_of import PARAMETERS

import softbandit as sb
from softbandit.tuner import Description

SPACE = {"clients": sb.Integer(1, 16), "codec": sb.Categorical(["zstd", "lz4"])}
LIMITS = [sb.Mean("ms", at_most=12), sb.Share("ms", above=50, at_most=0.01, over=500)]


def described(**settings):
    return Description.of(**{"space": SPACE, "maximize": "rows", "limits": LIMITS, **settings})


FULL = described(
    baseline={"clients": 4, "codec": "zstd"},
    context={"hour": sb.Cyclic(24), "load": sb.Float(0, 1)},
    rounds=500,
    forget="auto",
    explore_share=0.2,
    deadline=60,
    noise={"ms": 2},
    seed=2**100,
)


def through_json(description):
    return Description.from_json(json.loads(json.dumps(description.to_json(), allow_nan=False)))


def test_outputs_are_the_reward_and_one_cost_per_limit():
    metrics = {"rows": 41200.0, "ms": 60.0}
    np.testing.assert_allclose(described().outputs(metrics), [41200, 48, 0.99])
    np.testing.assert_allclose(
        described(maximize=None, minimize="ms", limits=[sb.Mean("rows", at_least=1000)]).outputs(metrics),
        [-60, -40200],
    )


def test_every_metric_with_a_role_is_needed_once():
    assert described().metrics == ("rows", "ms")


def test_known_noise_is_that_of_the_metric_where_the_cost_is_linear_in_it_and_that_of_a_share_at_its_limit():
    share = sb.Share("ms", above=50, at_most=0.2)  # a round exceeds 50 or not, like a coin: sqrt(0.2 * 0.8) = 0.4
    limits = (sb.Mean("ms", at_most=12), share, sb.Excess("ms", above=50, at_most=1))
    description = described(noise={"ms": 2, "rows": 100}, limits=limits)
    assert description.output_noise == pytest.approx((100.0, 2.0, 0.4, None))


@pytest.mark.parametrize(
    "settings", [{}, {"maximize": None, "minimize": "rows"}, {"limits": ()}], ids=["maximize", "minimize", "no limits"]
)
def test_a_description_is_the_same_after_json(settings):
    description = described(**settings)
    assert through_json(description) == description
    assert through_json(description).to_json() == description.to_json()


def test_every_setting_is_the_same_after_json():
    assert through_json(FULL).to_json() == FULL.to_json()
    assert through_json(FULL) == FULL
    assert through_json(FULL).limits == tuple(LIMITS)
    assert described() != FULL


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_is_the_same_after_json(name):
    parameter, values = PARAMETERS[name]
    space = {"p": parameter, "n": sb.Integer(1, 9)}
    description = described(space=space, baseline={"p": values[-1], "n": 2})
    again = through_json(description)
    assert repr(again.space.parameters) == repr(description.space.parameters)
    assert repr(again.baseline) == repr(description.baseline) == repr({"p": values[-1], "n": 2})


@pytest.mark.parametrize("limit", [*LIMITS, sb.Excess("a", above=0.1, at_most=1 / 3), sb.Mean("b", at_least=-0.1)])
def test_every_limit_is_the_same_after_json(limit):
    assert through_json(described(limits=[limit])).limits == (limit,)


def test_json_of_another_version_or_origin_is_refused():
    data = FULL.to_json()
    with pytest.raises(sb.ArgumentError, match="description: expected version 1, got 2"):
        Description.from_json(data | {"version": 2})
    for damaged in (
        {**data, "limits": [{"kind": "Median"}]},
        {**data, "space": 3},
        {**data, "space": [["n", {"kind": "Integer"}]]},
        {**data, "limits": None},
        {name: value for name, value in data.items() if name != "seed"},
        [],
    ):
        with pytest.raises(sb.ArgumentError):
            Description.from_json(damaged)


def test_differences_are_named_in_words():
    other = FULL.changed(
        space={"clients": sb.Integer(1, 32), "level": sb.Fixed(3)},
        baseline=None,
        limits=[sb.Mean("ms", at_most=12), sb.Mean("ms", at_most=13)],
        minimize="rows",
        forget=100,
    )
    assert FULL.differences(other) == [
        "goal: maximize rows, now minimize rows",
        "space, clients: Integer(low=1, high=16), now Integer(low=1, high=32)",
        "space, codec: Categorical(choices=('zstd', 'lz4')), now none",
        "space, level: none, now Fixed(value=3)",
        "limits: share of ms > 50 <= 1%, last 500 rounds, now none",
        "limits: none, now mean ms <= 13",
        "baseline: {'clients': 4, 'codec': 'zstd'}, now None",
        "forget: 'auto', now 100",
    ]


def test_choices_of_another_type_are_a_difference_and_the_order_of_names_is_not():
    one, true = (described(space={"k": sb.Categorical([a, "b"])}) for a in (1, True))
    assert one.differences(true) == ["space, k: Categorical(choices=(1, 'b')), now Categorical(choices=(True, 'b'))"]
    assert described(space=dict(reversed(SPACE.items()))) == described()
    assert described(limits=LIMITS[::-1]) == described()


def test_limits_that_differ_in_the_tenth_digit_are_different():
    assert described(limits=[sb.Mean("ms", at_most=12.00000001)]) != described(limits=[sb.Mean("ms", at_most=12)])


def test_a_change_keeps_what_it_does_not_name_and_is_checked():
    changed = FULL.changed(limits=[])
    assert changed.limits == ()
    assert changed.differences(FULL.changed(limits=LIMITS, rounds=500)) == FULL.changed(limits=[]).differences(FULL)
    assert FULL.changed() == FULL
    with pytest.raises(sb.UnknownNameError, match="'limits'"):
        FULL.changed(limit=[])
    with pytest.raises(sb.UnknownNameError, match="setting"):
        FULL.changed(seed=3)
    with pytest.raises(sb.ArgumentError, match="baseline: codec: expected one of"):
        FULL.changed(space={**SPACE, "codec": sb.Categorical(["lz4", "none"])})


def test_metrics_without_a_role_are_kept():
    metrics = described().check_metrics({"ms": np.float32(2), "host": "a", "rows": 3, "ok": True, "p99": 7})
    assert json.dumps(metrics) == '{"rows": 3.0, "ms": 2.0, "host": "a", "ok": true, "p99": 7.0}'


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ({"rows": 3}, "metrics: expected a number for 'ms', got rows. Report rows, ms."),
        ({}, "got none"),
        ({"rows": math.nan, "ms": 1}, "rows: expected a finite number"),
        ({"rows": 3, "ms": "1"}, "ms: expected a number, got '1'"),
        ({"rows": 1e60, "ms": 1}, "rows: expected a number of at most 1e"),
        ({"rows": 1, "ms": 1, "x": math.inf}, "x: expected a finite number"),
        ({"rows": 1, "ms": 1, "x": [1]}, "x: expected a number"),
        (3, "metrics: expected a number for each metric"),
        ({3: 1}, "metrics: expected a number for each metric"),
    ],
)
def test_metrics_that_nothing_can_be_learned_from_are_refused(metrics, message):
    with pytest.raises(sb.FeedbackError, match=message):
        described().check_metrics(metrics)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"space": {}}, "space: parameters: expected names and parameters"),
        ({"space": {"k": sb.Categorical([1.0, math.inf])}}, "space: expected finite numbers"),
        ({"maximize": None}, "maximize, minimize: expected one of them, got neither"),
        ({"minimize": "ms"}, "maximize, minimize: expected one of them, got both"),
        ({"maximize": ""}, "metric: expected the name of a metric"),
        ({"limits": LIMITS[0]}, "limits: expected a list of limits"),
        ({"limits": ["ms"]}, "limits: expected a list of limits"),
        ({"limits": LIMITS[:1] * 2}, "limits: expected different limits, got mean ms <= 12 twice"),
        ({"baseline": {"clients": 4}}, "baseline: values: expected a value for 'codec'"),
        ({"baseline": {"clients": 4, "codec": "a"}}, "baseline: codec: expected one of"),
        ({"baseline": {"clients": 4, "codec": "lz4", "x": 1}}, "baseline: parameter: expected one of"),
        ({"context": {"clients": sb.Cyclic(24)}}, "context: expected names that are not those of parameters"),
        ({"rounds": 0}, "rounds: expected a whole number from 1"),
        ({"forget": "never"}, 'forget: expected a number of rounds, "auto" or None'),
        ({"forget": np.ones(2)}, "forget: expected a whole number"),
        ({"explore_share": 1.5}, "explore_share: expected a share from 0 to 1"),
        ({"deadline": -1}, "deadline: expected a number above 0"),
        ({"noise": {"rows_per_s": 1}}, "noise: expected one of 'ms', 'rows'"),
        ({"noise": 3}, "noise: expected a number for each of some metrics"),
        ({"noise": {"ms": 0}}, "noise of ms: expected a number above 0"),
        ({"seed": -1}, "seed: expected a whole number"),
    ],
)
def test_bad_descriptions_are_refused(settings, message):
    with pytest.raises(sb.ArgumentError, match=message):
        described(**settings)
