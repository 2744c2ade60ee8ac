"""The operations of `Operations`, eager on NumPy."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from softbandit.backend.shapes import ArmIndex, ArmMask, Bools, Floats, Ints

T = TypeVar("T")


def branch(condition: bool | Bools, then: Callable[[], T], otherwise: Callable[[], T]) -> T:
    return then() if condition else otherwise()


def first_max(x: Floats) -> ArmIndex:
    return np.asarray(x.argmax(axis=1))


def running_sum(counts: Ints) -> Ints:
    return np.cumulative_sum(counts, axis=1)


def resolve_ties(candidates: ArmMask, argmax: ArmIndex, break_ties: Callable[[], ArmIndex]) -> ArmIndex:
    return argmax if np.count_nonzero(candidates) == len(candidates) else break_ties()


# scipy.special is imported on first use: `import softbandit` stays fast.


def normal_cdf(x: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(x))


def log_normal_cdf(x: Floats) -> Floats:
    from scipy.special import log_ndtr

    return np.asarray(log_ndtr(x))


def normal_quantile(p: Floats) -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri(p))
