"""What one process knows of a tuner: both folds of its log, the bookkeeping and the learning.

The bookkeeping follows each event at once. Learning waits until a decision needs it, so that a process which only
tells, or looks at the history, never learns. It may start from a snapshot, which changes nothing but the time it takes.
"""

from collections.abc import Callable, Iterable

from softbandit.domains import Values
from softbandit.tuner.decider import Decider, Proposal
from softbandit.tuner.description import Description
from softbandit.tuner.events import Event
from softbandit.tuner.rounds import Rounds
from softbandit.tuner.snapshots import Arrays

Snapshots = Callable[[], Iterable[tuple[int, Arrays]]]


class Replay:
    """The log of a tuner so far, folded."""

    def __init__(self, snapshots: Snapshots = tuple) -> None:
        self.rounds = Rounds()
        self._snapshots = snapshots  # the event numbers and what was learned up to there, newest first
        self._learned: tuple[int, Decider] | None = None  # with the number of the last event that it knows
        self._in_snapshot = 0  # the number of the last event in a snapshot
        self._waiting: list[Event] = []  # to be learned from

    @property
    def number(self) -> int:
        """The number of the last event."""
        return self.rounds.number

    @property
    def description(self) -> Description:
        assert self.rounds.description is not None
        return self.rounds.description

    def read(self, events: Iterable[Event]) -> None:
        for event in events:
            self.rounds.apply(event)
            self._waiting.append(event)

    def decide(self, ask: int, context: Values | None) -> Proposal:
        decider = self.decider()
        if not self.rounds.paused:
            return decider.decide(ask, context)
        baseline = self.description.baseline
        return Proposal(decider.recommend(context).values if baseline is None else baseline, "paused", {})

    def decider(self) -> Decider:
        """Return what was learned from all events so far."""
        if self._learned is None:
            self._learned = self._start()
        for event in self._waiting:
            number, decider = self._learned
            if event.number > number:
                self._learned = event.number, self._learn(decider, event)
        self._waiting = []
        return self._learned[1]

    @property
    def since_snapshot(self) -> int:
        """The number of events that were learned from since the last snapshot that this process has used or written."""
        return self._learned[0] - self._in_snapshot if self._learned else 0

    def learned(self) -> tuple[int, Arrays]:
        """Return the number of the last event that was learned from, and what was learned, for a snapshot."""
        assert self._learned is not None
        number, decider = self._learned
        self._in_snapshot = number
        return number, decider.learned()

    def _start(self) -> tuple[int, Decider]:
        for number, learned in self._snapshots():
            if number <= self.number:
                self._in_snapshot = number
                known = Rounds(event for event in self._waiting if event.number <= number)
                return number, Decider.restored(known, learned)
        created = Rounds(self._waiting[:1])
        assert created.description is not None
        return 1, Decider.start(created.description)

    def _learn(self, decider: Decider, event: Event) -> Decider:
        if event.kind == "told":
            assert event.ask is not None
            round = self.rounds.by_id[event.ask]
            return decider.observed(round.values, round.context, self.description.outputs(event.body["metrics"]))
        return decider
