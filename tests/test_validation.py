import contextlib
import enum
import os
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from softbandit_tests.odd_values import ODD, Raising, huge_view, matrix, self_containing

import softbandit as sb
from softbandit import validation

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.text(max_size=5),
    st.binary(max_size=5),
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
)
CHECKS = {
    "number": validation.number,
    "positive": validation.positive,
    "nonnegative": validation.nonnegative,
    "share": lambda what, value: validation.share(what, value, "Pass one."),
    "whole": lambda what, value: validation.whole(what, value, 0, 9),
    "seed": lambda what, value: validation.seed(value),
    "numbers": lambda what, value: validation.numbers(what, value, 2),
    "array": validation.array,
    "vector": validation.vector,
    "points": validation.points,
    "indices": lambda what, value: validation.indices(what, value, 9),
    "marked": lambda what, value: validation.marked(what, value, 9),
    "labels": lambda what, value: validation.labels(what, value, 2),
    "listed": lambda what, value: validation.listed(what, value, "a list", "Pass one."),
    "named": lambda what, value: validation.named(what, value, {"ucb": 1}),
    "flag": validation.flag,
    "text": validation.text,
    "path": validation.path,
    "plain": validation.plain,
}


@given(value=ANYTHING)
def test_every_check_of_any_value_returns_or_raises_an_argument_error(value):
    for check in CHECKS.values():
        with contextlib.suppress(sb.ArgumentError):
            check("x", value)


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_of_an_odd_value_returns_or_raises_an_argument_error(check):
    for build in ODD:
        with contextlib.suppress(sb.ArgumentError):
            CHECKS[check]("x", build())


@pytest.mark.parametrize(
    "value", [np.float32(0.5), np.longdouble("0.5"), Decimal("0.5"), Fraction(1, 2), np.array(0.5)]
)
def test_every_kind_of_number_becomes_a_float(value):
    assert type(validation.number("x", value)) is float
    assert validation.number("x", value) == 0.5
    assert type(validation.plain("x", value)) is float


@pytest.mark.parametrize(
    "value", ["0.5", b"1", True, np.bool_(True), 1j, [0.5], np.ma.masked, np.array("1.0"), 10**400]
)
def test_what_only_looks_like_a_number_is_refused(value):
    with pytest.raises(sb.ArgumentError, match="x: expected"):
        validation.number("x", value)


def test_a_value_that_cannot_be_shown_is_described_by_its_type():
    with pytest.raises(sb.ArgumentError, match="got a value of type Raising that cannot be shown"):
        validation.number("x", Raising())


def test_an_array_larger_than_the_memory_is_refused_before_it_is_copied():
    with pytest.raises(sb.ArgumentError, match="x: expected at most .* numbers"):
        validation.points("x", huge_view())
    with pytest.raises(sb.ArgumentError, match="x: expected at most .* numbers"):
        validation.array("x", range(2**62))


@pytest.mark.parametrize("value", [self_containing(), [[1.0, 2.0], [3.0]], {1.0}, {"a": 1.0}, iter([1.0]), ["1", "2"]])
def test_what_is_no_array_of_numbers_is_refused(value):
    with pytest.raises(sb.ArgumentError, match="x: expected an array of real numbers"):
        validation.array("x", value)


def test_masked_entries_are_refused_and_an_empty_mask_is_not():
    with pytest.raises(sb.ArgumentError):
        validation.array("x", np.ma.array([1.0, 2.0], mask=[True, False]))
    assert validation.array("x", np.ma.array([1.0, 2.0], mask=[False, False])).tolist() == [1.0, 2.0]


def test_a_matrix_becomes_a_plain_array():
    assert type(validation.points("x", matrix([[1.0, 2.0]]))) is np.ndarray


@pytest.mark.parametrize("value", [1e-60, 1e60, 5e-324, 1e308])
def test_a_size_that_float64_cannot_square_and_divide_is_refused(value):
    with pytest.raises(sb.ArgumentError, match="between 1e-50 and 1e\\+50"):
        validation.positive("x", value)


class Mode(enum.StrEnum):
    UCB = "ucb"


def test_plain_settings_are_built_in_values_arrays_and_tuples():
    plain = validation.plain(
        "x", [Mode.UCB, np.int8(3), Decimal("0.5"), [np.float32(1)], np.array([1, 2], dtype=np.int8)]
    )
    assert [type(entry) for entry in plain] == [str, int, float, tuple, np.ndarray]
    assert plain[4].dtype == np.int64
    assert not plain[4].flags.writeable


@pytest.mark.parametrize("value", ["file", Path("file")])
def test_a_path_is_text_or_an_object_with_a_path(value):
    assert validation.path("x", value) == Path("file")


@pytest.mark.parametrize("value", [3, b"file", "a\0b", None, 0.5])
def test_what_is_no_path_is_refused(value):
    with pytest.raises(sb.ArgumentError, match="x: expected a path"):
        validation.path("x", value)


def test_the_memory_is_positive_also_where_the_system_does_not_say(monkeypatch):
    validation.affordable("x", 1000)
    monkeypatch.delattr(os, "sysconf", raising=False)
    with pytest.raises(sb.ArgumentError):
        validation.affordable("x", 2**40)
