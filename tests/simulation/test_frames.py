import numpy as np
import pytest
from softbandit_tests import examples_of

import softbandit as sb

pytestmark = pytest.mark.extra

LIBRARIES = ["pandas", "polars"]


@pytest.fixture(scope="module", params=["arms", "space"])
def run(request):
    if request.param == "space":
        problem = sb.problems.standard("branin")
        return sb.simulate(sb.Autopilot(problem.arms), problem, trials=[7, 3], rounds=6), problem
    problem = examples_of.problem(constraints=2, seed=5)
    return sb.simulate(examples_of.policy(problem), problem, trials=[7, 3], engine="numpy"), problem


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_of_a_trace_has_a_row_per_trial_and_round(run, library):
    pytest.importorskip(library)
    trace, _ = run
    table = trace.frame(library)
    assert type(table).__module__.startswith(library)
    T = trace.rewards.shape[1]
    assert list(table["trial"]) == [7] * T + [3] * T
    assert list(table["round"]) == 2 * list(range(T))
    np.testing.assert_array_equal(table["reward"], trace.rewards.ravel())
    name, expected = ("arm", trace.arms) if trace.arms.ndim == 2 else ("arm_1", trace.arms[..., 1])
    np.testing.assert_array_equal(table[name], expected.ravel())
    name, expected = ("cost", trace.costs) if trace.costs.ndim == 2 else ("cost_1", trace.costs[..., 1])
    np.testing.assert_array_equal(table[name], expected.ravel())
    assert {"reward_estimate", "trial", "round"} < set(table.columns)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_of_scores_joins_that_of_its_trace(run, library):
    pytest.importorskip(library)
    scores = sb.score(*run)
    table = scores.frame(library)
    np.testing.assert_array_equal(table["trial"], run[0].frame(library)["trial"])
    np.testing.assert_array_equal(table["strong_regret"], scores.strong_regret.ravel())
    np.testing.assert_array_equal(table["violated_rounds"], scores.violated_rounds.ravel())


def test_a_frame_leaves_out_what_was_not_kept():
    problem = examples_of.problem()
    trace = sb.simulate(examples_of.policy(problem), problem, rounds=5, keep=["rewards"], engine="numpy")
    assert list(trace.frame()) == ["trial", "round", "arm", "reward"]


def test_an_unknown_library_is_refused(run):
    with pytest.raises(sb.UnknownNameError, match="pandas"):
        run[0].frame("panda")
