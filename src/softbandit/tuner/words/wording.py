"""Numbers, values and lines as a tuner shows them."""

import re
import textwrap

from softbandit.domains import Values

WIDTH = 79


def short(number: float) -> str:
    """Return a number as text, to four digits and without an exponent if it is of a usual size.

    >>> short(17466.9), short(0.000012345)
    ('17470', '1.234e-05')
    """
    return f"{float(f'{number:.4g}'):.12g}"


def assignments(values: Values) -> str:
    """Return values by name as text."""
    shown = {name: short(value) if isinstance(value, float) else value for name, value in values.items()}
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def signed(number: float) -> str:
    """Return a number as text, with its sign."""
    return ("+" if number >= 0 else "") + short(number)


def wrapped(text: str) -> list[str]:
    """Return lines of at most WIDTH characters. An interval is not split."""
    whole = re.sub(r", (?=[^\[\]]*\])", ",\xa0", text)
    return [line.replace("\xa0", " ") for line in textwrap.wrap(whole, WIDTH, subsequent_indent="    ")]
