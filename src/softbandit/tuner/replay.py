"""One process's knowledge of a tuner: both folds of its log, the bookkeeping and the learning.

Following an event is cheap; learning waits until a decision needs it. It may start from a snapshot, which changes
nothing but the time that it takes.
"""

from collections.abc import Callable, Iterable

from softbandit.domains import Values
from softbandit.tuner.deciding.decider import Decider, Proposal
from softbandit.tuner.events import Event
from softbandit.tuner.rounds import Rounds
from softbandit.tuner.storage.snapshots import Arrays
from softbandit.tuner.words.description import Description

Snapshots = Callable[[], Iterable[tuple[int, Arrays]]]


class Replay:
    """The log of a tuner so far, folded."""

    def __init__(self, snapshots: Snapshots = tuple) -> None:
        self.rounds = Rounds()
        self._decider: Decider | None = None
        self._snapshots: Snapshots | None = snapshots  # the newest first; None after they were looked at
        self._in_snapshot = 0  # the number of the last event in a snapshot

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
            self._follow(event)

    def decide(self, ask: int, context: Values | None) -> Proposal:
        decide = self.decider.fall_back if self.rounds.paused else self.decider.decide
        return decide(ask, context)

    @property
    def decider(self) -> Decider:
        """The decider after all events so far."""
        assert self._decider is not None
        if self._snapshots is not None:
            self._use(self._snapshots())
            self._snapshots = None
        return self._decider

    def learn(self) -> None:
        """Learn what the next decision needs."""
        self.decider.prepare()

    # -- Snapshots. --

    @property
    def since_snapshot(self) -> int:
        """The number of events since the last snapshot that this process has used or written."""
        return self.number - self._in_snapshot

    def learned(self) -> tuple[int, Arrays]:
        """Return what was learned and the number of the last event, for a snapshot."""
        self._in_snapshot = self.number
        return self.number, self.decider.learned()

    def _use(self, snapshots: Iterable[tuple[int, Arrays]]) -> None:
        """Start from the newest snapshot that knows the present description."""
        assert self._decider is not None
        for number, learned in snapshots:
            if self.rounds.described <= number <= self.number:
                self._decider = Decider(self._decider.evidence, learned)
                self._in_snapshot = number
                return

    # -- Events. --

    def _follow(self, event: Event) -> None:
        if event.kind == "created":
            self._decider = Decider.start(self.description)
            return
        decider = self._decider
        assert decider is not None
        if event.kind == "changed":
            decider.changed(self.description)
        elif event.kind == "observed":
            row = self.rounds.observed[-1]
            decider.observed(row.values, row.metrics, row.context)
        elif event.ask is not None:
            self._follow_ask(decider, event.ask, event)

    def _follow_ask(self, decider: Decider, ask: int, event: Event) -> None:
        if event.kind == "asked":
            round = self.rounds.by_id[ask]
            decider.asked(ask, round.values, round.context, round.kind)
        elif event.kind == "told":
            decider.told(ask, event.body["metrics"])
        elif event.kind == "failed":
            decider.failed(ask)
        else:
            decider.expired(ask)
