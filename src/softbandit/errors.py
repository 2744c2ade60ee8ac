"""Every exception softbandit raises, under one base class.

SoftbanditError
├── ArgumentError (ValueError)      a setting that cannot be used
│   ├── KernelError                 a kernel that is not one, or does not fit the arms
│   ├── SafeSeedError               no safe arm to begin with, or one that is not safe
│   └── UnknownNameError            a name that is not on the list
├── FeedbackError (ValueError)      an observation that cannot be learned from
│   └── DecisionError               a decision that is foreign, malformed, or already told
├── InfeasibleError (ValueError)    the constraints cannot be satisfied
├── FileError (OSError)             a saved agent that is damaged, foreign or cannot be written
├── DeviceError (RuntimeError)      a device for the compiled engine that is missing, or full
└── MissingExtraError (ImportError) an optional package that is not installed
"""

import difflib
from collections.abc import Iterable
from typing import Any, Self

__all__ = [
    "ArgumentError",
    "DecisionError",
    "DeviceError",
    "FeedbackError",
    "FileError",
    "InfeasibleError",
    "KernelError",
    "MissingExtraError",
    "SafeSeedError",
    "SoftbanditError",
    "UnknownNameError",
]


class Words(str):
    """A description of what came, to be shown as it is and not as a quoted string."""

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


class FileError(SoftbanditError, OSError):
    """A saved agent that is damaged, foreign or cannot be written."""


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
