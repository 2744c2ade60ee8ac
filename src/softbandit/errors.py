"""Every exception softbandit raises, under one base class.

SoftbanditError
├── ArgumentError (ValueError)      a setting that cannot be used
│   ├── KernelError                 a kernel that is not one, or does not fit the arms
│   ├── SafeSeedError               no safe arm to begin with, or one that is not safe
│   └── UnknownNameError            a name that is not on the list
├── FeedbackError (ValueError)      an observation that cannot be learned from
│   └── DecisionError               a decision that is foreign, malformed, or already told
├── InfeasibleError (ValueError)    the constraints cannot be satisfied
├── ClusterError (RuntimeError)     workers that cannot be reached, or are lost again and again
├── DeviceError (RuntimeError)      a device for the compiled engine that is missing, or full
├── FileError (OSError)             a file that is damaged, foreign or cannot be written
│   └── DataError                   a data file that is missing, damaged or not the one meant
│       └── FetchError              a data file that could not be fetched
│           ├── ChecksumError       what came is not the file
│           ├── DiskFullError       there is no room for it
│           ├── MovedError          its address leads nowhere any more
│           └── OfflineError        its server cannot be reached, or the connection broke
└── MissingExtraError (ImportError) an optional package that is not installed
"""

import difflib
from collections.abc import Iterable
from typing import Any, Self

__all__ = [
    "ArgumentError",
    "ChecksumError",
    "ClusterError",
    "DataError",
    "DecisionError",
    "DeviceError",
    "DiskFullError",
    "FeedbackError",
    "FetchError",
    "FileError",
    "InfeasibleError",
    "KernelError",
    "MissingExtraError",
    "MovedError",
    "OfflineError",
    "SafeSeedError",
    "SoftbanditError",
    "UnknownNameError",
]


class Description(str):
    """A description of the received value, which an error message shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


class SoftbanditError(Exception):
    """Base of all errors; its message says what was expected, what came, and what to do."""

    @classmethod
    def of(cls, what: str, expected: str, got: Any, remedy: str) -> Self:
        return cls(f"{what}: expected {expected}, got {_short(got)}. {remedy}")


class ArgumentError(SoftbanditError, ValueError):
    """A setting that cannot be used."""


class KernelError(ArgumentError):
    """A kernel that is not one, or does not fit the arms."""


class SafeSeedError(ArgumentError):
    """No safe arm to begin with, or one that is not safe."""


class UnknownNameError(ArgumentError):
    """A name that is not on the list."""

    @classmethod
    def among(cls, what: str, name: Any, names: Iterable[str]) -> Self:
        known = sorted(names)
        near = difflib.get_close_matches(str(name), known, n=1)
        remedy = f"Did you mean {near[0]!r}?" if near else "Choose one of them."
        return cls(f"{what}: expected one of {', '.join(map(repr, known))}, got {_short(name)}. {remedy}")


class FeedbackError(SoftbanditError, ValueError):
    """An observation that cannot be learned from."""


class DecisionError(FeedbackError):
    """A decision that is foreign, malformed, or already told."""


class InfeasibleError(SoftbanditError, ValueError):
    """The constraints cannot be satisfied."""


class ClusterError(SoftbanditError, RuntimeError):
    """Workers that cannot be reached, or are lost again and again."""


class FileError(SoftbanditError, OSError):
    """A file that is damaged, foreign or cannot be written."""


class DataError(FileError):
    """A data file that is missing, damaged or not the one meant."""


class FetchError(DataError):
    """A data file that could not be fetched."""


class ChecksumError(FetchError):
    """What came is not the file."""


class DiskFullError(FetchError):
    """There is no room for the file."""


class MovedError(FetchError):
    """The file's address leads nowhere any more."""


class OfflineError(FetchError):
    """The file's server cannot be reached, or the connection broke."""


class DeviceError(SoftbanditError, RuntimeError):
    """A device for the compiled engine that is missing, or full."""


class MissingExtraError(SoftbanditError, ImportError):
    """An optional package that is not installed."""

    @classmethod
    def of_extra(cls, package: str, extra: str) -> Self:
        return cls(f"{package} is not installed. Install it with: pip install 'softbandit[{extra}]'")


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."
