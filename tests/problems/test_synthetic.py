import numpy as np
import pytest

import softbandit as sb


@pytest.mark.parametrize("seed", range(5))
def test_the_functions_have_the_norms_they_say(seed):
    """The minimal norm of an interpolant of the values is at most the function's own, and close to it."""
    problem = sb.problems.rkhs(seed=seed)
    # Centres lie on the arms, so f = K a for some a: |f|^2 = f^T K^+ f.
    K = problem.kernel(problem.arms, problem.arms)
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-10
    for function, norm in ((problem.reward, problem.reward_bound), (problem.cost, problem.cost_bound)):
        coefficients = (vectors.T @ function)[keep]
        assert np.sqrt((coefficients**2 / values[keep]).sum()) == pytest.approx(norm, rel=1e-3)
        assert np.abs(function).max() <= norm


@pytest.mark.parametrize("constraints", [1, 2, 3])
def test_slater_holds_with_the_stated_margin(constraints):
    problem = sb.problems.rkhs(seed=1, constraints=constraints)
    assert 0.1 <= problem.slater <= 1.0
    assert problem.costs.shape == (100, constraints)
    assert np.shape(problem.cost_bound) == (() if constraints == 1 else (constraints,))


def test_the_papers_arms_and_a_cube():
    assert np.diff(sb.problems.rkhs().arms[:, 0]) == pytest.approx(1 / 99)
    assert sb.problems.rkhs(dimension=3, arms=50).arms.shape == (50, 3)


def test_seeds_repeat():
    a, b, c = (sb.problems.rkhs(seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(a.reward, b.reward)
    assert (a.reward != c.reward).any()


@pytest.mark.parametrize("bad", [{"arms": 0}, {"seed": -1}, {"noise": -1.0}, {"constraints": 0}, {"lengthscale": 0.0}])
def test_bad_input_is_refused(bad):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        sb.problems.rkhs(**bad)


def test_shapes_that_do_not_fit_are_refused():
    problem = sb.problems.rkhs()
    with pytest.raises(sb.ArgumentError, match="one row for each arm in both"):
        sb.problems.Problem(**{**vars(problem), "cost": np.zeros(99)})
    with pytest.raises(sb.ArgumentError, match="one for each of 100 arms, got 99 rewards"):
        sb.problems.Problem(**{**vars(problem), "reward": np.zeros(99), "cost": np.zeros(99)})


@pytest.mark.parametrize(
    "bad", [{"reward": [np.nan] * 100}, {"slater": 5}, {"reward_bound": -1}, {"cost_bound": [1, 2]}, {"noise": -1}]
)
def test_a_problem_that_is_none_is_refused(bad):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        sb.problems.Problem(**{**vars(sb.problems.rkhs()), **bad})
