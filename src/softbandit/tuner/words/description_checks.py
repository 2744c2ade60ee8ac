"""Checks of the parts of a description: each returns the part in one standard form, or raises an error about it."""

import json
from typing import Any

import numpy as np

from softbandit import errors, validation
from softbandit.domains import Space, Values
from softbandit.errors import ArgumentError, FeedbackError
from softbandit.policies.base import MOST_CONSTRAINTS
from softbandit.tuner.words.limits import LARGEST, Limit
from softbandit.tuner.words.values import checked_values

MOST_ROUNDS = 2**53


def space(what: str, value: object) -> Space:
    if isinstance(value, Space):
        return value
    try:
        return Space(value)
    except ArgumentError as error:
        raise ArgumentError(f"{what}: {error}") from None


def limits(given: object) -> tuple[Limit, ...]:
    expected, remedy = "a list of limits", 'For example [sb.Mean("latency_ms", at_most=12)].'
    limits = validation.listed("limits", given, expected, remedy)
    if len(limits) > MOST_CONSTRAINTS or not all(isinstance(limit, Limit) for limit in limits):
        raise ArgumentError.of("limits", expected, given, remedy)
    texts = [limit.text for limit in limits]
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise ArgumentError.of("limits", "different limits", errors.Description(f"{twice} twice"), "Remove one.")
    return tuple(limits)


def optional(check: Any, what: str, value: Any) -> Any:
    return None if value is None else check(what, value)


def rounds(what: str, value: object) -> int:
    return validation.whole(what, value, 1, MOST_ROUNDS)


def half_life(what: str, value: object) -> int | str:
    if isinstance(value, str):
        if value == "auto":
            return "auto"
        raise ArgumentError.of(what, 'a number of rounds, "auto" or None', value, "For example forget=500.")
    return rounds(what, value)


def share(what: str, value: object) -> float:
    share = validation.number(what, value)
    if not 0 <= share <= 1:
        raise ArgumentError.of(what, "a share from 0 to 1", value, "For example 0.2.")
    return share


def finite_numbers(what: str, data: object) -> None:
    """Refuse an infinite number, such as a choice, which JSON does not know."""
    try:
        json.dumps(data, allow_nan=False)
    except ValueError as error:
        remedy = 'Write it as text, such as "unlimited".'
        raise ArgumentError.of(what, "finite numbers", errors.Description(error), remedy) from None


def measurement(name: str, value: object) -> float:
    number = validation.number(name, value, FeedbackError)
    if abs(number) > LARGEST:
        raise FeedbackError.of(name, f"a number of at most {LARGEST:g}", number, "Check the units.")
    return number


def remark(name: str, value: object) -> Any:
    """Return a metric that nothing depends on."""
    if value is None or isinstance(value, (str, bool, np.bool_)):
        return validation.plain(name, value)
    return validation.number(name, value, FeedbackError)


def values(what: str, space: Space, given: object) -> Values:
    """Return a configuration in Python's own types."""
    try:
        return checked_values(space, given)
    except ArgumentError as error:
        raise type(error)(f"{what}: {error}") from None
