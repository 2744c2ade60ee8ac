"""The operations of `Operations`, traced by JAX: some differ between a CPU and an accelerator."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import jax.numpy as jnp
from jax.lax import cond, platform_dependent, while_loop
from jax.scipy.special import log_ndtr, ndtr, ndtri

from softbandit.backend.engine_operations import Operations
from softbandit.backend.shapes import Bools

T = TypeVar("T")


class JaxOperations(Operations):
    """The operations on JAX's arrays."""

    def branch(self, condition: bool | Bools, then: Callable[[], T], otherwise: Callable[[], T]) -> Any:
        """Both branches are compiled, and one of them runs."""
        return cond(condition, then, otherwise)

    def repeat_while(self, condition: Callable[[T], Any], step: Callable[[T], T], start: T) -> Any:
        return while_loop(condition, step, start)

    def first_max(self, x: Any) -> Any:
        """On a CPU, a maximum and an argmax of booleans take a tenth of the time of an argmax of floats."""
        return platform_dependent(
            cpu=lambda: (x >= x.max(axis=1)[:, None]).argmax(axis=1), default=lambda: x.argmax(axis=1)
        )

    def pick(self, candidates: Any, uniform: Any) -> Any:
        """Count candidates per row of a square, then within one row: a cumulative sum over all arms is slow."""
        trials, n = candidates.shape
        side = math.isqrt(n - 1) + 1
        padding = jnp.zeros((trials, side * side - n), dtype=bool)
        square = jnp.concat([candidates, padding], axis=1).reshape(trials, side, side)
        per_row = jnp.sum(square, axis=2, dtype=jnp.int32)
        up_to_row = running_sum(per_row)
        number = jnp.floor(uniform * up_to_row[:, -1])  # of the candidate to pick, from 0
        passed = up_to_row <= number[:, None]
        row = jnp.sum(passed, axis=1).clip(max=side - 1)  # the last row if there is no candidate
        left = number - (per_row * passed).sum(axis=1)
        within = running_sum(square[jnp.arange(trials), row].astype(per_row.dtype))
        column = jnp.sum(within <= left[:, None], axis=1)
        return (row * side + column).clip(max=n - 1)

    def resolve_ties(self, candidates: Any, argmax: Any, break_ties: Callable[[], Any]) -> Any:
        """An accelerator always breaks ties: testing whether there are any would stall it."""

        def on_cpu() -> Any:
            return cond(jnp.count_nonzero(candidates) == len(candidates), lambda: argmax, break_ties)

        return platform_dependent(cpu=on_cpu, default=break_ties)

    def with_row(self, x: Any, i: Any, row: Any) -> Any:
        """Compiled, this changes x in place if nothing else needs it."""
        return x.at[:, i].set(row)

    def normal_cdf(self, x: Any) -> Any:
        return ndtr(x)

    def log_normal_cdf(self, x: Any) -> Any:
        return log_ndtr(x)

    def normal_quantile(self, p: Any) -> Any:
        return ndtri(p)


def running_sum(counts: Any) -> Any:
    """Return the cumulative sums of each row of counts (b, n).

    On an accelerator, one sum per entry is a single step where a cumulative sum takes several.
    """
    k = jnp.arange(counts.shape[1])
    return platform_dependent(
        cpu=lambda: jnp.cumulative_sum(counts, axis=1),
        default=lambda: jnp.sum(jnp.where(k <= k[:, None], counts[:, None, :], 0), axis=2),
    )


JAX = JaxOperations()
