"""The width beta_t of a confidence bound: |h(x) - mu_{t-1}(x)| <= beta_t sigma_{t-1}(x).

Widths are signed, so that mu + beta sigma is optimistic: up for the reward, down for a cost.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from softbandit import checks
from softbandit.arrays import Array, namespace
from softbandit.checks import Floats
from softbandit.errors import ArgumentError, UnknownNameError


class Width(Protocol):
    """The signed widths of some outputs."""

    def __call__(self, t: int, gain: Array) -> Array:
        """In round t = 1, 2, ..., after a gain (trials,): (trials, outputs), or (1, outputs)."""


WidthRule = Callable[[Array], Width]
"""The numbers of some outputs -> their width."""


@dataclass(frozen=True, eq=False)
class TheoryWidth:
    """beta_t = B + R sqrt(2 (gain + 1 + ln((m + 1) / alpha))), with each output's own B and R.

    `gain` is the realised information gain: Theorem 2 of Chowdhury & Gopalan (2017) holds
    with it in place of the maximum gamma_{t-1}. All m + 1 outputs together are covered
    with probability 1 - alpha; the paper's ln(2 / alpha) is m = 1. A signed width has
    signed B and R.

    >>> width = TheoryWidth(np.array([1.0]), np.array([2.0]), log_term=1.0)
    >>> width(1, np.array([0.0]))
    array([[5.]])
    """

    bound: Floats  # (outputs,): B or G_i, signed
    noise: Floats  # (outputs,): R, signed
    log_term: float  # ln((m + 1) / alpha)

    def __call__(self, t: int, gain: Array) -> Array:
        return self.bound + self.noise * namespace(gain).sqrt(2 * (gain + (1 + self.log_term)))[:, None]


@dataclass(frozen=True, eq=False)
class GivenWidth:
    """A user's own: a number, one for each output, or a function of t that gives either."""

    rule: float | Sequence[float] | Callable[[int], Any]
    sign: Floats  # (1 + m,)
    outputs: Array

    def __call__(self, t: int, gain: Array) -> Array:
        if callable(self.rule) and not isinstance(t, (int, np.integer)):
            remedy = "Run it with engine='numpy', or give the width as a number."
            raise ArgumentError.of("width", "no function of t under a compiled engine", self.rule, remedy)
        value = self.rule(t) if callable(self.rule) else self.rule
        return (self.sign * checks.each_above("width", value, len(self.sign), least=0.0, strict=False))[
            None, self.outputs
        ]


def width_rule(value: Any, bound: Floats, noise: Floats, sign: Floats, confidence: float) -> WidthRule:
    """What "theory", a number, numbers or a function of t stands for; sign carries the scale."""
    if not isinstance(value, str):
        GivenWidth(value, sign, np.arange(len(sign)))(1, None)  # refuse now what would fail later
        return lambda outputs: GivenWidth(value, sign, outputs)
    if value != "theory":
        raise UnknownNameError.among("width", value, ["theory"])
    log_term = math.log(len(bound) / confidence)
    return lambda outputs: TheoryWidth((sign * bound)[outputs], (sign * noise)[outputs], log_term)


def checked_confidence(value: Any) -> float:
    """alpha, in (0, 1)."""
    alpha = checks.number("confidence", value)
    if not 0 < alpha < 1:
        remedy = "It is the probability of failure that you accept, such as 0.1."
        raise ArgumentError.of("confidence", "a number in (0, 1)", value, remedy)
    return alpha
