import numpy as np
import pytest

import softbandit as sb


def parabola(**changes):
    """f = x and g = x^2 - 1/4 on [-1, 1], with some settings changed."""
    settings = {
        "arms": sb.Box(-1, 1),
        "kernel": sb.Matern(0.5),
        "function": lambda X: np.c_[X, X**2 - 0.25],
        "noise": 0.1,
        "reward_bound": 1.0,
        "cost_bound": 1.0,
        "slater": 0.2,
    }
    return sb.problems.SpaceProblem(**{**settings, **changes})


@pytest.mark.parametrize(
    "bad",
    [
        {"arms": np.zeros((3, 1))},
        {"function": lambda X: X[:, 0]},
        {"function": lambda X: np.c_[X, X * np.nan]},
        {"law": "gaussian"},
        {"law": sb.problems.ResampledNoise(np.zeros((3, 2, 2)))},
        {"noise": -1.0},
        {"reward_bound": 0.0},
        {"cost_bound": [1.0, 2.0]},
        {"slater": 2.0},
    ],
)
def test_invalid_settings_of_a_problem_on_a_domain_are_refused(bad):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        parabola(**bad)


def test_a_discretised_problem_has_the_same_functions_and_constants():
    problem, X = parabola(), np.linspace(-1, 1, 11)[:, None]
    finite = problem.discretised(X)
    np.testing.assert_array_equal(finite.reward, X[:, 0])
    np.testing.assert_array_equal(finite.cost, X[:, 0] ** 2 - 0.25)
    for name in ("kernel", "noise", "reward_bound", "cost_bound", "slater", "constraints", "law"):
        assert getattr(finite, name) == getattr(problem, name)


def test_witnesses_and_the_corners_are_among_the_candidates():
    problem = parabola(witnesses=np.array([[0.123]]))
    assert {-1.0, 0.123, 1.0} <= set(problem.candidates.points[:, 0])


def test_without_a_feasible_point_the_best_value_is_nan():
    assert np.isnan(parabola(function=lambda X: np.c_[X, X**2 + 0.25]).best_value)
