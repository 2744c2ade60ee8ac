"""The operations of `Operations`, traced by JAX: some differ between a CPU and an accelerator."""

from collections.abc import Callable
from typing import TypeVar, cast

import jax.numpy as jnp
from jax import lax
from jax.lax import platform_dependent
from jax.scipy.special import log_ndtr, ndtr, ndtri

from softbandit.backend.shapes import ArmIndex, ArmMask, Bools, Floats, Ints

T = TypeVar("T")


def branch(condition: bool | Bools, then: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """Both branches are compiled, and one of them runs."""
    return cast(T, lax.cond(condition, then, otherwise))


def first_max(x: Floats) -> ArmIndex:
    """On a CPU, a maximum and an argmax of booleans take a tenth of the time of an argmax of floats."""
    return cast(
        ArmIndex,
        platform_dependent(cpu=lambda: (x >= x.max(axis=1)[:, None]).argmax(axis=1), default=lambda: x.argmax(axis=1)),
    )


def running_sum(counts: Ints) -> Ints:
    """On an accelerator, one sum per entry is a single step where a cumulative sum takes several."""
    k = jnp.arange(counts.shape[1])
    return cast(
        Ints,
        platform_dependent(
            cpu=lambda: jnp.cumulative_sum(counts, axis=1),
            default=lambda: jnp.sum(jnp.where(k <= k[:, None], counts[:, None, :], 0), axis=2),
        ),
    )


def resolve_ties(candidates: ArmMask, argmax: ArmIndex, break_ties: Callable[[], ArmIndex]) -> ArmIndex:
    """An accelerator always breaks ties: testing whether there are any would stall it."""

    def on_cpu() -> ArmIndex:
        single = jnp.count_nonzero(candidates) == len(candidates)
        return cast(ArmIndex, lax.cond(single, lambda: argmax, break_ties))

    return cast(ArmIndex, platform_dependent(cpu=on_cpu, default=break_ties))


def normal_cdf(x: Floats) -> Floats:
    return cast(Floats, ndtr(x))


def log_normal_cdf(x: Floats) -> Floats:
    return cast(Floats, log_ndtr(x))


def normal_quantile(p: Floats) -> Floats:
    return cast(Floats, ndtri(p))
