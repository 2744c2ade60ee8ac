"""The operations of `Operations`, traced by JAX: some differ between a CPU and an accelerator."""

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

    def running_sum(self, counts: Any) -> Any:
        """On an accelerator, one sum per entry is a single step where a cumulative sum takes several."""
        k = jnp.arange(counts.shape[1])
        return platform_dependent(
            cpu=lambda: jnp.cumulative_sum(counts, axis=1),
            default=lambda: jnp.sum(jnp.where(k <= k[:, None], counts[:, None, :], 0), axis=2),
        )

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


JAX = JaxOperations()
