"""The problems built from data, sensors and stocks, on their stand-ins and on invented files."""

import numpy as np
import pytest
from softbandit_tests.data_files import random_readings, write_csv, write_mat

import softbandit as sb
from softbandit.data import simulated_office, sp500_panel

pytestmark = pytest.mark.usefixtures("empty_cache")

CASES = {
    "sensors": (sb.problems.sensors, lambda: simulated_office().test, lambda: simulated_office().train),
    "stocks": (sb.problems.stocks, lambda: sp500_panel().values, lambda: sp500_panel().values),
}


@pytest.fixture(params=["sensors", pytest.param("stocks", marks=pytest.mark.extra)])  # stocks need skfolio
def case(request):
    """The function that builds the problem, the samples it observes, and those of its kernel."""
    build, samples, kernel_samples = CASES[request.param]
    return build, samples(), kernel_samples()


def test_the_reward_is_the_mean_and_the_cost_the_threshold_minus_the_mean(case):
    build, samples, _ = case
    problem = build("stand-in")
    f = samples.sum(axis=0) / len(samples)
    h = f.max() / 2 if build is sb.problems.sensors else 100.0
    np.testing.assert_allclose(problem.reward, f / f.max())
    np.testing.assert_allclose(problem.cost, (h - f) / f.max(), atol=1e-12)
    assert problem.reward_bound == 1
    assert problem.cost_bound == pytest.approx(np.abs(h - f).max() / f.max())
    assert problem.slater == pytest.approx(1 - h / f.max())
    assert problem.source.startswith("stand-in: ")


@pytest.mark.parametrize("kernel", ["correlation", "covariance"])
def test_the_kernel_is_the_normalised_covariance_of_the_samples(case, kernel):
    build, _, kernel_samples = case
    problem = build("stand-in", kernel=kernel)
    K = problem.kernel(problem.arms, problem.arms)
    C = np.cov(kernel_samples.T)
    np.testing.assert_allclose(K, np.corrcoef(kernel_samples.T) if kernel == "correlation" else C / C.max(), atol=1e-12)
    assert K.diagonal().max() == 1.0
    sb.CKB(**problem.settings(), horizon=10)  # accepts the kernel


def test_the_noise_is_the_largest_residual_their_deviation_or_a_number(case):
    build, samples, _ = case
    unit = samples.mean(axis=0).max()
    residuals = (samples - samples.mean(axis=0)) / unit
    assert build("stand-in", noise="max").noise == pytest.approx(np.abs(residuals).max())
    assert build("stand-in", noise="sd").noise == pytest.approx(np.sqrt((residuals**2).mean()))
    assert build("stand-in", noise=3).noise == pytest.approx(3 / unit)
    assert build("stand-in").noise == build("stand-in", noise="sd" if build is sb.problems.sensors else "max").noise


@pytest.mark.parametrize("engine", ["numpy", pytest.param("jax", marks=pytest.mark.extra)])
def test_reward_and_cost_of_a_round_are_the_same_sample(case, engine):
    build, samples, _ = case
    problem = build("stand-in")
    h = problem.cost[0] + problem.reward[0]
    trace = sb.simulate(sb.CKB(**problem.settings(), horizon=60), problem, trials=3, engine=engine)
    np.testing.assert_allclose(trace.rewards + trace.costs, h, rtol=1e-12)
    for arm, reward in zip(trace.arms.ravel(), trace.rewards.ravel(), strict=True):
        assert np.abs(samples[:, arm] / samples.mean(axis=0).max() - reward).min() < 1e-9


def test_a_threshold_that_no_arm_exceeds_is_refused(case):
    build, samples, _ = case
    f = samples.mean(axis=0)
    problem = build("stand-in", threshold=f.max() - 0.25)
    assert problem.slater == pytest.approx(0.25 / f.max())
    assert (problem.cost <= 0).sum() == (f >= f.max() - 0.25).sum()
    with pytest.raises(sb.InfeasibleError, match="threshold: expected a number below the largest mean"):
        build("stand-in", threshold=f.max())


def test_a_file_of_the_users_own_defines_the_problem(tmp_path):
    train, test, coords = random_readings(np.random.default_rng(3))
    problem = sb.problems.sensors(path=write_mat(tmp_path / "own.mat", train, test, coords))
    f = test.mean(axis=0)
    np.testing.assert_allclose(problem.reward, f / f.max())
    assert problem.source.startswith("own file own.mat sha256 ")
    assert problem.name == "light sensors (own file)"


def test_a_constant_sensor_is_refused_by_the_correlation_kernel_only(tmp_path):
    train, test, coords = random_readings(np.random.default_rng(3))
    train = train.astype(float)
    train[:, 2] = 0.1  # the mean of 30 of them is not exactly 0.1
    path = write_mat(tmp_path / "own.mat", train, test, coords)
    with pytest.raises(sb.DataError, match="some variation in every column, got none in column 2"):
        sb.problems.sensors(path=path)
    assert sb.problems.sensors(path=path, kernel="covariance").kernel.matrix[2, 2] == pytest.approx(0, abs=1e-30)


@pytest.mark.parametrize(
    "bad",
    [{"kernel": "corelation"}, {"noise": "sdd"}, {"noise": -1.0}, {"threshold": "high"}, {"path": "a", "data": "b"}],
)
def test_invalid_settings_of_data_problems_are_refused(case, bad):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        case[0](**{"data": "stand-in", **bad})


@pytest.mark.extra
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
