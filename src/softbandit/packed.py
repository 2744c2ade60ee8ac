"""Features in fewer bytes, for an accelerator whose rounds wait for its memory.

Entries are kept as whole multiples of one unit, with 48 bits where 64 would be read, or 24
where 32 would be, in two arrays: the high bits and the low ones. Arithmetic is in the full
precision. An entry is off by half a unit, about 2^-48 (or 2^-24) of the largest, so with r
features K is off by about sqrt(r) 2^-47 (or 2^-23) of its largest entry, at most. With 48
bits and the ranks that are packed, that is less than the factorisation may miss of it.
"""

from typing import Any, NamedTuple

import numpy as np

from softbandit.arrays import Array, namespace

RANK = 64  # the largest that is packed: sums of more rows would take seconds to compile
DRAWN = 48  # rank x functions that are drawn a round, at most: they are summed side by side, and registers run out
AT_ONCE = 32  # rows that are added in one step: more need more registers than there are


class Packed(NamedTuple):
    """What a round needs of `Features`."""

    high: Array  # (r, n): uint32, or uint16
    low: Array  # (r, n): uint16, or uint8
    unit: Array  # (): a float

    @property
    def phi(self) -> Array:
        """Phi: (n, r)."""
        return self.unit * _multiples(self.high, self.low).T

    def at(self, arm: Array) -> Array:
        """The features of each trial's own arm (trials,): (trials, r)."""
        return self.unit * _multiples(self.high[:, arm], self.low[:, arm]).T

    def over_arms(self, weights: Array) -> Array:
        """Functions over the arms, (trials, ..., n), of weights (trials, ..., r)."""
        *shape, r = weights.shape
        each = [self._sum_over(own) for own in weights.reshape(-1, r)]
        return self.unit * namespace(weights).stack(each).reshape(*shape, -1)

    def _sum_over(self, weights: Array) -> Array:
        from jax import lax

        total: Any = 0.0
        for first in range(0, len(weights), AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            terms = weights[rows, None] * _multiples(self.high[rows], self.low[rows])
            # Four sums, term by term: along the axis, or with all rows in one step, it takes a sixth longer.
            total = total + sum(sum(terms[i::4]) for i in range(4))
            total = lax.optimization_barrier(total)  # type: ignore[no-untyped-call]
        return total


def pack(basis: Array, precision: str) -> Packed:
    """Features (r, n) in three quarters of the bytes that they would have in that precision."""
    xp = namespace(basis)
    high, low, bits = (np.uint32, np.uint16, 48) if precision == "float64" else (np.uint16, np.uint8, 24)
    zero = 2.0 ** (bits - 1)
    unit = (xp.abs(basis).max() / (zero - 2)).astype(precision)  # not zero - 1, for its own rounding
    words = (xp.rint(basis.astype(np.float64) / xp.where(unit > 0, unit, 1.0)) + zero).astype(np.uint64)
    return Packed((words >> np.uint64(bits // 3)).astype(high), words.astype(low), unit)


def _multiples(high: Array, low: Array) -> Array:
    """The whole numbers that they stand for, as floats."""
    if low.dtype == np.uint16:
        # Bits of a float between 2^52 and 2^53, whose last bit is one: much cheaper than a conversion.
        word = (high.astype(np.uint64) << np.uint64(16)) | low.astype(np.uint64) | np.uint64(0x433 << 52)
        return word.view(np.float64) - (2.0**52 + 2.0**47)
    return (high.astype(np.float32) - np.float32(2**15)) * np.float32(2**8) + low.astype(np.float32)
