"""The problems made of data: sensors and stocks, on their stand-ins and on made-up files."""

import numpy as np
import pytest
from softbandit_tests.data_files import some_readings, write_csv, write_mat

import softbandit as sb
from softbandit.data import simulated_office, sp500_panel

pytestmark = pytest.mark.usefixtures("empty_cache")

CASES = {
    "sensors": (sb.problems.sensors, lambda: simulated_office().test, lambda: simulated_office().train),
    "stocks": (sb.problems.stocks, lambda: sp500_panel().values, lambda: sp500_panel().values),
}


@pytest.fixture(params=CASES)
def case(request):
    make, rows, samples = CASES[request.param]
    return make, rows(), samples()


def test_the_functions_are_means_and_what_they_lack_of_the_threshold(case):
    make, rows, _ = case
    problem = make("stand-in")
    f = rows.sum(axis=0) / len(rows)
    h = f.max() / 2 if make is sb.problems.sensors else 100.0
    np.testing.assert_allclose(problem.reward, f / f.max())
    np.testing.assert_allclose(problem.cost, (h - f) / f.max(), atol=1e-12)
    assert problem.reward_bound == 1
    assert problem.cost_bound == pytest.approx(np.abs(h - f).max() / f.max())
    assert problem.slater == pytest.approx(1 - h / f.max())
    assert problem.source.startswith("stand-in: ")


@pytest.mark.parametrize("kernel", ["correlation", "covariance"])
def test_the_kernel_is_the_samples_covariance_normalised(case, kernel):
    make, _, samples = case
    problem = make("stand-in", kernel=kernel)
    K = problem.kernel(problem.arms, problem.arms)
    C = np.cov(samples.T)
    np.testing.assert_allclose(K, np.corrcoef(samples.T) if kernel == "correlation" else C / C.max(), atol=1e-12)
    assert K.diagonal().max() == 1.0
    sb.CKB(**problem.settings(), horizon=10)  # accepts it


def test_policies_are_told_a_noise_that_may_be_chosen(case):
    make, rows, _ = case
    unit = rows.mean(axis=0).max()
    residuals = (rows - rows.mean(axis=0)) / unit
    assert make("stand-in", noise="max").noise == pytest.approx(np.abs(residuals).max())
    assert make("stand-in", noise="sd").noise == pytest.approx(np.sqrt((residuals**2).mean()))
    assert make("stand-in", noise=3).noise == pytest.approx(3 / unit)
    assert make("stand-in").noise == make("stand-in", noise="sd" if make is sb.problems.sensors else "max").noise


@pytest.mark.parametrize("engine", ["numpy", "jax"])
def test_a_round_shows_one_row_as_reward_and_as_cost(case, engine):
    make, rows, _ = case
    problem = make("stand-in")
    h = problem.cost[0] + problem.reward[0]
    trace = sb.simulate(sb.CKB(**problem.settings(), horizon=60), problem, trials=3, engine=engine)
    np.testing.assert_allclose(trace.rewards + trace.costs, h, rtol=1e-12)
    for arm, reward in zip(trace.arms.ravel(), trace.rewards.ravel(), strict=True):
        assert np.abs(rows[:, arm] / rows.mean(axis=0).max() - reward).min() < 1e-9


def test_the_threshold_may_be_chosen_and_must_be_met_by_some_arm(case):
    make, rows, _ = case
    f = rows.mean(axis=0)
    problem = make("stand-in", threshold=f.max() - 0.25)
    assert problem.slater == pytest.approx(0.25 / f.max())
    assert (problem.cost <= 0).sum() == (f >= f.max() - 0.25).sum()
    with pytest.raises(sb.InfeasibleError, match="threshold: expected a number below the largest mean"):
        make("stand-in", threshold=f.max())


def test_at_100_some_of_the_stand_ins_stocks_are_feasible():
    """JNJ, GE, HD and UNH; at B / 2, the paper's other description of h, PEP joins them."""
    problem, panel = sb.problems.stocks("stand-in"), sp500_panel()
    feasible = {panel.tickers[i] for i in np.flatnonzero(problem.cost <= 0)}
    assert feasible == {"JNJ", "GE", "HD", "UNH"}
    half = sb.problems.stocks("stand-in", threshold=panel.values.mean(axis=0).max() / 2)
    assert {panel.tickers[i] for i in np.flatnonzero(half.cost <= 0)} == feasible | {"PEP"}


@pytest.mark.parametrize(("scale", "h"), [(1, 22.5), (4, 100.0), (30, 675.0)])
def test_a_price_of_100_that_does_not_part_the_stocks_gives_way_to_half(tmp_path, scale, h):
    """Means of 15 and 45 times the scale: 100 lies above both, between, and below both."""
    rows = [("2020-01-02", 10 * scale, 50 * scale), ("2020-01-03", 20 * scale, 40 * scale)]
    problem = sb.problems.stocks(path=write_csv(tmp_path / "a.csv", rows))
    np.testing.assert_allclose(problem.cost * 45 * scale, [h - 15 * scale, h - 45 * scale])


def test_a_file_of_ones_own_makes_a_problem(tmp_path):
    train, test, coords = some_readings(np.random.default_rng(3))
    problem = sb.problems.sensors(path=write_mat(tmp_path / "own.mat", train, test, coords))
    f = test.mean(axis=0)
    np.testing.assert_allclose(problem.reward, f / f.max())
    assert problem.source.startswith("own file own.mat sha256 ")
    assert problem.name == "light sensors (own file)"


def test_a_sensor_that_never_varies_has_no_correlation(tmp_path):
    train, test, coords = some_readings(np.random.default_rng(3))
    train = train.astype(float)
    train[:, 2] = 0.1  # whose mean over 30 samples is not 0.1 to the last bit
    path = write_mat(tmp_path / "own.mat", train, test, coords)
    with pytest.raises(sb.DataError, match="some variation in every column, got none in column 2"):
        sb.problems.sensors(path=path)
    assert sb.problems.sensors(path=path, kernel="covariance").kernel.matrix[2, 2] == pytest.approx(0, abs=1e-30)


@pytest.mark.parametrize(
    "bad",
    [{"kernel": "corelation"}, {"noise": "sdd"}, {"noise": -1.0}, {"threshold": "high"}, {"path": "a", "data": "b"}],
)
def test_bad_settings_are_refused(case, bad):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        case[0](**{"data": "stand-in", **bad})
