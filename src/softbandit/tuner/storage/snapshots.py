"""Snapshots of what was learned: arrays as bytes, with a digest. Only ever a cache: a damaged one is ignored."""

import hashlib
import io
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.generic]]

FORMAT = "1"  # changes whenever the same events lead to other arrays, or other decisions
DIGEST = 32  # bytes


class Snapshot(NamedTuple):
    number: int  # of the last event that was learned from
    version: str
    body: bytes


def snapshot(number: int, learned: Arrays) -> Snapshot:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **learned)
    content = buffer.getvalue()
    return Snapshot(number, FORMAT, hashlib.sha256(content).digest() + content)


def usable(snapshots: Iterable[Snapshot]) -> Iterator[tuple[int, Arrays]]:
    """Yield the event numbers and arrays of the snapshots that this version can use."""
    for number, version, body in snapshots:
        content = body[DIGEST:]
        if version == FORMAT and hashlib.sha256(content).digest() == body[:DIGEST]:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                yield number, dict(file)
