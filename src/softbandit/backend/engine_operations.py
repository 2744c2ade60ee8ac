"""Operations that NumPy and JAX need written differently: eager here, traced in `jax_operations`."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from softbandit.backend.shapes import ArmIndex, ArmMask, Bools, Floats, PerTrial

T = TypeVar("T")


class Operations:
    """The operations on NumPy's arrays. SciPy is imported on first use: `import softbandit` stays fast."""

    def branch(self, condition: bool | Bools, then: Callable[[], T], otherwise: Callable[[], T]) -> T:
        """Return then() or otherwise(), on a condition that is the same in all trials."""
        return then() if condition else otherwise()

    def repeat_while(self, condition: Callable[[T], Any], step: Callable[[T], T], start: T) -> T:
        """Return the first of start, step(start), step(step(start)), ... at which the condition is false."""
        while condition(start):
            start = step(start)
        return start

    def first_max(self, x: Floats) -> ArmIndex:
        """Return the argmax of each row of x (b, n), the first if there are several."""
        return np.asarray(x.argmax(axis=1))

    def resolve_ties(self, candidates: ArmMask, argmax: ArmIndex, break_ties: Callable[[], ArmIndex]) -> ArmIndex:
        """Return `argmax` if every trial has a single candidate, else `break_ties()`."""
        return argmax if np.count_nonzero(candidates) == len(candidates) else break_ties()

    def pick(self, candidates: ArmMask, uniform: PerTrial) -> ArmIndex:
        """Return candidate number floor(uniform x count) of each trial; any arm if it has none."""
        counts = np.count_nonzero(candidates, axis=1)
        places = np.cumulative_sum(counts) - counts + (uniform * counts).astype(np.int64)
        of_all_trials = np.flatnonzero(candidates) if counts.any() else np.zeros(1, dtype=np.int64)
        return np.asarray(of_all_trials.take(places, mode="clip") % candidates.shape[1])

    def with_row(self, x: Floats, i: Any, row: Floats) -> Floats:
        """Return x (b, rows, n) with row i of each trial replaced by row (b, n)."""
        changed = x.copy()
        changed[:, i] = row
        return changed

    def normal_cdf(self, x: Floats) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr(x))

    def log_normal_cdf(self, x: Floats) -> Floats:
        from scipy.special import log_ndtr

        return np.asarray(log_ndtr(x))

    def normal_quantile(self, p: Floats) -> Floats:
        from scipy.special import ndtri

        return np.asarray(ndtri(p))


NUMPY = Operations()


def operations(x: Floats | Bools) -> Operations:
    """Return the operations for x's engine."""
    if type(x) is np.ndarray:
        return NUMPY
    from softbandit.backend.jax_operations import JAX

    return JAX
