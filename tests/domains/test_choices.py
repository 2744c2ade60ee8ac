import numpy as np
import pytest

import softbandit as sb


def test_levels_of_an_ordinal_are_evenly_spaced_in_the_given_order():
    size = sb.Ordinal(["small", "medium", "large"])
    assert [size.encode("size", value) for value in ("small", "medium", "large")] == [[0.0], [0.5], [1.0]]


@pytest.mark.parametrize("values", [[1], [1, 1], "ab", [1, object()], 3, [], [1, float("nan")]])
def test_a_bad_ordinal_is_refused(values):
    with pytest.raises(sb.ArgumentError, match="^values"):
        sb.Ordinal(values)


def test_a_fixed_value_is_passed_on_and_has_no_features():
    space = sb.Space({"codec": sb.Fixed("zstd"), "n": sb.Integer(1, 3), "level": sb.Fixed(None)})
    assert space.dimension == 1
    assert space.size == 3
    assert space.values(np.array([0.5])) == {"codec": "zstd", "n": 2, "level": None}
    np.testing.assert_array_equal(space.encode({"codec": "zstd", "n": 3, "level": None}), [1.0])
    with pytest.raises(sb.ArgumentError, match="codec: expected 'zstd', got 'lz4'. It is fixed."):
        space.encode({"codec": "lz4", "n": 3, "level": None})


def test_a_space_of_fixed_values_only_is_refused():
    with pytest.raises(sb.ArgumentError, match="at least one that varies, got fixed ones only. Add one"):
        sb.Space({"a": sb.Fixed(1), "b": sb.Fixed(2)})


def test_a_fixed_value_must_be_one_that_a_file_can_hold():
    with pytest.raises(sb.ArgumentError, match="value: expected text, a number"):
        sb.Fixed(object())
