"""Every exception softbandit raises, under one base class.

SoftbanditError
├── ArgumentError (ValueError)
│   └── KernelError, SafeSeedError, UnknownNameError
├── FeedbackError (ValueError)
│   └── DecisionError
├── InfeasibleError (ValueError)
├── ClusterError, DeviceError (RuntimeError)
├── FileError (OSError)
│   └── DataError
│       └── FetchError
│           └── ChecksumError, DiskFullError, MovedError, OfflineError
├── StoreError (OSError)
└── MissingExtraError (ImportError)
"""

import difflib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import unquote, urlsplit


class Description(str):
    """A description of the received value, which an error message shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


class SoftbanditError(Exception):
    """Base of all errors. A message says what was expected, what was received, and what to do."""

    @classmethod
    def of(cls, what: str, expected: str, got: object, remedy: str) -> Self:
        return cls(f"{what}: expected {expected}, got {_short(got)}. {remedy}")


class ArgumentError(SoftbanditError, ValueError):
    """A setting that cannot be used."""


class KernelError(ArgumentError):
    """An invalid kernel, or one that does not fit the arms."""


class SafeSeedError(ArgumentError):
    """No safe arm to start from, or one that is not safe."""


class UnknownNameError(ArgumentError):
    """A name that is not on the list."""

    @classmethod
    def among(cls, what: str, name: object, names: Iterable[str]) -> Self:
        known = sorted(names)
        similar = difflib.get_close_matches(name[:80], known, n=1) if isinstance(name, str) else []
        remedy = f"Did you mean {similar[0]!r}?" if similar else "Choose one of them."
        return cls.of(what, f"one of {', '.join(map(repr, known))}", name, remedy)


class FeedbackError(SoftbanditError, ValueError):
    """An observation that cannot be learned from."""


class DecisionError(FeedbackError):
    """A decision that is foreign, malformed, or already told."""


class InfeasibleError(SoftbanditError, ValueError):
    """The constraints cannot be satisfied."""


class ClusterError(SoftbanditError, RuntimeError):
    """Workers that cannot be reached, or fail repeatedly."""


class FileError(SoftbanditError, OSError):
    """A file that is damaged, foreign or cannot be written."""


class DataError(FileError):
    """A data file that is missing, damaged or not the expected one."""


class FetchError(DataError):
    """A data file that could not be fetched."""


class ChecksumError(FetchError):
    """The downloaded bytes are not the file."""


class DiskFullError(FetchError):
    """There is no disk space for the file."""


class MovedError(FetchError):
    """The file's address no longer exists."""


class OfflineError(FetchError):
    """The file's server cannot be reached, or the connection broke."""


class StoreError(SoftbanditError, OSError):
    """A tuner's store that cannot be reached, read or written, or that has no such tuner."""


class DeviceError(SoftbanditError, RuntimeError):
    """A device of the JAX engine that is missing, or out of memory."""


class MissingExtraError(SoftbanditError, ImportError):
    """An optional package that is not installed."""


@contextmanager
def needs_extra(package: str, extra: str) -> Iterator[None]:
    """Turn a failed import of an optional package into an error that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != package:
            raise
        raise MissingExtraError(f"{package} is not installed. Install it with: {install_command(extra)}") from None


def install_command(extra: str) -> str:
    """Return the command that adds an extra to softbandit, from wherever it was installed."""
    origin = _origin()
    url = origin.get("url")
    if origin.get("dir_info", {}).get("editable"):
        return f"pip install -e '{unquote(urlsplit(url).path)}[{extra}]'"
    tool = f"{origin['vcs_info']['vcs']}+" if "vcs_info" in origin else ""
    return f"pip install 'softbandit[{extra}]{f' @ {tool}{url}' if url else ''}'"


def _origin() -> dict[str, Any]:
    """Return what the installer noted on a clone, archive or repository (PEP 610); nothing for a package index."""
    from importlib import metadata  # 20 ms

    try:
        noted = metadata.distribution("softbandit").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        noted = None
    return dict(json.loads(noted)) if noted else {}


def _short(value: object) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of a user's class, or an int of more digits than Python prints
        text = f"a value of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= 80 else text[:77] + "..."
