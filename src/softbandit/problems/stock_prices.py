"""The paper's heavy-tailed problem: find the stock with the highest average price."""

from os import PathLike

from softbandit.backend.shapes import Floats
from softbandit.data import STOCKS
from softbandit.problems.measurements import covariance_kernel, threshold_problem
from softbandit.problems.problem import Problem

PAPER_THRESHOLD = 100.0


def stocks(
    data: str | PathLike[str] | None = None,
    path: str | PathLike[str] | None = None,
    kernel: str = "correlation",
    noise: str | float = "max",
    threshold: float | None = None,
) -> Problem:
    """f = mean price, g = h - f with h = 100, the paper's; k from the same prices. In units of max f.

    The parameters are those of `sensors`, with these differences: a folder of `data` contains
    fin.csv, and the stand-in is the prices of 20 stocks that skfolio ships; `noise` is by default
    "max", as in the paper; `threshold` is by default 100, or B / 2 if with 100 no stock or every
    stock would be feasible.

    >>> problem = stocks("stand-in")
    >>> int((problem.cost <= 0).sum()), len(problem.reward)
    (4, 20)
    """
    prices, origin = STOCKS.choose(data, path)
    h = _default_threshold(prices.values.mean(axis=0)) if threshold is None else threshold
    name = f"stocks ({origin.kind})"
    return threshold_problem(h, prices.values, covariance_kernel(kernel, prices.values), noise, name, origin)


def _default_threshold(f: Floats) -> float:
    return PAPER_THRESHOLD if f.min() < PAPER_THRESHOLD < f.max() else float(f.max()) / 2
