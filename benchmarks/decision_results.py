"""The runs of decisions.py, compared in each cell: a problem and a number of rounds.

A run's value is max(P, floor): below the noise level, totals differ by luck. A method's ratio in a cell is its mean
value relative to that of the best method of the cell. The clairvoyant is never the best.
"""

from collections import defaultdict
from functools import cache

import numpy as np
from decision_problems import FAMILY_OF

BOUND = "clairvoyant"  # not a competitor


class Results:
    """Rows of runs by (problem, rounds), method and seed."""

    def __init__(self, rows):
        order = {name: i for i, name in enumerate(FAMILY_OF)}
        self.runs = defaultdict(lambda: defaultdict(dict))
        for row in rows:
            numbers = {name: float(value) for name, value in row.items() if name not in ("problem", "method")}
            self.runs[row["problem"], int(row["rounds"])][row["method"]][int(row["seed"])] = numbers
        self.cells = sorted(self.runs, key=lambda cell: (order[cell[0]], cell[1]))
        self.methods = list(dict.fromkeys(row["method"] for row in rows))

    def column(self, cell, method, name):
        """Return a measure of all seeds."""
        return np.array([run[name] for run in self.runs[cell].get(method, {}).values()])

    def values(self, cell, method):
        """Return max(P, floor) by seed."""
        return {seed: max(run["P"], run["floor"]) for seed, run in self.runs[cell].get(method, {}).items()}

    @cache  # noqa: B019 - one Results per program
    def ratios(self, cell, method):
        """Return the mean value relative to each other method's, over the seeds that both have."""
        ours, ratios = self.values(cell, method), {}
        for other in self.runs[cell].keys() - {method, BOUND}:
            theirs = self.values(cell, other)
            common = ours.keys() & theirs.keys()
            if common:
                ratios[other] = sum(ours[seed] for seed in common) / sum(theirs[seed] for seed in common)
        return ratios

    def ratio(self, cell, method):
        """Return the mean value relative to the best method's; NaN if it was not run."""
        itself = [1.0] if method in self.runs[cell] and method != BOUND else []
        return max([*itself, *self.ratios(cell, method).values()], default=np.nan)

    def against(self, method, other, cells):
        """Return the geometric mean of the values of one method relative to another's, over the runs that both have."""
        logs = []
        for cell in cells:
            ours, theirs = self.values(cell, method), self.values(cell, other)
            logs += [np.log(ours[seed] / theirs[seed]) for seed in ours.keys() & theirs.keys()]
        return float(np.exp(np.mean(logs))) if logs else np.nan

    def worst(self, method, cells):
        """Return the method against which this one does worst over these cells, and the ratio; (None, NaN) if alone."""
        ratios = {m: self.against(method, m, cells) for m in self.methods if m not in (method, BOUND)}
        ratios = {m: ratio for m, ratio in ratios.items() if np.isfinite(ratio)}
        other = max(ratios, key=ratios.get, default=None)
        return other, ratios.get(other, np.nan)

    def floor(self, cell):
        """Return the mean noise level."""
        return np.mean([run["floor"] for runs in self.runs[cell].values() for run in runs.values()])

    def of_family(self, family):
        return [cell for cell in self.cells if FAMILY_OF[cell[0]] == family]

    def of_problem(self, problem):
        return [cell for cell in self.cells if cell[0] == problem]

    def families(self):
        return list(dict.fromkeys(FAMILY_OF[problem] for problem, _ in self.cells))

    def problems(self):
        return list(dict.fromkeys(problem for problem, _ in self.cells))
