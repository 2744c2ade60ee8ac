"""A session: what one process knows of a tuner, kept up to date with the store, and how it appends to the log."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from softbandit.backend import one_thread
from softbandit.domains import Values
from softbandit.errors import FeedbackError, SoftbanditError, StoreError
from softbandit.tuner import feedback
from softbandit.tuner.events import Draft, Event
from softbandit.tuner.replay import Replay
from softbandit.tuner.storage.snapshots import snapshot, usable
from softbandit.tuner.words.description import Description
from softbandit.tuner.words.values import checked_context

if TYPE_CHECKING:
    from softbandit.tuner.storage.log import Log
    from softbandit.tuner.storage.store import Store

SNAPSHOT_EVERY = 100  # events


class Session:
    """The log of one tuner as a process sees it. Threads may share it."""

    def __init__(self, name: str, store: "Store") -> None:
        self.name, self.store = name, store
        self._lock = threading.RLock()  # of the replay
        self._replay = self._new_replay()
        self._described: tuple[int, Description] | None = None  # with the number of its event

    def events(self) -> list[Event]:
        return self.store.read(self.name, lambda log: log.events())

    @contextmanager
    def up_to_date(self) -> Iterator[Replay]:
        """Give the replay after reading what others have written. No other thread changes it meanwhile."""
        with self._lock, one_thread():
            try:
                self._catch_up()
                yield self._replay
            except SoftbanditError:
                raise
            except BaseException:  # such as Ctrl-C halfway through an event
                self._replay = self._new_replay()
                raise

    def ask(self, context: Any) -> Event:
        """Decide on a round, and append it. Learning comes first, while others may still write."""
        with self.up_to_date() as replay:
            checked = checked_context(replay.description.context, context)
            overdue = replay.rounds.overdue(time.time())
            if overdue:
                self.expire(overdue)
                self._catch_up()
            replay.learn()
            (event,) = self.store.write(self.name, lambda log: _append_decision(log, replay, checked))
            self._keep_snapshot(replay)
        return event

    def report(self, ask: int, failed: Any, metrics: Mapping[str, object]) -> None:
        """Append what was measured in a round, or its failure, if nothing was reported before."""
        if self._reported_at_once(ask, failed, metrics):
            return

        def step(log: "Log") -> list[Event]:
            return feedback.append_report(log, feedback.report(self._description(log), ask, failed, metrics))

        self.store.write(self.name, step)

    def expire(self, asks: list[int]) -> None:
        """Stop waiting for those rounds."""
        self.store.write(self.name, lambda log: [e for ask in asks for e in feedback.append_expiry(log, ask)])

    def append(self, drafts: Callable[[Description], Iterable[Draft]]) -> None:
        """Append events that depend on the present description."""
        self.store.write(self.name, lambda log: log.append(*drafts(self._description(log))))

    def set_paused(self, paused: bool) -> None:
        with self.up_to_date() as replay:

            def step(log: "Log") -> list[Event]:
                replay.read(log.events(after=replay.number))
                kind = "paused" if paused else "resumed"
                return [] if replay.rounds.paused == paused else log.append(Draft(kind, {}))

            self.store.write(self.name, step)

    # -- Inside. --

    def _new_replay(self) -> Replay:
        return Replay(lambda: usable(self.store.snapshots(self.name)))

    def _catch_up(self) -> None:
        replay = self._replay
        replay.read(self.store.read(self.name, lambda log: log.events(after=replay.number)))

    def _keep_snapshot(self, replay: Replay) -> None:
        """Store what was learned now and then, so that a new process has less to learn."""
        if replay.since_snapshot >= SNAPSHOT_EVERY:
            with suppress(StoreError):  # only a cache
                self.store.keep_snapshot(self.name, snapshot(*replay.learned()), SNAPSHOT_EVERY)

    def _description(self, log: "Log") -> Description:
        """Return the present description. It is read again only after a change."""
        if self._described is None or self._described[0] != log.described:
            self._described = log.described, Description.from_json(log.description().body["description"])
        return self._described[1]

    def _reported_at_once(self, ask: int, failed: Any, metrics: Mapping[str, object]) -> bool:
        """Return whether a report could be appended without a look at the log, which is the rule."""
        if self._described is None:
            return False
        number, description = self._described
        with suppress(FeedbackError):  # by a description that may have changed
            return self.store.report(self.name, feedback.report(description, ask, failed, metrics), number)
        return False


def _append_decision(log: "Log", replay: Replay, context: Values | None) -> list[Event]:
    replay.read(log.events(after=replay.number))
    ask = len(replay.rounds.by_id) + 1
    proposal = replay.decide(ask, context)
    body = {"values": proposal.values, "context": context, "kind": proposal.kind, "expected": proposal.expected}
    return log.append(Draft("asked", body, ask))
