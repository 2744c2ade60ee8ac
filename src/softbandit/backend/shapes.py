"""Names for arrays, by shape: b trials, n arms, k outputs (the reward, then m costs).

They are typed as NumPy's. Under JAX the same code gets JAX's arrays, which behave alike.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]  # any shape
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint64]  # random bits, 64 per word; also the numbers of trials, which select them
PerTrial: TypeAlias = NDArray[np.float64]  # (b,)
PerCost: TypeAlias = NDArray[np.float64]  # (b, m): duals, prices, costs
PerOutput: TypeAlias = NDArray[np.float64]  # (b, k)
PerArm: TypeAlias = NDArray[np.float64]  # (b, n): one function over the arms in each trial
OutputsPerArm: TypeAlias = NDArray[np.float64]  # (b, k, n): one function per output over the arms in each trial
ArmIndex: TypeAlias = NDArray[Any]  # (b,): one arm per trial; on a continuous domain the points, (b, d)
ArmMask: TypeAlias = NDArray[np.bool_]  # (b, n): a set of arms per trial
