"""The stand-in's stocks, and the published statistics of the original prices, raw and in the problem."""

from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from softbandit_tests.data_files import ORIGINALS, needs_originals, write_csv

import softbandit as sb
from softbandit.data import sp500_panel


@pytest.fixture(scope="module")
def prices():
    table = np.genfromtxt(Path(ORIGINALS) / "fin.csv", delimiter=",", dtype=str)
    return list(table[0, 1:]), table[1:, 1:].astype(float)


def test_four_stocks_of_the_stand_in_reach_the_default_threshold_of_100():
    """JNJ, GE, HD and UNH; at B / 2, the paper's other description of h, PEP joins them."""
    problem, panel = sb.problems.stocks("stand-in"), sp500_panel()
    feasible = {panel.tickers[i] for i in np.flatnonzero(problem.cost <= 0)}
    assert feasible == {"JNJ", "GE", "HD", "UNH"}
    half = sb.problems.stocks("stand-in", threshold=panel.values.mean(axis=0).max() / 2)
    assert {panel.tickers[i] for i in np.flatnonzero(half.cost <= 0)} == feasible | {"PEP"}


@pytest.mark.parametrize(("scale", "h"), [(1, 22.5), (4, 100.0), (30, 675.0)])
def test_the_default_threshold_is_half_the_largest_mean_if_100_does_not_separate_the_stocks(tmp_path, scale, h):
    """Means of 15 and 45 times the scale: 100 is above both, between them, and below both."""
    rows = [("2020-01-02", 10 * scale, 50 * scale), ("2020-01-03", 20 * scale, 40 * scale)]
    problem = sb.problems.stocks(path=write_csv(tmp_path / "a.csv", rows))
    np.testing.assert_allclose(problem.cost * 45 * scale, [h - 15 * scale, h - 45 * scale])


@needs_originals
def test_the_original_prices_have_the_published_statistics(prices):
    tickers, values = prices
    f = values.mean(axis=0)
    assert values.shape == (823, 29)
    assert round(f.max(), 2) == 237.33
    assert tickers[f.argmax()] == "BA"
    assert (f >= 100).sum() == 15
    assert round(np.abs(values - f).max(), 2) == 203.29
    norm = np.sqrt(f @ np.linalg.solve(np.corrcoef(values.T), f))
    assert round(norm / f.max(), 1) == 8.7


@needs_originals
def test_the_problem_on_the_original_prices_is_the_papers(prices):
    _, values = prices
    problem, f = sb.problems.stocks(), values.mean(axis=0)
    np.testing.assert_allclose(problem.reward, f / f.max())
    np.testing.assert_allclose(problem.cost, (100 - f) / f.max(), atol=1e-12)
    np.testing.assert_allclose(problem.kernel.matrix, np.corrcoef(values.T), atol=1e-12)
    assert (problem.reward_bound, round(problem.noise * f.max(), 2)) == (1.0, 203.29)
    assert problem.source == "prices of 29 stocks, fin.csv sha256 e9f7d7c3..."


@needs_originals
def test_the_norm_of_the_original_prices_exceeds_the_papers_bound():
    problem = sb.problems.stocks()
    ledger = sb.CKB(**problem.settings(), horizon=100).guarantees(problem)
    assert "violated norm of f <= B" in str(ledger)
    assert not ledger.covered


@needs_originals
def test_each_original_stock_has_light_tails_and_all_together_have_heavy_ones(prices):
    """As docs/data.md says: deviations from the mean of one stock have lighter tails than a Gaussian."""
    _, values = prices
    kurtosis = scipy.stats.kurtosis(values, axis=0)
    assert np.median(kurtosis) < -0.5
    assert (kurtosis < 0).mean() > 0.8
    assert scipy.stats.kurtosis((values - values.mean(axis=0)).ravel()) > 3
