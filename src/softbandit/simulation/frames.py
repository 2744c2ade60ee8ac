"""Tables of a simulation for data frames: one row per trial and round."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softbandit import validation
from softbandit.backend.display import counted
from softbandit.errors import needs_extra

EXTRAS = {"pandas": "frame", "polars": "polars"}


def frame(trials: Sequence[int], columns: Mapping[str, NDArray[Any] | None], library: str) -> Any:
    """Return a data frame of columns (trials, rounds, ...), with the trial's number and the round, counted from 0."""
    with needs_extra(library, validation.named("library", library, EXTRAS)):
        module = importlib.import_module(library)
    split = split_columns(columns)
    b, T = next(iter(split.values())).shape
    rows = {"trial": np.repeat(np.asarray(trials, dtype=np.uint64), T), "round": np.tile(np.arange(T), b)}
    return module.DataFrame(rows | {name: column.ravel() for name, column in split.items()})


def trials_in_words(column: NDArray[Any]) -> str:
    """Return the size of a column (trials, rounds, ...), such as "50 trials of 1,000 rounds"."""
    return f"{counted(column.shape[0], 'trial')} of {counted(column.shape[1], 'round')}"


def split_columns(columns: Mapping[str, NDArray[Any] | None]) -> dict[str, NDArray[Any]]:
    """Return columns (trials, rounds): one with a last axis becomes several, numbered from 0; None is left out.

    >>> list(split_columns({"reward": np.ones((2, 5)), "cost": np.ones((2, 5, 2)), "dual": None}))
    ['reward', 'cost_0', 'cost_1']
    """
    split = {}
    for name, column in columns.items():
        if column is not None and column.ndim == 2:
            split[name] = column
        elif column is not None:
            split |= {f"{name}_{j}": column[:, :, j] for j in range(column.shape[2])}
    return split
