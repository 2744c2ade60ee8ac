"""The operations of `Operations`, traced by JAX: some differ between a CPU and an accelerator."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax.numpy as jnp
from jax.lax import cond, platform_dependent
from jax.scipy.special import log_ndtr, ndtr, ndtri

from softbandit.backend.shapes import ArmIndex, ArmMask, Floats, Ints

T = TypeVar("T")


def branch(condition: Any, then: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """Both branches are compiled, and one of them runs."""
    chosen: T = cond(condition, then, otherwise)
    return chosen


def first_max(x: Floats) -> ArmIndex:
    """On a CPU, a maximum and an argmax of booleans take a tenth of the time of an argmax of floats."""
    found: ArmIndex = platform_dependent(
        cpu=lambda: (x >= x.max(axis=1)[:, None]).argmax(axis=1), default=lambda: x.argmax(axis=1)
    )
    return found


def running_sum(counts: Ints) -> Ints:
    """On an accelerator, one sum per entry is a single step where a cumulative sum takes several."""
    k = jnp.arange(counts.shape[1])
    sums: Ints = platform_dependent(
        cpu=lambda: jnp.cumulative_sum(counts, axis=1),
        default=lambda: jnp.sum(jnp.where(k <= k[:, None], counts[:, None, :], 0), axis=2),
    )
    return sums


def resolve_ties(candidates: ArmMask, argmax: ArmIndex, break_ties: Callable[[], ArmIndex]) -> ArmIndex:
    """An accelerator always breaks ties: testing whether there are any would stall it."""
    arm: ArmIndex = platform_dependent(
        cpu=lambda: branch(jnp.count_nonzero(candidates) == len(candidates), lambda: argmax, break_ties),
        default=break_ties,
    )
    return arm


def normal_cdf(x: Floats) -> Floats:
    p: Floats = ndtr(x)
    return p


def log_normal_cdf(x: Floats) -> Floats:
    log_p: Floats = log_ndtr(x)
    return log_p


def normal_quantile(p: Floats) -> Floats:
    x: Floats = ndtri(p)
    return x
