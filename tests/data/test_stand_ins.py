import csv
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from softbandit_tests.data_files import ORIGINALS, needs_originals

import softbandit as sb
from softbandit.data import simulated_office, sp500_panel
from softbandit.errors import install_command


@pytest.fixture(scope="module", params=range(3))
def office(request):
    return simulated_office(request.param)


def test_a_seed_determines_the_office():
    for a, b in zip(simulated_office(4).arrays, simulated_office(4).arrays, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (simulated_office(5).test != simulated_office(4).test).any()
    with pytest.raises(sb.ArgumentError, match="seed: expected"):
        simulated_office(-1)


def test_readings_are_whole_counts_with_the_originals_shapes(office):
    assert [a.shape for a in office.arrays] == [(601, 41), (192, 41), (41, 2)]
    for samples in (office.train, office.test):
        assert samples.min() >= 0
        assert samples.max() < 1700 + 5 * 4  # saturation and five standard deviations of the noise
        np.testing.assert_array_equal(samples, np.rint(samples))


def test_the_statistics_of_the_office_are_close_to_the_originals(office):
    """The original: largest mean 945.5, 19 of 41 at half of it or more, deviations up to 835, sd 288."""
    f = office.test.mean(axis=0)
    residuals = office.test - f
    assert 700 < f.max() < 1200
    assert 12 <= (f >= f.max() / 2).sum() <= 29
    assert 500 < np.abs(residuals).max() < 1100
    assert 150 < residuals.std() < 400
    # Light tails: no reading is more than a few standard deviations from its sensor's mean.
    assert np.median(stats.kurtosis(office.test)) < 1
    assert (np.abs(residuals) / residuals.std(axis=0)).max() < 6


def test_readings_fall_with_distance_from_the_windows_and_neighbours_correlate(office):
    x, y = office.coords.T
    assert stats.spearmanr(y, office.test.mean(axis=0)).statistic < -0.7
    distance = np.hypot(x[:, None] - x, y[:, None] - y)
    pairs = np.triu_indices(41, 1)
    assert stats.spearmanr(distance[pairs], np.corrcoef(office.train.T)[pairs]).statistic < -0.3


def test_the_sun_moves_from_one_end_of_the_office_to_the_other():
    """Mornings are brighter at one end and afternoons at the other; clouds affect all sensors alike."""

    def morning_excess(office):
        by_window = office.coords[:, 1] < 6
        ends = [by_window & (office.coords[:, 0] < 25), by_window & (office.coords[:, 0] > 35)]
        morning, afternoon = office.train[60:300].mean(axis=0), office.train[300:540].mean(axis=0)
        early, late = (np.log(morning[end] / afternoon[end]).mean() for end in ends)
        return early - late

    excess = np.array([morning_excess(simulated_office(seed)) for seed in range(30)])
    assert excess.mean() > 4 * excess.std(ddof=1) / np.sqrt(30)  # four standard errors above 0


@pytest.mark.extra
def test_the_panel_covers_the_papers_period_without_gaps():
    panel = sp500_panel()
    assert panel.values.shape == (823, 20) == (len(panel.dates), len(panel.tickers))
    assert (panel.dates[0], panel.dates[-1]) == ("2016-01-04", "2019-04-10")
    assert list(panel.dates) == sorted(set(panel.dates))
    assert np.isfinite(panel.values).all()
    assert panel.values.min() > 0


@pytest.mark.extra
def test_daily_returns_of_the_panel_have_heavy_tails():
    returns = np.diff(np.log(sp500_panel().values), axis=0)
    assert np.median(stats.kurtosis(returns)) > 3


def test_without_skfolio_the_error_names_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "skfolio.datasets", None)
    with pytest.raises(sb.MissingExtraError, match=re.escape(install_command("data"))):
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
