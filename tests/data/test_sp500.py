import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from softbandit_tests.data_files import ORIGINALS, needs_originals

import softbandit as sb
from softbandit.data import sp500_panel


def test_the_panel_covers_the_papers_period_without_gaps():
    panel = sp500_panel()
    assert panel.values.shape == (823, 20) == (len(panel.dates), len(panel.tickers))
    assert (panel.dates[0], panel.dates[-1]) == ("2016-01-04", "2019-04-10")
    assert list(panel.dates) == sorted(set(panel.dates))
    assert np.isfinite(panel.values).all()
    assert panel.values.min() > 0


def test_daily_returns_of_the_panel_have_heavy_tails():
    returns = np.diff(np.log(sp500_panel().values), axis=0)
    assert np.median(stats.kurtosis(returns)) > 3


def test_without_skfolio_the_error_names_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "skfolio.datasets", None)
    with pytest.raises(sb.MissingExtraError, match=r"pip install 'softbandit\[data\]'"):
        sp500_panel()


@needs_originals
def test_daily_returns_of_the_panel_match_the_original():
    with (Path(ORIGINALS) / "fin.csv").open() as file:
        header, *rows = csv.reader(file)
    panel = sp500_panel()
    assert tuple(row[0] for row in rows) == panel.dates
    common = sorted(set(header) & set(panel.tickers))
    assert len(common) == 14
    for ticker in common:
        original = np.array([row[header.index(ticker)] for row in rows], dtype=float)
        returns = [np.diff(np.log(p)) for p in (original, panel.values[:, panel.tickers.index(ticker)])]
        assert np.corrcoef(returns)[0, 1] >= 0.9995
