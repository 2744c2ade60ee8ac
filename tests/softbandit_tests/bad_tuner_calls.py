"""Calls of a tuner with odd arguments: each must return, or raise one of softbandit's errors and write nothing."""

import os
import random
import tempfile

import numpy as np
from softbandit_tests.entry_points import tuner_settings
from softbandit_tests.odd_values import ODD

import softbandit as sb

VALUES = {"a": 1, "b": 0.5, "c": "x"}
METRICS = {"rows": 1.0, "latency": 10.0}
CONTEXT = {"hour": 3.0}


class Calls:
    """A tuner, and what may be called on it with an odd value."""

    def __init__(self, folder, seed):
        self.rng = random.Random(seed)
        self.settings = tuner_settings("") | {"store": f"{folder}/tuners.db"}
        self.tuner = sb.Tuner(**self.settings)
        self.changing = sb.Tuner(**self.settings | {"name": "changing"})
        self.told = self.tuner.ask(CONTEXT)
        self.tuner.tell(self.told, **METRICS)
        self.open = self.tuner.ask(CONTEXT)
        self.tuner.export(f"{folder}/export.jsonl")

    def events(self):
        """Return the number of the last event of each tuner, by name."""
        store = self.tuner._session.store
        return {name: store.read(name, lambda log: log.last) for name in (self.tuner.name, self.changing.name)}

    def ask(self, odd):
        self.tuner.ask(self.rng.choice([odd, {"hour": odd}, {"hour": 3, "day": odd}, {}]))

    def tell(self, odd):
        metrics = {self.rng.choice([*METRICS, "extra"]): odd}
        self.tuner.tell(self.rng.choice([self.open, self.told, self.open.id]), **METRICS | metrics)

    def tell_of_odd_ask(self, odd):
        self.tuner.tell(odd, **METRICS)

    def tell_failed(self, odd):
        self.tuner.tell(self.told, failed=odd, **self.rng.choice([METRICS, {}]))

    def fail(self, odd):
        self.tuner.fail(*self.rng.choice([(self.told, odd), (odd, "timeout"), (odd, odd)]))

    def observe(self, odd):
        name = self.rng.choice([*VALUES])
        row = {**VALUES, **METRICS, **CONTEXT}
        rows = [[row, odd], odd, [{**row, self.rng.choice([*row]): odd}]]
        single = [
            (odd, METRICS, CONTEXT),
            (VALUES, odd, CONTEXT),
            (VALUES, METRICS, odd),
            (VALUES | {name: odd}, METRICS, CONTEXT),
        ]
        self.tuner.observe(*self.rng.choice([*single, *((entry,) for entry in rows)]))

    def change(self, odd):
        name = self.rng.choice([name for name in self.settings if name not in ("name", "store", "seed")] + ["no such"])
        self.changing.change(**{name: odd})

    def recommend(self, odd):
        self.tuner.recommend(self.rng.choice([odd, {"hour": odd}]))

    def create(self, odd):
        name = self.rng.choice([name for name in self.settings if name != "store"])
        sb.Tuner(**self.settings | {name: odd})

    def open_by_name(self, odd):
        sb.Tuner.open(*self.rng.choice([(odd, self.settings["store"]), ("ingest", odd), (odd, odd)]))

    def list_names(self, odd):
        sb.tuners(odd)

    def restore(self, odd):
        sb.Tuner.restore(*self.rng.choice([(odd, self.settings["store"]), ("export.jsonl", odd)]))

    def export(self, odd):
        self.tuner.export(odd)

    def plot(self, odd):
        self.tuner.plot(odd)


METHODS = [name for name in vars(Calls) if not name.startswith("_") and name != "events"]


def run(count, seed=0, progress=lambda done: None):
    """Make that many calls; return those that raised another error, or wrote something and raised one."""
    faults, here, rng = [], os.getcwd(), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        os.chdir(folder)  # odd names of files are written here
        try:
            calls = Calls(folder, seed)
            for i in range(count):
                progress(i)
                fault = _fault(calls, rng.choice(METHODS), rng.choice(ODD))
                faults += [fault] if fault else []
            sb.Tuner.open(calls.tuner.name, store=calls.settings["store"]).ask(CONTEXT)
        finally:
            os.chdir(here)
    return faults


def _fault(calls, method, build):
    """Return what is wrong with the outcome of a call."""
    odd, before = build(), calls.events()
    try:
        getattr(calls, method)(odd)
    except sb.SoftbanditError:
        return None if calls.events() == before else f"{method}({_words(build)}) wrote something"
    except Exception as error:
        return f"{method}({_words(build)}): {type(error).__name__}: {error}"[:300]
    return None


def _words(build):
    try:
        return " ".join(repr(build()).split())[:60]
    except Exception:
        return "an object without repr"
