"""Values as a few words, for `repr`, and as HTML, for notebooks."""

import html
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

MOST = 4  # of the numbers, or of the values by name, that are shown


def brief(numbers: ArrayLike) -> str:
    """Return a number or an array of any shape as text: four digits each, and at most MOST of them.

    >>> brief(0.123456), brief([1.0, -2.5]), brief(range(100)), brief([])
    ('0.1235', '1, -2.5', '0, 1, 2, ... (100 numbers)', 'none')
    """
    flat = np.ravel(np.asarray(numbers, dtype=np.float64))
    return _listed([f"{value:.4g}" for value in flat[: MOST + 1]], flat.size, "numbers") or "none"


def brief_values(values: Mapping[str, Any]) -> str:
    """Return values by name as text, at most MOST of them.

    >>> brief_values({"workers": 33, "timeout": 0.123456})
    'workers=33, timeout=0.1235'
    """
    shown = [f"{name}={brief(value) if isinstance(value, float) else value}" for name, value in values.items()]
    return _listed(shown, len(shown), "values")


def assigned(values: Mapping[str, Any]) -> str:
    """Return all values by name as text.

    >>> assigned({"workers": 33, "timeout": 0.123456})
    'workers = 33, timeout = 0.1235'
    """
    return ", ".join(
        f"{name} = {brief(value) if isinstance(value, float) else value}" for name, value in values.items()
    )


def brief_probability(probability: float) -> str:
    """Return a probability as text.

    >>> brief_probability(0.977), brief_probability(6e-16)
    ('0.98', 'under 0.0001')
    """
    return f"{probability:.2g}" if probability >= 1e-4 else "under 0.0001"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> counted(0, "limit"), counted(1, "limit"), counted(2500, "arm")
    ('no limits', '1 limit', '2,500 arms')
    """
    return f"{f'{count:,}' if count else 'no'} {noun}{'' if count == 1 else 's'}"


def _listed(texts: list[str], count: int, what: str) -> str:
    return ", ".join(texts) if count <= MOST else ", ".join([*texts[: MOST - 1], f"... ({count:,} {what})"])


def html_text(text: str) -> str:
    """Return text as HTML that keeps its lines."""
    return f"<pre>{html.escape(text)}</pre>"


def html_table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return an HTML table of names and values."""
    lines = (f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in rows)
    return f"<table><caption>{html.escape(caption)}</caption>{''.join(lines)}</table>"
