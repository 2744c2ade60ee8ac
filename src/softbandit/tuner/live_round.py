"""One round as a `with` block: its values, and a report at the end."""

import traceback
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from softbandit.domains import Values
from softbandit.errors import SoftbanditError
from softbandit.tuner.suggestion import Suggestion

if TYPE_CHECKING:
    from softbandit.tuner.live import Tuner


class LiveRound:
    """A round that reports a failure if its block raises an exception, or ends without a report.

    An interruption, such as Ctrl-C, says nothing about the values, nor does a report that was refused: the round
    expires at once.
    """

    def __init__(self, tuner: "Tuner", suggestion: Suggestion) -> None:
        self.suggestion, self._tuner, self._is_open = suggestion, tuner, True

    @property
    def id(self) -> int:
        return self.suggestion.id

    @property
    def values(self) -> Values:
        return self.suggestion.values

    @property
    def context(self) -> Values | None:
        return self.suggestion.context

    def report(self, **metrics: Any) -> None:
        """Tell what was measured."""
        self._tuner.tell(self.suggestion, **metrics)
        self._is_open = False

    def fail(self, reason: str) -> None:
        """Tell that the round failed."""
        self._tuner.fail(self.suggestion, reason)
        self._is_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_open:
            return
        if error is None:
            self.fail("no report")
            return
        try:
            self._report(error)
        except SoftbanditError as failure:
            error.add_note(f"The failure of round {self.id} could not be reported: {failure}")

    def _report(self, error: BaseException) -> None:
        if isinstance(error, Exception) and not isinstance(error, SoftbanditError):
            self.fail("".join(traceback.format_exception_only(error)).strip())
        else:
            self._tuner._session.expire([self.id])
