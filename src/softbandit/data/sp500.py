"""The stand-in for the paper's stock prices: prices over the same period, from a data set that skfolio ships."""

import numpy as np

from softbandit.data.loaders import Prices
from softbandit.errors import MissingExtraError

FIRST, LAST = "2016-01-04", "2019-04-10"


def sp500_panel() -> Prices:
    """Return daily prices of 20 stocks of the S&P 500, 2016-01-04 to 2019-04-10, from skfolio (BSD-3-Clause).

    They are adjusted for splits and dividends up to a later date than the original, so stocks
    that are in both differ in price level but not in daily returns.
    """
    try:
        from skfolio.datasets import load_sp500_dataset
    except ModuleNotFoundError:
        raise MissingExtraError.of_extra("skfolio", "data") from None
    panel = load_sp500_dataset().loc[FIRST:LAST]
    dates = tuple(day.date().isoformat() for day in panel.index)
    return Prices(dates, tuple(panel.columns), np.array(panel, dtype=np.float64))
