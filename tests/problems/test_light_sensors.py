"""The published statistics of the original readings, from the raw file and from the problem built from it."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io
from softbandit_tests.data_files import ORIGINALS, needs_originals

import softbandit as sb

pytestmark = needs_originals


@pytest.fixture(scope="module")
def readings():
    data = scipy.io.loadmat(Path(ORIGINALS) / "iw_data_all.mat")["data"][0, 0]
    return [data[part][0, 0]["sensordata"].astype(float) for part in ("train", "test")]


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


def test_the_norm_of_the_original_readings_exceeds_the_papers_bound():
    problem = sb.problems.sensors()
    ledger = sb.CKB(**problem.settings(), horizon=100).guarantees(problem)
    assert "violated norm of f <= B" in str(ledger)
    assert not ledger.covered
