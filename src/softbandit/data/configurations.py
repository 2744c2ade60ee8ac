"""Measured configurations of real systems, which come with the library: see moot/README.md beside this file."""

import io
from importlib import resources
from typing import NamedTuple

import numpy as np

from softbandit.backend import Floats
from softbandit.data.sources import sha256
from softbandit.validation import named


class Configurations(NamedTuple):
    """The configurations that were run, and their metrics, in the units of the file."""

    parameters: tuple[str, ...]
    settings: Floats  # (n, parameters): one configuration per row
    metrics: tuple[str, ...]  # a name ends in + if large values are good, in - if small ones are
    values: Floats  # (n, metrics)
    sha256: str  # of the file

    def metric(self, name: str) -> Floats:
        """Return the values of the metric of that name, (n,)."""
        return self.values[:, named("metric", name, {metric: j for j, metric in enumerate(self.metrics)})]


SYSTEMS: dict[str, str] = {
    "SS-A": "Apache Storm, word count",
    "SS-C": "Apache Storm, word count",
    "SS-D": "Apache Storm, another topology",
    "SS-E": "Apache Storm, another topology",
    "SS-M": "HSQLDB",
    "SS-O": "a MySQL-like database (InnoDB)",
    "SS-Q": "VP8 video encoder",
}


def load_configurations(name: str) -> Configurations:
    """Load the measurements of one of the `SYSTEMS`.

    >>> table = load_configurations("SS-D")
    >>> table.parameters, table.metrics, len(table.settings)
    (('Max_spout', 'Spliters', 'Counters'), ('Throughput+', 'Latency-'), 196)
    """
    named("name", name, SYSTEMS)
    content = resources.files("softbandit.data").joinpath("moot", f"{name}.csv").read_bytes()
    header, _, rows = content.decode().partition("\n")
    columns = header.strip().split(",")
    count = sum(not column.endswith(("+", "-")) for column in columns)  # the parameters come first
    table = np.loadtxt(io.StringIO(rows), delimiter=",", ndmin=2)
    return Configurations(
        tuple(columns[:count]), table[:, :count], tuple(columns[count:]), table[:, count:], sha256(content)
    )
