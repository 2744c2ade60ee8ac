"""The published statistics of the original readings and prices, raw and in the problems built from them."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.stats
from softbandit_tests.data_files import ORIGINALS, needs_originals

import softbandit as sb

pytestmark = needs_originals


@pytest.fixture(scope="module")
def readings():
    data = scipy.io.loadmat(Path(ORIGINALS) / "iw_data_all.mat")["data"][0, 0]
    return [data[part][0, 0]["sensordata"].astype(float) for part in ("train", "test")]


@pytest.fixture(scope="module")
def prices():
    table = np.genfromtxt(Path(ORIGINALS) / "fin.csv", delimiter=",", dtype=str)
    return list(table[0, 1:]), table[1:, 1:].astype(float)


def test_the_original_readings_have_the_published_statistics(readings):
    train, test = readings
    f = test.mean(axis=0)
    assert (train.shape, test.shape) == ((601, 41), (192, 41))
    assert round(f.max(), 2) == 945.54
    assert f.argmax() == 3
    assert (f >= f.max() / 2).sum() == 19
    assert round(np.abs(test - f).max(), 1) == 835.3
    assert round((test - f).std(), 1) == 288.0
    norm = np.sqrt(f @ np.linalg.solve(np.corrcoef(train.T), f))
    assert round(norm / f.max(), 1) == 13.5


def test_the_problem_on_the_original_readings_is_the_papers(readings):
    train, test = readings
    problem, f = sb.problems.sensors(), test.mean(axis=0)
    np.testing.assert_allclose(problem.reward, f / f.max())
    np.testing.assert_allclose(problem.cost, 0.5 - f / f.max(), atol=1e-12)
    np.testing.assert_allclose(problem.kernel.matrix, np.corrcoef(train.T), atol=1e-12)
    assert (problem.reward_bound, round(problem.noise * f.max(), 1)) == (1.0, 288.0)
    assert (problem.cost <= 0).sum() == 19
    assert problem.source == "CMU light sensors, iw_data_all.mat sha256 3d87e03a..."


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


def test_the_problem_on_the_original_prices_is_the_papers(prices):
    _, values = prices
    problem, f = sb.problems.stocks(), values.mean(axis=0)
    np.testing.assert_allclose(problem.reward, f / f.max())
    np.testing.assert_allclose(problem.cost, (100 - f) / f.max(), atol=1e-12)
    np.testing.assert_allclose(problem.kernel.matrix, np.corrcoef(values.T), atol=1e-12)
    assert (problem.reward_bound, round(problem.noise * f.max(), 2)) == (1.0, 203.29)
    assert problem.source == "prices of 29 stocks, fin.csv sha256 e9f7d7c3..."


def test_each_original_stock_has_light_tails_and_all_together_have_heavy_ones(prices):
    """As docs/data.md says: deviations from the mean of one stock have lighter tails than a Gaussian."""
    _, values = prices
    kurtosis = scipy.stats.kurtosis(values, axis=0)
    assert np.median(kurtosis) < -0.5
    assert (kurtosis < 0).mean() > 0.8
    assert scipy.stats.kurtosis((values - values.mean(axis=0)).ravel()) > 3


@pytest.mark.parametrize("build", [sb.problems.sensors, sb.problems.stocks])
def test_the_norm_of_the_original_means_exceeds_the_papers_bound(build):
    problem = build()
    ledger = sb.CKB(**problem.settings(), horizon=100).guarantees(problem)
    assert "violated norm of f <= B" in str(ledger)
    assert not ledger.covered
