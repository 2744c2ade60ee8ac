"""Operations that NumPy and JAX need written differently. Each engine has a module with all of them."""

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from softbandit.backend import numpy_operations
from softbandit.backend.shapes import ArmIndex, ArmMask, Bools, Floats, Ints

T = TypeVar("T")


class Operations(Protocol):
    """What `numpy_operations` and `jax_operations` provide."""

    def branch(self, condition: bool | Bools, then: Callable[[], T], otherwise: Callable[[], T]) -> T:
        """Return then() or otherwise(), on a condition that is the same in all trials."""

    def first_max(self, x: Floats) -> ArmIndex:
        """Return the argmax of each row of x (b, n), the first if there are several."""

    def running_sum(self, counts: Ints) -> Ints:
        """Return the cumulative sums of each row of counts (b, n)."""

    def resolve_ties(self, candidates: ArmMask, argmax: ArmIndex, break_ties: Callable[[], ArmIndex]) -> ArmIndex:
        """Return `argmax` if every trial has a single candidate, else `break_ties()`."""

    def normal_cdf(self, x: Floats) -> Floats: ...
    def log_normal_cdf(self, x: Floats) -> Floats: ...
    def normal_quantile(self, p: Floats) -> Floats: ...


def operations(x: Floats | Bools) -> Operations:
    """Return the operations for x's engine."""
    if type(x) is np.ndarray:
        return numpy_operations
    from softbandit.backend import jax_operations

    return jax_operations
