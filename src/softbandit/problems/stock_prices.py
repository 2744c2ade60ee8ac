"""The paper's heavy-tailed problem: find the stock with the highest average price."""

from os import PathLike

from softbandit.backend.shapes import Floats
from softbandit.data import STOCKS
from softbandit.problems.measurements import at_least, covariance_kernel
from softbandit.problems.problem import Problem

PRICE = 100.0  # the paper's h


def stocks(
    data: str | PathLike[str] | None = None,
    path: str | PathLike[str] | None = None,
    kernel: str = "correlation",
    noise: str | float = "max",
    threshold: float | None = None,
) -> Problem:
    """f = mean price, g = h - f with h = 100, the paper's; k from the same prices. In units of max f.

    Parameters
    ----------
    data
        A folder with fin.csv; "original"; "stand-in", the panel of 20 stocks that skfolio ships;
        or None: the original where it is found (SOFTBANDIT_DATA, else the cache), else the stand-in.
    path
        A file of your own with the same layout.
    kernel
        "correlation", the covariance of the prices after each stock is standardised, or
        "covariance", divided by its largest entry.
    noise
        R as policies are told: "max", the largest deviation of a price from its stock's mean, as
        in the paper, "sd", their standard deviation, or a number.
    threshold
        h. By default 100, or B / 2 where at 100 no stock or every stock would be feasible.

    Examples
    --------
    >>> problem = stocks("stand-in")
    >>> int((problem.cost <= 0).sum()), len(problem.reward)
    (4, 20)
    """
    prices, origin = STOCKS.choose(data, path)
    f = prices.values.mean(axis=0)
    h = _price(f) if threshold is None else threshold
    name = f"stocks ({origin.kind})"
    return at_least(h, prices.values, covariance_kernel(kernel, prices.values), noise, name, origin)


def _price(f: Floats) -> float:
    return PRICE if f.min() < PRICE < f.max() else float(f.max()) / 2
