"""Measurements made without asking: one of them, or rows of a log or a data frame."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from softbandit.domains import Space
from softbandit.errors import ArgumentError, SoftbanditError
from softbandit.tuner.events import Draft
from softbandit.tuner.words.description import Description
from softbandit.tuner.words.values import checked_context, checked_values

EXPECTED = "values and metrics, or rows that hold both by name"
REMEDY = 'For example observe({"clients": 4}, {"latency_ms": 11.3}), or a list of dicts.'


class Row(NamedTuple):
    """One measurement; without metrics, `values` holds them and the context as well."""

    what: str
    values: Any
    metrics: Any
    context: Any


def rows_in(values: Any, metrics: Any, context: Any) -> list[Row]:
    """Return the measurements that the arguments of `observe` hold."""
    if metrics is not None:
        return [Row("values", values, metrics, context)]
    if context is not None:
        raise ArgumentError.of("observe", EXPECTED, "a context without metrics", REMEDY)
    try:
        if isinstance(values, (str, bytes, Mapping)):
            raise TypeError
        rows = list(values.to_dict("records") if hasattr(values, "to_dict") else values)
    except Exception:  # of whatever was passed
        raise ArgumentError.of("observe", EXPECTED, values, REMEDY) from None
    return [Row(f"row {i}", row, None, None) for i, row in enumerate(rows)]


def observation(row: Row, description: Description) -> Draft:
    """Return the event of a measurement, or raise an error that names its row."""
    if row.metrics is not None:
        return _draft(row.values, row.metrics, row.context, description)
    if not isinstance(row.values, Mapping):
        raise ArgumentError.of(row.what, "values and metrics by name", row.values, REMEDY)
    rest = dict(row.values)
    values = _taken(rest, description.space)
    context = None if description.context is None else _taken(rest, description.context)
    try:
        return _draft(values, rest, context, description)
    except SoftbanditError as error:
        raise type(error)(f"{row.what}: {error}") from None


def _draft(values: Any, metrics: Any, context: Any, description: Description) -> Draft:
    body = {
        "values": checked_values(description.space, values),
        "metrics": description.check_metrics(metrics),
        "context": checked_context(description.context, context),
    }
    return Draft("observed", body)


def _taken(row: dict[str, Any], space: Space) -> dict[str, Any]:
    """Remove the parameters of a space from a row, and return them."""
    return {name: row.pop(name) for name, _, _ in space.parts if name in row}
