import numpy as np
import pytest

import softbandit as sb


def test_functions_with_another_length_than_the_arms_are_refused():
    problem = sb.problems.rkhs()
    with pytest.raises(sb.ArgumentError, match="reward, cost: expected"):
        sb.problems.Problem(**{**vars(problem), "cost": np.zeros(99)})
    with pytest.raises(sb.ArgumentError, match="reward: expected 100 values, one per arm, got 99"):
        sb.problems.Problem(**{**vars(problem), "reward": np.zeros(99), "cost": np.zeros(99)})


def test_contexts_with_another_length_than_the_arms_are_refused():
    with pytest.raises(sb.ArgumentError, match="contexts: expected 100 values, one per arm, got 99"):
        sb.problems.Problem(**{**vars(sb.problems.rkhs()), "contexts": np.zeros(99)})


@pytest.mark.parametrize(
    "bad", [{"reward": [np.nan] * 100}, {"slater": 5}, {"reward_bound": -1}, {"cost_bound": [1, 2]}, {"noise": -1}]
)
def test_invalid_constants_of_a_problem_are_refused(bad):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        sb.problems.Problem(**{**vars(sb.problems.rkhs()), **bad})
