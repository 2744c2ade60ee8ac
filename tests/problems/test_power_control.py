import itertools
import math

import numpy as np
import pytest
from scipy import integrate, optimize

import softbandit as sb


def water_filling(gains, budget):
    """max mean log2(1 + h p) with mean p = budget, 0 <= p <= 1: p = w - 1 / h, clipped, w by bisection."""

    def powers(level):
        return np.clip(level - 1 / gains, 0, 1)

    level = optimize.bisect(lambda w: powers(w).mean() - budget, 0, 1 + 1 / gains.min(), xtol=1e-14)
    return powers(level), np.log2(1 + gains * powers(level)).mean()


def grid_optimum(**settings):
    problem = sb.problems.wireless(**settings)
    return sb.randomized_optimum(problem.reward, problem.cost, problem.contexts).value


@pytest.mark.parametrize("states", [1, 2, 8, 31])
def test_gains_are_the_means_of_equal_slices_of_an_exponential(states):
    gains = sb.problems.channel_gains(states, snr=3.0)
    edges = [-3.0 * math.log(1 - i / states) for i in range(states)] + [np.inf]
    by_integral = [
        states * integrate.quad(lambda h: h * math.exp(-h / 3) / 3, *pair)[0] for pair in itertools.pairwise(edges)
    ]
    np.testing.assert_allclose(gains, by_integral, rtol=1e-8)
    assert gains.mean() == pytest.approx(3.0, rel=1e-14)


@pytest.mark.parametrize("settings", [{}, {"snr": 20.0, "budget": 0.7}, {"snr": 0.5, "states": 3, "budget": 0.05}])
def test_a_finer_grid_of_powers_approaches_water_filling_from_below(settings):
    """Between two powers, s apart, the grid has the chord of a concave function: at most |f''| s^2 / 8 below it."""
    values = {"states": 8, "snr": 5.0, "budget": 0.3, **settings}
    gains = sb.problems.channel_gains(values["states"], values["snr"])
    _, value = water_filling(gains, values["budget"])
    curvature = (gains**2).mean() / math.log(2)  # an upper bound on that of log2(1 + h p), averaged over the states
    gaps = []
    for levels in (5, 21, 61):
        gaps.append(value - grid_optimum(levels=levels, **settings))
        assert -1e-9 <= gaps[-1] <= curvature / 8 / (levels - 1) ** 2 + 1e-9  # the solver's tolerance
    assert gaps[-1] < gaps[0] / 50 < 1e-3


def test_the_optimum_of_wireless_is_the_documented_one():
    powers, value = water_filling(sb.problems.channel_gains(8, 5.0), 0.3)
    assert ((powers == 0).sum(), round(value, 3)) == (2, 1.285)
    assert round(grid_optimum(), 4) == 1.2846
    assert round(float(np.log2(1 + 0.3 * sb.problems.channel_gains(8, 5.0)).mean()), 3) == 1.127


def test_the_arms_of_wireless_are_states_times_powers():
    problem = sb.problems.wireless(states=4, levels=5, snr=2.0, budget=0.25)
    assert problem.arms.shape == (20, 2)
    np.testing.assert_array_equal(problem.contexts, np.repeat(np.arange(4), 5))
    np.testing.assert_allclose(problem.arms[7], [1 / 3, 0.5])
    gain = sb.problems.channel_gains(4, 2.0)[1]
    assert problem.reward[7] == pytest.approx(math.log2(1 + gain * 0.5))
    assert problem.cost[7] == 0.25


def test_with_one_state_the_optimum_is_constant_power():
    assert grid_optimum(states=1, levels=101, budget=0.3) == pytest.approx(math.log2(1 + 5.0 * 0.3), abs=1e-12)


def test_the_bounds_of_wireless_are_the_minimum_norms_and_the_ledger_verifies_them():
    problem = sb.problems.wireless()
    K = problem.kernel(problem.arms, problem.arms)
    assert problem.reward_bound**2 == pytest.approx(problem.reward @ np.linalg.solve(K, problem.reward), rel=1e-8)
    assert problem.cost_bound**2 == pytest.approx(problem.cost @ np.linalg.solve(K, problem.cost), rel=1e-8)
    ledger = sb.CKB(**problem.settings(), horizon=1000).guarantees(problem)
    status = {row.assumption: row.status for row in ledger.rows}
    assert status["norm of f <= B"] == status["norm of g <= G"] == status["Slater's condition"] == "verified"
    assert status["one context"] == "violated"  # the theorems assume one


def test_each_channel_state_is_offered_equally_often():
    problem = sb.problems.wireless(states=5)
    trace = sb.simulate(sb.CKB(**problem.settings(), horizon=2000), problem)
    share = np.bincount(problem.contexts[trace.arms[0]], minlength=5) / 2000
    np.testing.assert_allclose(share, 0.2, atol=4 * math.sqrt(0.2 * 0.8 / 2000))  # four standard errors


@pytest.mark.parametrize("engine", ["numpy", pytest.param("jax", marks=pytest.mark.extra)])
def test_ckb_comes_close_to_water_filling(engine):
    """In the last quarter, on the mean of 10 trials: better than any constant power, within 5%, and on budget to 5%."""
    problem = sb.problems.wireless()
    policy = sb.CKB(**problem.settings(), horizon=1000, explore="rand", width_scale=0.02)
    trace = sb.simulate(policy, problem, trials=10, engine=engine)
    last = trace.arms[:, 750:]
    # The mean depends on the 2,500 states drawn, so compare with the optimum on the same states.
    powers, _ = water_filling(sb.problems.channel_gains(8, 5.0), 0.3)
    best = np.log2(1 + sb.problems.channel_gains(8, 5.0) * powers)[problem.contexts[last]].mean()
    constant = np.log2(1 + sb.problems.channel_gains(8, 5.0) * 0.3)[problem.contexts[last]].mean()
    assert problem.reward[last].mean() > 0.95 * best > constant
    assert problem.cost[last].mean() < 0.05 * 0.3
    assert sb.score(trace, problem).violation[:, -1].mean() < 0.05 * 0.3 * 1000


@pytest.mark.parametrize(
    "bad",
    [
        {"states": 0},
        {"states": 2.5},
        {"levels": 1},
        {"snr": 0.0},
        {"snr": math.nan},
        {"budget": 0.0},
        {"budget": 1.0},
        {"budget": "little"},
        {"noise": -0.1},
        {"law": "gausian"},
    ],
)
def test_invalid_settings_of_wireless_are_refused(bad):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        sb.problems.wireless(**bad)
