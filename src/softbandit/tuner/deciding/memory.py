"""Memory of a tuner: what it has learned, and since which measurement.

With forget="auto", each measurement is compared with what the earlier ones let expect. After a shift those before it
are forgotten; models learned from them are used until there are enough new ones, since a function that jumps is
mostly as smooth and as noisy as before.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from softbandit.backend import Floats
from softbandit.tuner.deciding.beliefs import SYNC, Beliefs, Steps, learn_models, models_of, points, table_of
from softbandit.tuner.deciding.drift import Watch
from softbandit.tuner.deciding.evidence import Evidence
from softbandit.tuner.words.description import Description

LEARN_AGAIN = 16  # measurements after a shift, from which models are learned again
VERSION = 2  # of what is learned and how: another version would decide differently, so its snapshots are of no use

Arrays = Mapping[str, Any]


class Regime(NamedTuple):
    """The measurements that count now, and a watch over them."""

    start: int  # the first measurement that does
    seen: int  # measurements that were compared with what was expected
    carried: Floats  # models from before `start`, one row per output; empty if nothing was forgotten
    watch: Watch


class Memory:
    """Beliefs from evidence. They are computed when they are needed, and kept while they hold."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.shifts: list[int] = []  # the measurements before which a shift was noticed
        self._regime = self._first_regime()
        self._table: tuple[tuple[int, int], Floats] | None = None  # models, by (start, fitted)
        self._beliefs: tuple[tuple[int, int], Beliefs] | None = None  # by (start, synced)

    @property
    def _watched_outputs(self) -> list[int]:
        """The metric, and the limits on a mean: residuals of shares and excesses differ in size from point to point."""
        limits = self.evidence.description.limits
        return [0, *(i for i, limit in enumerate(limits, start=1) if limit.is_linear)]

    def _first_regime(self) -> Regime:
        return Regime(0, 0, np.empty((0, 0)), Watch.begin(len(self._watched_outputs)))

    @property
    def regime(self) -> Regime:
        """The regime after all measurements so far."""
        if self.evidence.description.forget == "auto":
            while self._regime.seen < len(self.evidence):
                self._regime = self._watched(self._regime)
        return self._regime

    @property
    def beliefs(self) -> Beliefs | None:
        """The beliefs after all measurements so far; None while there are too few."""
        return self._beliefs_at(self.regime, len(self.evidence))

    def tail(self, beliefs: Beliefs, last: int | None = None) -> tuple[Floats, Floats]:
        """Return the points (p, d) since the posteriors were built, and what was measured there (1 + m, p)."""
        Y = self.evidence.Y[beliefs.synced : last]
        inside = [model.units.inside(y) for model, y in zip(beliefs.models, Y.T, strict=True)]
        return points(self.evidence, beliefs.synced, len(self.evidence) if last is None else last), np.array(inside)

    def _watched(self, regime: Regime) -> Regime:
        """Return the regime after comparing one more measurement."""
        row = regime.seen
        beliefs = self._beliefs_at(regime, row)
        if beliefs is None:
            return regime._replace(seen=row + 1)
        outputs = self._watched_outputs
        units = [beliefs.models[i].units for i in outputs]
        is_new = not (self.evidence.X[regime.start : row] == self.evidence.X[row]).all(axis=1).any()
        pair = np.stack([self.evidence.Y[row, outputs], self._expected(beliefs, row)])
        watch = regime.watch.step(units, pair, is_new, row)
        if watch.shift is None:
            return regime._replace(seen=row + 1, watch=watch)
        self.shifts.append(watch.shift)
        return Regime(watch.shift, row + 1, table_of(beliefs.models), Watch.begin(len(outputs)))

    def _expected(self, beliefs: Beliefs, row: int) -> Floats:
        """Return what the measurements before one of them let expect of the outputs that are watched."""
        P, Z = self.tail(beliefs, row + 1)
        expected = []
        for i in self._watched_outputs:
            z = Z[i, -1] - beliefs.without_candidates[i].residual(P, Z[i])
            expected.append(beliefs.models[i].units.outside(z, 0.0))
        return np.array(expected)

    def _beliefs_at(self, regime: Regime, count: int) -> Beliefs | None:
        """Return the beliefs after `count` measurements."""
        start, carried = regime.start, regime.carried
        steps = Steps.of(count - start, self.evidence.description)
        if len(carried) and steps.fitted < LEARN_AGAIN:
            steps = Steps(0, 1 + SYNC * ((count - start - 1) // SYNC))
        elif not steps.fitted:
            return None
        key = (start, start + steps.synced)
        if self._beliefs is None or self._beliefs[0] != key:
            models = models_of(self._table_at(regime, steps.fitted), self.evidence)
            self._beliefs = key, Beliefs.of(models, self.evidence, *key)
        return self._beliefs[1]

    def _table_at(self, regime: Regime, fitted: int) -> Floats:
        """Return the models learned from that many measurements; those from before a shift if there are none."""
        if not fitted:
            return regime.carried
        key = (regime.start, regime.start + fitted)
        if self._table is None or self._table[0] != key:
            self._table = key, table_of(learn_models(self.evidence, *key))
        return self._table[1]

    # -- Changes and snapshots. --

    def change(self, description: Description) -> None:
        """Use another description: what counts stays the same, and is encoded and learned again."""
        start = self.regime.start
        since = self.evidence.times[start] if start else 0.0
        self.evidence.changed(description)
        start, seen = int(np.searchsorted(self.evidence.times, since)), len(self.evidence)
        self._regime = self._first_regime()._replace(start=start, seen=seen)
        self._table = self._beliefs = None

    def learned(self) -> dict[str, Any]:
        """Return what is expensive to learn, as small arrays."""
        _ = self.beliefs  # what is due is learned first
        (start, fitted), table = self._table or ((0, 0), np.empty((0, 0)))
        regime = self._regime
        return {
            "version": np.array(VERSION),
            "models": table,
            "learned_from": np.array([start, fitted]),
            "regime": np.array([regime.start, regime.seen, regime.watch.steps]),
            "carried": regime.carried,
            **{f"watch_{name}": value for name, value in regime.watch._asdict().items() if name != "steps"},
            "shifts": np.array(self.shifts, dtype=np.int64),
        }

    def use(self, learned: Arrays) -> None:
        """Start from what was learned from the same evidence, or from its beginning, by this version."""
        if int(learned.get("version", 0)) != VERSION:
            return
        start, fitted = learned["learned_from"].tolist()
        self._table = ((start, fitted), learned["models"]) if fitted else None
        first, seen, steps = learned["regime"].tolist()
        watch = Watch(steps, *(learned[f"watch_{name}"] for name in Watch._fields[1:]))
        self._regime = Regime(first, seen, learned["carried"], watch)
        self.shifts = learned["shifts"].tolist()
