"""Snapshots of what was learned: arrays as bytes, with a digest. Only ever a cache, so a damaged one is ignored."""

import hashlib
import io
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.generic]]

DIGEST = 32  # bytes


def pack(arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)  # type: ignore[arg-type]
    content = buffer.getvalue()
    return hashlib.sha256(content).digest() + content


def unpack(packed: bytes) -> Arrays | None:
    """Return the arrays of a snapshot; None if it is damaged."""
    content = packed[DIGEST:]
    if hashlib.sha256(content).digest() != packed[:DIGEST]:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return dict(file)
