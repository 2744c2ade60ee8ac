import numpy as np
import pytest

import softbandit as sb


@pytest.mark.parametrize("seed", range(5))
def test_the_bounds_are_the_norms_of_the_functions(seed):
    """The minimum norm of an interpolant of the values is at most the norm of the function, and close to it."""
    problem = sb.problems.rkhs(seed=seed)
    # Centres are arms, so f = K a for some a: |f|^2 = f^T K^+ f.
    K = problem.kernel(problem.arms, problem.arms)
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-10
    for function, norm in ((problem.reward, problem.reward_bound), (problem.cost, problem.cost_bound)):
        coefficients = (vectors.T @ function)[keep]
        assert np.sqrt((coefficients**2 / values[keep]).sum()) == pytest.approx(norm, rel=1e-3)
        assert np.abs(function).max() <= norm


@pytest.mark.parametrize("constraints", [1, 2, 3])
def test_the_slater_margin_of_synthetic_problems_is_at_least_a_tenth(constraints):
    problem = sb.problems.rkhs(seed=1, constraints=constraints)
    assert 0.1 <= problem.slater <= 1.0
    assert problem.costs.shape == (100, constraints)
    assert np.shape(problem.cost_bound) == (() if constraints == 1 else (constraints,))


def test_arms_are_a_grid_in_one_dimension_and_points_of_the_cube_in_three():
    assert np.diff(sb.problems.rkhs().arms[:, 0]) == pytest.approx(1 / 99)
    assert sb.problems.rkhs(dimension=3, arms=50).arms.shape == (50, 3)


def test_a_seed_determines_the_functions():
    a, b, c = (sb.problems.rkhs(seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(a.reward, b.reward)
    assert (a.reward != c.reward).any()


@pytest.mark.parametrize("bad", [{"arms": 0}, {"seed": -1}, {"noise": -1.0}, {"constraints": 0}, {"lengthscale": 0.0}])
def test_invalid_settings_of_rkhs_are_refused(bad):
    with pytest.raises(sb.ArgumentError, match="expected.*got"):
        sb.problems.rkhs(**bad)


@pytest.mark.parametrize("constraints", [0, 1, 2])
def test_the_bounds_on_a_domain_are_norms_and_hold_on_a_grid(constraints):
    """|f(x)| <= |f| sqrt(k(x, x)), and k(x, x) = 1; the norms also exceed those of interpolants on the grid."""
    problem = sb.problems.rkhs_on(seed=1, constraints=constraints)
    X = np.linspace(0, 1, 200)[:, None]
    values, vectors = np.linalg.eigh(problem.kernel(X, X))
    keep = values > 1e-10
    norms = np.append(problem.reward_bound, problem.cost_bound)
    assert problem.constraints == constraints
    for function, norm in zip(problem.function(X).T, norms, strict=True):
        assert np.abs(function).max() <= norm
        interpolant = np.sqrt((((vectors.T @ function)[keep]) ** 2 / values[keep]).sum())
        assert interpolant == pytest.approx(norm, rel=1e-3)


def test_constraints_that_cannot_be_met_are_refused_after_redrawing(monkeypatch):
    monkeypatch.setattr("softbandit.problems.synthetic.REDRAWS", 3)
    with pytest.raises(sb.InfeasibleError, match="rkhs: expected a Slater margin of 0.1, got none in 3 draws"):
        sb.problems.rkhs(arms=1, constraints=12)


def test_more_constraints_are_redrawn_less_often(monkeypatch):
    monkeypatch.setattr("softbandit.problems.synthetic.MOST_COSTS", 400)
    with pytest.raises(sb.InfeasibleError, match="got none in 4 draws"):
        sb.problems.rkhs(arms=2, coefficients=1, constraints=100)
