"""What has been published of the original data, read off the raw files and off the problems made of them."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.stats

import softbandit as sb
from softbandit.data import identify

FOLDER = os.environ.get("SOFTBANDIT_DATA")

pytestmark = pytest.mark.skipif(not FOLDER, reason="SOFTBANDIT_DATA names no folder with the originals")


@pytest.fixture(scope="module")
def readings():
    data = scipy.io.loadmat(Path(FOLDER) / "iw_data_all.mat")["data"][0, 0]
    return [data[part][0, 0]["sensordata"].astype(float) for part in ("train", "test")]


@pytest.fixture(scope="module")
def prices():
    table = np.genfromtxt(Path(FOLDER) / "fin.csv", delimiter=",", dtype=str)
    return list(table[0, 1:]), table[1:, 1:].astype(float)


def norm(f, samples):
    """Of f under the correlation matrix of the samples."""
    return np.sqrt(f @ np.linalg.solve(np.corrcoef(samples.T), f))


def test_the_raw_sensors(readings):
    train, test = readings
    f = test.mean(axis=0)
    assert (train.shape, test.shape) == ((601, 41), (192, 41))
    assert round(f.max(), 2) == 945.54
    assert f.argmax() == 3
    assert (f >= f.max() / 2).sum() == 19
    assert round(np.abs(test - f).max(), 1) == 835.3
    assert round((test - f).std(), 1) == 288.0
    assert round(norm(f, train) / f.max(), 1) == 13.5


def test_the_raw_stocks(prices):
    tickers, values = prices
    f = values.mean(axis=0)
    assert values.shape == (823, 29)
    assert round(f.max(), 2) == 237.33
    assert tickers[f.argmax()] == "BA"
    assert (f >= 100).sum() == 15
    assert round(np.abs(values - f).max(), 2) == 203.29
    assert round(norm(f, values) / f.max(), 1) == 8.7


def test_the_problem_of_the_sensors_is_the_papers(readings):
    train, test = readings
    problem, f = sb.problems.sensors(), test.mean(axis=0)
    np.testing.assert_allclose(problem.reward, f / f.max())
    np.testing.assert_allclose(problem.cost, 0.5 - f / f.max(), atol=1e-12)
    np.testing.assert_allclose(problem.kernel.matrix, np.corrcoef(train.T), atol=1e-12)
    assert (problem.reward_bound, round(problem.noise * f.max(), 1)) == (1.0, 288.0)
    assert (problem.cost <= 0).sum() == 19
    assert problem.source == "CMU light sensors, iw_data_all.mat sha256 3d87e03a..."


def test_the_problem_of_the_stocks_is_the_papers(prices):
    _, values = prices
    problem, f = sb.problems.stocks(), values.mean(axis=0)
    np.testing.assert_allclose(problem.reward, f / f.max())
    np.testing.assert_allclose(problem.cost, (100 - f) / f.max(), atol=1e-12)
    np.testing.assert_allclose(problem.kernel.matrix, np.corrcoef(values.T), atol=1e-12)
    assert (problem.reward_bound, round(problem.noise * f.max(), 2)) == (1.0, 203.29)
    assert problem.source == "prices of 29 stocks, fin.csv sha256 e9f7d7c3..."


@pytest.mark.parametrize("name", ["sensors", "stocks"])
def test_the_ledger_says_that_the_norm_is_above_the_papers_bound(name):
    problem = getattr(sb.problems, name)()
    ledger = sb.CKB(**problem.settings(), horizon=100).guarantees(problem)
    assert "violated norm of f <= B" in str(ledger)
    assert not ledger.covered


def test_a_manifest_gets_the_whole_checksum():
    assert identify("sensors") == {
        "name": "sensors",
        "kind": "original",
        "path": str(Path(FOLDER) / "iw_data_all.mat"),
        "sha256": "3d87e03ae8bc9e3f0a4abeb57c64933c7d3dee7476ac5c4f6ca28b4efc357c15",
        "text": "CMU light sensors, iw_data_all.mat sha256 3d87e03a...",
    }
    assert identify("stocks")["sha256"] == "e9f7d7c3a0ad4ada75e5b8fa3830c77ed0579232b45837438c671d83b1818199"


def test_stock_by_stock_the_tails_are_light(prices):
    """What the docs say of the original: deviations from a stock's own mean are less spread than a Gaussian's."""
    _, values = prices
    each = scipy.stats.kurtosis(values, axis=0)
    assert np.median(each) < -0.5
    assert (each < 0).mean() > 0.8
    assert scipy.stats.kurtosis((values - values.mean(axis=0)).ravel()) > 3
