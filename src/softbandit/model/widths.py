"""The width beta_t of a confidence bound: |h(x) - mu_{t-1}(x)| <= beta_t sigma_{t-1}(x).

Widths are signed, so that mu + beta sigma is optimistic: up for the reward, down for a cost.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from softbandit import validation
from softbandit.backend import Floats, Ints, PerOutput, PerTrial, Traced, namespace
from softbandit.gp import Kernel

LEAST_RATIO = 1e-6  # of noise to bound, in the default lambda


class Width(Protocol):
    """The signed widths of some outputs."""

    def __call__(self, t: int, gain: PerTrial) -> PerOutput:
        """Return the widths (trials, outputs), or (1, outputs), in round t = 1, 2, ... after that gain."""


WidthRule = Callable[[Ints], Width]  # the numbers of some outputs -> their width


@dataclass(frozen=True, eq=False)
class TheoryWidth:
    """beta_t = B + R sqrt(2 (gain + 1 + ln((m + 1) / alpha))), with each output's B and R.

    `gain` is the realised information gain: Theorem 2 of Chowdhury & Gopalan (2017) holds
    with it in place of the maximum gamma_{t-1}. All m + 1 outputs together are covered
    with probability 1 - alpha; the paper's ln(2 / alpha) is m = 1. A signed width has
    signed B and R.

    >>> width = TheoryWidth(np.array([1.0]), np.array([2.0]), log_term=1.0)
    >>> width(1, np.array([0.0]))
    array([[5.]])
    """

    bound: Traced[Floats]  # (outputs,): B or G_i, signed
    noise: Traced[Floats]  # (outputs,): R, signed
    log_term: Traced[float]  # ln((m + 1) / alpha)

    def __call__(self, t: int, gain: PerTrial) -> PerOutput:
        return self.bound + self.noise * namespace(gain).sqrt(2 * (gain + (1 + self.log_term)))[:, None]


@dataclass(frozen=True, eq=False)
class TightWidth:
    """beta_t = sqrt(B^2 + (R^2 / lambda) (2 gain + 2 ln((m + 1) / alpha))), with each output's B, R and lambda.

    `gain` is the realised information gain at that lambda, which may be any positive number:
    docs/theory.md has the proof, by a mixture of likelihood ratios. A signed width has
    signed B and R.

    >>> width = TightWidth(np.array([3.0]), np.array([2.0]), np.array([0.5]), log_term=1.0)
    >>> width(1, np.array([0.0]))
    array([[5.]])
    """

    bound: Traced[Floats]  # (outputs,): B or G_i, signed
    noise: Traced[Floats]  # (outputs,): R, signed
    regularisation: Traced[Floats]  # (outputs,): lambda
    log_term: Traced[float]  # ln((m + 1) / alpha)

    def __call__(self, t: int, gain: PerTrial) -> PerOutput:
        xp = namespace(gain)
        noise = self.noise**2 / self.regularisation * (2 * (gain + self.log_term))[:, None]
        beta: PerOutput = xp.sign(self.bound) * xp.sqrt(self.bound**2 + noise)
        return beta


def tight_regularisation(kernel: Kernel, points: Floats, bound: float, noise: float, rounds: int) -> float:
    """Return the lambda with the narrowest tight width at arms that are played often: lambda = (R / B)^2 d(lambda).

    There beta^2 sigma^2 is in proportion to lambda B^2 + 2 R^2 gain(lambda). We take the gain of T rounds
    spread over the points, 1/2 sum_i ln(1 + T kappa_i / lambda) with kappa the eigenvalues of K / n. The
    minimum is where lambda is the signal's share of the noise times d(lambda) = sum_i T kappa_i / (lambda + T kappa_i),
    the effective dimension. The width is valid for any lambda, so a guess at the gain is enough.
    """
    eigenvalues = rounds * np.maximum(np.linalg.eigvalsh(kernel(points, points)), 0.0) / len(points)
    ratio = max(noise / bound, LEAST_RATIO) ** 2
    from scipy.optimize import brentq

    def excess(lam: float) -> float:
        return float(lam - ratio * np.sum(eigenvalues / (lam + eigenvalues)))

    least = 1e-6 * ratio
    return float(brentq(excess, least, ratio * len(points))) if excess(least) < 0 else ratio  # K = 0: any will do


# The widths that come with a proof: each from bound, noise and lambda of some outputs, and ln((m + 1) / alpha).
VALID: dict[str, Callable[[Floats, Floats, Floats, float], Width]] = {
    "theory": lambda bound, noise, regularisation, log_term: TheoryWidth(bound, noise, log_term),
    "tight": TightWidth,
}


@dataclass(frozen=True, eq=False)
class GivenWidth:
    """A user's numbers: one row for all rounds, or one per round."""

    signed: Traced[Floats]  # (1, outputs) or (rounds, outputs)

    def __call__(self, t: int, gain: PerTrial) -> PerOutput:
        return self.signed if len(self.signed) == 1 else self.signed[t - 1][None]


@dataclass(frozen=True, eq=False)
class WidthFunction:
    """A user's function of t, which returns a number or one per output."""

    rule: Callable[[int], Any]
    sign: Floats  # (1 + m,)
    outputs: Ints

    def __call__(self, t: int, gain: PerTrial) -> PerOutput:
        return _signed(self.rule(t), self.sign)[None, self.outputs]

    def table(self, rounds: int) -> GivenWidth:
        """Return the widths of rounds 1, ..., rounds, for an engine that cannot call the function."""
        return GivenWidth(np.concatenate([self(t, np.empty(0)) for t in range(1, rounds + 1)]))


def width_rule(
    value: object, bound: Floats, noise: Floats, regularisation: Floats, sign: Floats, confidence: float
) -> WidthRule:
    """Return the rule for "theory", "tight", a number, numbers or a function of t; `sign` includes the scale."""
    if callable(value):
        _signed(validation.result("width", value, 1), sign)  # refuse now what would fail later
        return lambda outputs: WidthFunction(value, sign, outputs)
    if not isinstance(value, str):
        given = _signed(value, sign)[None]
        return lambda outputs: GivenWidth(given[:, outputs])
    width, log_term = validation.named("width", value, VALID), math.log(len(bound) / confidence)
    return lambda i: width((sign * bound)[i], (sign * noise)[i], regularisation[i], log_term)


def _signed(value: object, sign: Floats) -> Floats:
    """Return a user's widths, one per output, with their signs."""
    return sign * validation.numbers_above("width", value, len(sign), least=0.0, strict=False)


def checked_confidence(value: object) -> float:
    """Return alpha, in (0, 1)."""
    return validation.share("confidence", value, "It is the probability of failure that you accept, such as 0.1.")
